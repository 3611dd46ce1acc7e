package stream

import (
	"errors"
	"strings"
	"testing"

	"maskstream/control"
	"maskstream/model/amg"
)

// tooMany wants the refusal of objects beyond max_objects.
func tooMany(t *testing.T, err error, beginning string) {
	t.Helper()
	var refused *control.Error
	if !errors.As(err, &refused) || refused.Code != control.Conflict || !strings.HasPrefix(refused.Message, beginning) || !strings.Contains(refused.Message, "over max_objects, which is 1;") {
		t.Errorf("%v", err)
	}
}

func TestNoMoreObjectsAreTrackedThanAllowed(t *testing.T) {
	out, hold := &gather{}, make(chan struct{})
	s := start(t, dots{count: 40, below: true, hold: hold}, out, func(c *Config) {
		c.History, c.MaxObjects = 30, 1
		c.Prompts = append(firstBox(7), firstBox(8)...) // of which one is left out
	})
	feed(t, out, hold, 5)
	_, err := s.Prompt(t.Context(), at(nil, 4))
	tooMany(t, err, "too many objects: 1 are tracked")
	_, err = s.Discover(t.Context(), []byte(few))
	tooMany(t, err, "none of the 1 objects that were found is tracked: too many objects")
	if answer, err := s.Prompt(t.Context(), at(to(7), 4)); err != nil || len(answer.Objects) != 1 {
		t.Errorf("one that is tracked already: %+v, %v", answer, err)
	}
	if err := s.Remove(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if answer, err := s.Prompt(t.Context(), at(to(8), 4)); err != nil || len(answer.Objects) != 1 || answer.Objects[0].ID != 8 { // which was refused, not spent
		t.Errorf("after a removal: %+v, %v", answer, err)
	}
	feed(t, out, hold, 5)
	for _, f := range out.live() {
		if len(f.Objects) > 1 {
			t.Errorf("frame %d: %+v", f.Frame, f.Objects)
		}
	}
}

func TestNoMoreObjectsAreFoundOnTheFirstFrameThanAllowed(t *testing.T) {
	options, err := amg.ParseOptions([]byte(few))
	if err != nil {
		t.Fatal(err)
	}
	out := &gather{}
	start(t, dots{count: 5, below: true}, out, func(c *Config) { c.Auto, c.MaxObjects = &options, 1 })
	wait(t, "5 frames", func() bool { return len(out.frames()) == 5 })
	for _, f := range out.frames() {
		if len(f.Objects) != 0 {
			t.Errorf("frame %d: %+v", f.Frame, f.Objects)
		}
	}
}
