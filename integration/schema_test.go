package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas are those of docs/schema, by name.
type schemas map[string]*jsonschema.Schema

func compileSchemas(t *testing.T) schemas {
	t.Helper()
	files, err := filepath.Glob("../docs/schema/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d schemas, %v", len(files), err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	ids := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		ids[name] = "urn:maskstream:" + name
		if err := compiler.AddResource(ids[name], document); err != nil {
			t.Fatal(err)
		}
	}
	all := schemas{}
	for name, id := range ids {
		if all[name], err = compiler.Compile(id); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// hold fails the test where a message is not what its schema says.
func (s schemas) hold(t *testing.T, name string, message []byte) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(message))
	if err != nil {
		t.Fatalf("%v: %.300s", err, message)
	}
	if err := s[name].Validate(value); err != nil {
		t.Errorf("%.300s is no %s: %v", message, name, err)
	}
}

// ofSubject is the schema of a published message.
func ofSubject(subject string) string {
	tokens := strings.Split(subject, ".")
	if tokens[2] == "object" {
		return "batch"
	}
	return tokens[2]
}

func TestEveryMessageIsAsItsSchemaSays(t *testing.T) {
	all := compileSchemas(t)
	server := newBusServer(t, "max_payload: 2KB") // so that frames of two objects come in parts
	nc := server.start()
	published := make(chan *nats.Msg, 1<<16)
	if _, err := nc.ChanSubscribe("tracker.cam.>", published); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "tracker.yaml")
	write(t, config, fmt.Sprintf(`
streams: [{name: cam, url: "testscene:?fps=10", prompts: [{object: 1, box: [418, 101, 544, 227]}]}]
nats: {url: %q, frames: true}
http: {listen: "127.0.0.1:0"}
`, server.url()))
	s := serve(t, "-c", config)
	soon(t, "a picture", func() error {
		if s.frame(t, "cam") < 3 {
			return fmt.Errorf("not yet")
		}
		return nil
	})

	// Every verb, and what is wrong with it, over NATS.
	for _, c := range []struct{ subject, body, schema, code string }{
		{"_.list", "", "streams", ""},
		{"cam.status", "", "stream", ""},
		{"cam.prompt", `{"object":2,"points":[[320,20]],"labels":[1]}`, "frame", ""},
		{"cam.clear", `{"object":2}`, "frame", ""},
		{"cam.reverse", `{"objects":[1],"frames":2}`, "reverse", ""},
		{"cam.discover", `{"options":{"points_per_side":2}}`, "frame", ""},
		{"cam.remove", `{"object":2}`, "remove", ""},
		{"cam.reset", "", "reset", ""},
		{"cam.prompt", `{"points":[[320,20]]}`, "error", "400"},
		{"cam.remove", `{"object":2}`, "error", "404"},
		{"cam.prompt", `{"object":2,"box":[1,2,30,40]}`, "error", "409"},
		{"cam.add", "{}", "error", ""},
		{"gaet.status", "", "error", "404"},
		{"cam.promt", "", "error", "404"},
	} {
		reply, err := nc.Request("tracker.ctl."+c.subject, []byte(c.body), time.Minute)
		if err != nil {
			t.Fatalf("%s: %v", c.subject, err)
		}
		if code := reply.Header.Get(micro.ErrorCodeHeader); c.schema == "error" && (code == "" || c.code != "" && code != c.code) || c.schema != "error" && code != "" {
			t.Errorf("%s %s: code %q, %s", c.subject, c.body, code, reply.Data)
			continue
		}
		all.hold(t, c.schema, reply.Data)
	}
	// The HTTP door says the same, and some of its own.
	for _, c := range []struct{ method, path, body, schema string }{
		{"GET", "/api/streams", "", "streams"},
		{"GET", "/api/streams/cam", "", "stream"},
		{"POST", "/api/streams/cam/prompts", `{"object":5,"box":[10,20,200,140]}`, "frame"},
		{"DELETE", "/api/streams/cam/objects/5", "", "remove"},
		{"POST", "/api/streams/cam/reset", "", "reset"},
		{"PATCH", "/api/streams/cam", "", "error"},
		{"GET", "/api/streams/none", "", "error"},
	} {
		var reply json.RawMessage
		code := s.request(t, c.method, c.path, c.body, &reply)
		if (code == http.StatusOK) != (c.schema != "error") {
			t.Errorf("%s %s: %d %s", c.method, c.path, code, reply)
		}
		all.hold(t, c.schema, reply)
	}
	seen := map[string]int{}
	for deadline := time.After(time.Minute); seen["frame"] < 20 || seen["batch"] < 5 || seen["status"] < 2 || seen["object_added"] < 2 || seen["object_removed"] < 2 || seen["reverse_done"] < 1; {
		select {
		case m := <-published:
			schema := ofSubject(m.Subject)
			all.hold(t, schema, m.Data)
			seen[schema]++
			if schema == "event" {
				var event struct{ Type string }
				if err := json.Unmarshal(m.Data, &event); err != nil {
					t.Fatal(err)
				}
				seen[event.Type]++
			}
		case <-deadline:
			t.Fatalf("a minute long came only %v", seen)
		}
	}
	t.Logf("held to their schemas: %v", seen)

	script := filepath.Join(t.TempDir(), "script.json")
	write(t, script, `{"steps":[{"op":"add_points_or_box","frame":0,"object":1,"box":[209,50,272,113]},{"op":"add_points_or_box","frame":0,"object":2,"points":[[20,20]],"labels":[1]},
		{"op":"propagate","start_frame":0,"max_frames":2},{"op":"remove_object","object":2}]}`)
	removed := 0
	for line := range strings.Lines(must(t, "track", "testscene:?size=320x180&frames=3&pace=0", "--script", script).stdout) {
		if strings.Contains(line, `"removed"`) {
			removed++
			all.hold(t, "removed", []byte(line))
		} else {
			all.hold(t, "frame", []byte(line))
		}
	}
	if removed != 1 {
		t.Errorf("%d lines about a removed object", removed)
	}
}
