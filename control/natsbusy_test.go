package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"maskstream/rle"
	"maskstream/sink"
)

// gated is a stream whose prompts wait until they are let through.
type gated struct {
	*fakeStream
	prompts chan struct{}
}

func (g *gated) Prompt(ctx context.Context, request PromptRequest) (*rle.Frame, error) {
	select {
	case <-g.prompts:
		return g.fakeStream.Prompt(ctx, request)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// replies sends the same request n times at once and returns an inbox for the answers.
func replies(t *testing.T, nc *nats.Conn, subject, body string, n int) *nats.Subscription {
	t.Helper()
	inbox, err := nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := nc.PublishRequest("site.tracker.ctl."+subject, inbox.Subject, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	return inbox
}

func codeOf(t *testing.T, m *nats.Msg) Code {
	t.Helper()
	var e errorBody
	if err := json.Unmarshal(m.Data, &e); err != nil {
		t.Fatalf("%v: %s", err, m.Data)
	}
	if e.Error == nil {
		return ""
	}
	if header := m.Header.Get(micro.ErrorHeader); header != e.Error.Message {
		t.Errorf("the header says %q, the body %q", header, e.Error.Message)
	}
	return e.Error.Code
}

func TestOfAHundredPromptsEachIsAnsweredOrRefusedAtOnce(t *testing.T) {
	noGoroutinesLeft(t)
	embedded := natsServer(t, sink.EmbeddedOptions{Port: -1})
	service := NewService()
	stream := &gated{newFake(640, 360), make(chan struct{})}
	if err := service.Add("demo", stream); err != nil {
		t.Fatal(err)
	}
	openNATS(t, service, embedded.URL())
	nc := client(t, embedded.URL())
	ask(t, nc, "demo.status", "")

	const requests = 100
	inbox := replies(t, nc, "demo.prompt", `{"points":[[120,90]],"labels":[1]}`, requests)
	// None of the prompts gets through yet: whoever has an answer was refused without waiting for the others.
	busy := 0
	for range requests - maxWaiting {
		m, err := inbox.NextMsg(30 * time.Second)
		if err != nil {
			t.Fatalf("after %d answers: %v", busy, err)
		}
		if codeOf(t, m) != Busy || m.Header.Get(micro.ErrorCodeHeader) != "409" {
			t.Fatalf("%v %s", m.Header, m.Data)
		}
		busy++
	}
	// Other verbs do not wait for this one.
	ask(t, nc, "demo.status", "")
	close(stream.prompts)
	answered := 0
	for range maxWaiting {
		m, err := inbox.NextMsg(30 * time.Second)
		if err != nil {
			t.Fatalf("after %d masks: %v", answered, err)
		}
		if code := codeOf(t, m); code != "" {
			t.Fatalf("%s %s", code, m.Data)
		}
		answered++
	}
	if m, err := inbox.NextMsg(50 * time.Millisecond); err == nil {
		t.Errorf("one answer too many: %s", m.Data)
	}

	var stats micro.Stats
	until(t, "the statistics", func() bool {
		reply, err := nc.Request("$SRV.STATS.tracker", nil, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(reply.Data, &stats); err != nil {
			t.Fatal(err)
		}
		for _, e := range stats.Endpoints {
			var lane laneStats
			if e.Subject != "site.tracker.ctl.demo.prompt" {
				continue
			}
			if err := json.Unmarshal(e.Data, &lane); err != nil {
				t.Fatal(err)
			}
			return e.NumRequests == requests && e.NumErrors == busy && lane.Answered == int64(answered) && lane.Busy == int64(busy) && lane.Failed == 0
		}
		return false
	})
}

func TestARequestThatWaitsBehindAStuckOneTimesOutWithIt(t *testing.T) {
	embedded := natsServer(t, sink.EmbeddedOptions{Port: -1})
	service := NewService()
	if err := service.Add("demo", &gated{newFake(640, 360), nil}); err != nil {
		t.Fatal(err)
	}
	openNATS(t, service, embedded.URL())
	nc := client(t, embedded.URL())
	ask(t, nc, "demo.status", "")
	began := time.Now()
	inbox := replies(t, nc, "demo.prompt", `{"points":[[120,90]],"labels":[1]}`, 4)
	for range 4 {
		m, err := inbox.NextMsg(3 * callTimeout)
		if err != nil {
			t.Fatal(err)
		}
		if codeOf(t, m) != Timeout {
			t.Errorf("%s", m.Data)
		}
	}
	if took := time.Since(began); took > 2*callTimeout { // one after the other it would be four times
		t.Errorf("after %v", took)
	}
}

func TestWhatNobodyHasIsNotFoundAtOnceAndWhatAnotherHasIsTheirs(t *testing.T) {
	noGoroutinesLeft(t)
	embedded := natsServer(t, sink.EmbeddedOptions{Port: -1})
	nc := client(t, embedded.URL())
	for _, name := range []string{"gate", "yard"} {
		service := NewService()
		if err := service.Add(name, newFake(64, 36)); err != nil {
			t.Fatal(err)
		}
		openNATS(t, service, embedded.URL())
		ask(t, nc, name+".status", "")
	}
	for subject, code := range map[string]Code{
		"gate.status": "", "yard.status": "", "gaet.status": NotFound, "gaet.prompt": NotFound, "gate.promt": NotFound, "yard.list": NotFound, "_.prompt": NotFound,
		"gate.$": NotFound,
	} {
		inbox := replies(t, nc, subject, "", 1)
		answers := 0
		for {
			m, err := inbox.NextMsg(map[bool]time.Duration{true: 10 * time.Second, false: 200 * time.Millisecond}[answers == 0])
			if errors.Is(err, nats.ErrTimeout) && answers > 0 {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", subject, err)
			}
			answers++
			if got := codeOf(t, m); got != code {
				t.Errorf("%s: %s %s", subject, got, m.Data)
			}
		}
		if code == "" && answers != 1 {
			t.Errorf("%s: %d answers, and one tracker has it", subject, answers)
		}
	}
}

func TestWhatNobodyHasIsNotFoundAlsoWhereSomebodyListensToEverything(t *testing.T) {
	noGoroutinesLeft(t)
	embedded := natsServer(t, sink.EmbeddedOptions{Port: -1})
	nc := client(t, embedded.URL())
	service := NewService()
	if err := service.Add("gate", newFake(64, 36)); err != nil {
		t.Fatal(err)
	}
	openNATS(t, service, embedded.URL())
	ask(t, nc, "gate.status", "")
	if _, err := nc.Subscribe("site.tracker.>", func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	const requests = 20
	inbox := replies(t, nc, "gaet.status", "", requests)
	for n := range requests {
		m, err := inbox.NextMsg(10 * ownerWait)
		if err != nil {
			t.Fatalf("after %d answers: %v", n, err)
		}
		if got := codeOf(t, m); got != NotFound {
			t.Errorf("%s %s", got, m.Data)
		}
	}
}

func TestHostileBodiesAreRefusedInOneLine(t *testing.T) {
	embedded := natsServer(t, sink.EmbeddedOptions{Port: -1, MaxPayload: 8 << 20})
	service := NewService()
	fake := newFake(640, 360)
	if err := service.Add("demo", fake); err != nil {
		t.Fatal(err)
	}
	openNATS(t, service, embedded.URL())
	nc := client(t, embedded.URL())
	for name, c := range map[string]struct {
		body string
		code Code
	}{
		"huge":        {strings.Repeat(" ", BodyLimit+1), TooLarge},
		"deep":        {`{"mask":` + strings.Repeat("[", 500_000), BadRequest},
		"deep keys":   {strings.Repeat(`{"mask":`, 100_000), BadRequest},
		"many points": {`{"points":[` + strings.Repeat("[1,2],", 100_000) + `[1,2]],"labels":[1]}`, BadRequest},
		"bytes":       {string([]byte{0, 0xff, '{', 0xfe, '\n'}), BadRequest},
		"a bomb":      {fmt.Sprintf(`{"mask":{"size":[360,640],"counts":%q}}`, strings.Repeat("o", 500_000)), BadRequest},
		"a huge mask": {`{"mask":{"size":[2000000000,2000000000],"counts":"0"}}`, BadRequest},
		"a long id":   {`{"object":` + strings.Repeat("9", 1000) + `,"box":[1,2,3,4]}`, BadRequest},
	} {
		m := ask(t, nc, "demo.prompt", c.body)
		if got := codeOf(t, m); got != c.code || len(m.Data) > 2*longestMessage || strings.ContainsAny(m.Header.Get(micro.ErrorHeader), "\r\n") {
			t.Errorf("%s: %v %.300s", name, m.Header, m.Data)
		}
	}
	if len(fake.requests) != 0 {
		t.Errorf("%d of them came through", len(fake.requests))
	}
}
