package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"maskstream/rle"
)

// TestPastOfALiveStreamIsReachedThroughBothDoors points at an object on a frame that has gone by, over NATS, and lets it be tracked back
// from now, over HTTP.
func TestPastOfALiveStreamIsReachedThroughBothDoors(t *testing.T) {
	s := serve(t)
	connection, err := nats.Connect(s.bus)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	subscribe := func(subject string) *nats.Subscription {
		subscription, err := connection.SubscribeSync(subject)
		if err != nil {
			t.Fatal(err)
		}
		return subscription
	}
	first, second, events := subscribe("tracker.demo.object.1"), subscribe("tracker.demo.object.2"), subscribe("tracker.demo.event")
	mask := func(from *nats.Subscription) rle.BatchMask {
		t.Helper()
		message, err := from.NextMsg(30 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var batch rle.Batch
		if err := json.Unmarshal(message.Data, &batch); err != nil || len(batch.Masks) != 1 {
			t.Fatalf("%v: %s", err, message.Data)
		}
		return batch.Masks[0]
	}
	past := mask(first).Frame // one that was tracked, and not left out
	newest := past
	for range 15 {
		newest = mask(first).Frame
	}

	box := truth(t, past, 3).Box()
	body := fmt.Sprintf(`{"object":2,"frame":%d,"epoch":0,"box":[%d,%d,%d,%d]}`, past, box[0], box[1], box[0]+box[2], box[1]+box[3])
	reply, err := connection.Request("tracker.ctl.demo.prompt", []byte(body), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var answer rle.Frame
	if err := json.Unmarshal(reply.Data, &answer); err != nil || answer.Frame != past || answer.Direction != rle.Prompted || !answer.Past {
		t.Fatalf("answer %v %s", reply.Header, reply.Data)
	}
	last := mask(second)
	if last.Frame != past || last.Direction != rle.Prompted {
		t.Errorf("the object begins on frame %d as %s", last.Frame, last.Direction)
	}
	var total float64
	n := 0
	for last.Frame <= newest+5 { // beyond what was the newest frame when it was prompted
		m := mask(second)
		if m.Frame <= last.Frame || m.Seq <= last.Seq || m.Direction != rle.Forward {
			t.Fatalf("frame %d (%s) follows frame %d", m.Frame, m.Direction, last.Frame)
		}
		last = m
		parsed, err := rle.Parse(360, 640, *m.Counts)
		if err != nil {
			t.Fatal(err)
		}
		iou, _ := overlapOf(t, parsed, truth(t, m.Frame, 3))
		total, n = total+iou, n+1
	}
	if n < 15 || total/float64(n) < 0.6 {
		t.Errorf("%d masks with a mean IoU of %.2f", n, total/float64(n))
	}

	var accepted struct{ Accepted bool }
	if code := s.request(t, "POST", "/api/streams/demo/reverse", `{"objects":[2],"frames":12}`, &accepted); code != http.StatusOK || !accepted.Accepted {
		t.Fatalf("reverse: status %d", code)
	}
	var back []rle.BatchMask
	for len(back) < 12 {
		if m := mask(second); m.Direction == rle.Reverse {
			back = append(back, m)
		}
	}
	for i, m := range back[1:] {
		if m.Frame >= back[i].Frame {
			t.Errorf("frame %d follows frame %d on the way back", m.Frame, back[i].Frame)
		}
	}
	for {
		message, err := events.NextMsg(30 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var event rle.Event
		if err := json.Unmarshal(message.Data, &event); err != nil {
			t.Fatal(err)
		}
		if event.Type == rle.ReverseDone {
			if event.Frames == nil || *event.Frames != 12 {
				t.Errorf("event %s", message.Data)
			}
			break
		}
	}
	if info, err := connection.Request("$SRV.INFO.tracker", nil, 5*time.Second); err != nil || !json.Valid(info.Data) {
		t.Errorf("%v: %v", err, info)
	}
	if code := s.end(t); code != 0 {
		t.Errorf("exit status %d after SIGTERM", code)
	}
}
