package integration

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// TestAHundredPromptsAtOnceAreAllAnswered sends them over NATS to a stream that tracks: each is answered with masks or refused as
// busy, and nobody waits in vain.
func TestAHundredPromptsAtOnceAreAllAnswered(t *testing.T) {
	server := newBusServer(t, "")
	nc := server.start()
	config := filepath.Join(t.TempDir(), "tracker.yaml")
	write(t, config, fmt.Sprintf(`
streams: [{name: cam, url: "testscene:?fps=10"}]
nats: {url: %q}
http: {listen: "127.0.0.1:0"}
`, server.url()))
	s := serve(t, "-c", config)
	soon(t, "a picture", func() error {
		if s.frame(t, "cam") == 0 {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	inbox := subscribe(t, nc, nats.NewInbox())
	const requests = 100
	began := time.Now()
	for range requests {
		if err := nc.PublishRequest("tracker.ctl.cam.prompt", inbox.Subject, []byte(`{"object":1,"box":[418,101,544,227]}`)); err != nil {
			t.Fatal(err)
		}
	}
	answers := map[string]int{}
	var lastBusy, last time.Duration
	for range requests {
		m, err := inbox.NextMsg(time.Minute)
		if err != nil {
			t.Fatalf("after %v: %v", answers, err)
		}
		var reply struct {
			Objects []any
			Error   struct{ Code string }
		}
		if err := json.Unmarshal(m.Data, &reply); err != nil {
			t.Fatal(err)
		}
		last = time.Since(began)
		switch {
		case len(reply.Objects) == 1:
			answers["masks"]++
		case reply.Error.Code == "busy":
			answers["busy"]++
			lastBusy = last
		default:
			t.Errorf("%s", m.Data)
		}
	}
	if answers["masks"] < 16 || answers["busy"] == 0 {
		t.Errorf("%v", answers)
	}
	t.Logf("%v; the last busy after %v, the last masks after %v", answers, lastBusy, last)
}
