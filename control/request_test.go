package control

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// otherBodies are bodies of the verbs besides prompt, with what each verb says; "" takes it.
var otherBodies = []struct{ body, reverse, discover, object, nothing string }{
	{``, "", "", "JSON object", ""},
	{" \n", "", "", "JSON object", ""},
	{`{}`, "", "", "the id is missing", ""},
	{`[]`, "JSON object", "JSON object", "JSON object", "JSON object"},
	{`{} {}`, "something follows", "something follows", "something follows", "something follows"},
	{`{"object":1}`, `unknown field "object"`, `unknown field "object"`, "", `unknown field "object"`},
	{`{"object":-1}`, "unknown field", "unknown field", "ids go from 0", "unknown field"},
	{`{"object":1.5}`, "unknown field", "unknown field", "not what the verb takes", "unknown field"},
	{`{"objects":[1,2],"frames":300}`, "", "unknown field", "unknown field", "unknown field"},
	{`{"objects":[]}`, "the list is empty", "unknown field", "unknown field", "unknown field"},
	{`{"objects":[-1]}`, "ids go from 0", "unknown field", "unknown field", "unknown field"},
	{`{"frames":0}`, "frames: 0", "unknown field", "unknown field", "unknown field"},
	{`{"frames":99999999999999999999}`, "not what the verb takes", "unknown field", "unknown field", "unknown field"},
	{`{"options":{"points_per_side":8}}`, "unknown field", "", "unknown field", "unknown field"},
	{`{"options":[1]}`, "unknown field", "options: [1] is not a JSON object", "unknown field", "unknown field"},
	{`{"options":null}`, "unknown field", "options: null is not a JSON object", "unknown field", "unknown field"},
}

func TestBodiesOfEveryVerbAreHeldToItsTable(t *testing.T) {
	for _, c := range otherBodies {
		for verb, says := range map[string]string{"reverse": c.reverse, "discover": c.discover, "object": c.object, "nothing": c.nothing} {
			if err := decodeOther(verb, []byte(c.body)); (says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("%s %s: %v, want %q", verb, c.body, err, says)
			}
		}
	}
}

func decodeOther(verb string, body []byte) error {
	var err error
	switch verb {
	case "reverse":
		_, err = decodeReverse(body)
	case "discover":
		_, err = decodeDiscover(body)
	case "object":
		_, err = decodeObject(body)
	default:
		err = decodeNothing(body)
	}
	return err
}

// answerable fails on an error that is no answer to a client: one line with a code of the client's own faults.
func answerable(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != BadRequest && e.Code != TooLarge {
		t.Errorf("%v is no fault of the client", err)
	}
	if strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("an error of two lines: %q", err)
	}
}

func FuzzPromptBody(f *testing.F) {
	for body := range badPrompts {
		if len(body) < 1000 {
			f.Add([]byte(body))
		}
	}
	for _, seed := range []string{`{"object":1,"frame":"latest","points":[[1,2]],"labels":[1]}`, `{"box":[1,2,3,4]}`, `{"mask":{"size":[360,640],"counts":"PPaS7"}}`, `{"frame":3}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		request, err := decodePrompt(body, [2]int{360, 640})
		if err != nil {
			answerable(t, err)
			return
		}
		if len(request.Points) == 0 && request.Box == nil && request.Mask == nil || len(request.Points) != len(request.Labels) {
			t.Errorf("accepted: %s", body)
		}
		if request.Mask != nil {
			if err := request.Mask.Validate(); err != nil {
				t.Error(err)
			}
		}
	})
}

func FuzzOtherBodies(f *testing.F) {
	for _, c := range otherBodies {
		f.Add([]byte(c.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, verb := range []string{"object", "nothing"} {
			if err := decodeOther(verb, body); err != nil {
				answerable(t, err)
			}
		}
		if r, err := decodeReverse(body); err != nil {
			answerable(t, err)
		} else if r.Frames < 0 || len(r.Objects) > maxObjects {
			t.Errorf("accepted: %+v", r)
		}
		if options, err := decodeDiscover(body); err != nil {
			answerable(t, err)
		} else if len(options) > 0 && !json.Valid(options) {
			t.Errorf("options %s", options)
		}
		if object, frame, err := decodeObjectFrame(body); err != nil {
			answerable(t, err)
		} else if object < 0 || frame < 0 && frame != Latest {
			t.Errorf("accepted: object %d, frame %d", object, frame)
		}
	})
}
