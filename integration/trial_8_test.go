package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"maskstream/rle"
)

// outage is how long the server is away in trial 8.
const outage = 10 * time.Second

// nextFrame is the next frame of results.
func nextFrame(t *testing.T, s *nats.Subscription) rle.Frame {
	t.Helper()
	m, err := s.NextMsg(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var f rle.Frame
	if err := json.Unmarshal(m.Data, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func subscribe(t *testing.T, nc *nats.Conn, subject string) *nats.Subscription {
	t.Helper()
	s, err := nc.SubscribeSync(subject)
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return s
}

// goesOn fails the test where the stream stands still for as long.
func (s *service) goesOn(t *testing.T, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		before := s.frame(t, "cam")
		soon(t, "the next frame", func() error {
			if s.frame(t, "cam") == before {
				return fmt.Errorf("it is still frame %d", before)
			}
			return nil
		})
	}
}

func trial8Config(t *testing.T, url, more string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tracker.yaml")
	write(t, path, fmt.Sprintf(`
streams:
  - {name: cam, url: "testscene:?size=320x180&fps=15", prompts: [{object: 1, box: [209, 50, 272, 113]}]}
nats: {url: %q, frames: true%s}
http: {listen: "127.0.0.1:0"}
`, url, more))
	return path
}

// TestTrial8NatsOutage starts the service without a server, lets it come, kills it for 10 s, and kills it again before the end. Masks
// of an outage are lost, counted and never sent later. A kill takes what the server had not delivered with it, and whoever
// subscribes after a restart may come later than the service: two frames at each end are left to that.
func TestTrial8NatsOutage(t *testing.T) {
	const slack = 2
	server := newBusServer(t, "")
	s := serve(t, "-c", trial8Config(t, server.url(), ""))
	s.goesOn(t, time.Second)
	var ready struct{ Parts map[string]string }
	if code := s.request(t, "GET", "/readyz", "", &ready); code != http.StatusServiceUnavailable || !strings.Contains(ready.Parts["nats"], "no connection to "+server.url()) {
		t.Errorf("readiness without the server: %d, %v", code, ready)
	}
	dropped := func() int { return s.metric(t, `tracker_sink_dropped_total{sink="nats",stream="cam"}`) }

	frames := subscribe(t, server.start(), "tracker.cam.frame")
	last := nextFrame(t, frames).Seq // the first ever: all before are lost
	first := last
	for range 20 {
		f := nextFrame(t, frames)
		if f.Seq != last+1 {
			t.Fatalf("seq %d after %d, with the server there", f.Seq, last)
		}
		last = f.Seq
	}
	before := dropped()
	if lost := int(first) - before; lost < 0 || lost > slack {
		t.Errorf("the first frame that arrives has seq %d, and %d are counted as lost before it", first, before)
	}

	server.kill()
	for { // what was delivered before the kill
		m, err := frames.NextMsg(time.Second)
		if err != nil {
			break
		}
		var f rle.Frame
		if err := json.Unmarshal(m.Data, &f); err != nil {
			t.Fatal(err)
		}
		last = f.Seq
	}
	s.goesOn(t, outage)
	frames = subscribe(t, server.start(), "tracker.cam.frame")
	after := nextFrame(t, frames)
	gap, counted := int(after.Seq-last-1), dropped()-before
	if lost := gap - counted; lost < 0 || lost > slack || counted < 20 {
		t.Errorf("after the outage the gap in seq is %d, and %d are counted as lost", gap, counted)
	}
	t.Logf("the outage of %v: a gap of %d in seq, %d counted as lost", outage, gap, counted)
	if age := time.Since(after.Received); age > outage/2 {
		t.Errorf("the first frame after the outage was received %v ago", age)
	}
	for i := range 20 {
		if f := nextFrame(t, frames); f.Seq != after.Seq+int64(i)+1 {
			t.Fatalf("seq %d, want %d: nothing of the outage comes later", f.Seq, after.Seq+int64(i)+1)
		}
	}
	if n := s.metric(t, "tracker_nats_reconnects_total"); n != 1 && n != 2 { // the first connection may count
		t.Errorf("%d reconnections", n)
	}

	server.kill()
	soon(t, "the loss to be seen", func() error {
		if s.metric(t, "tracker_nats_connected") != 0 {
			return fmt.Errorf("it is connected")
		}
		return nil
	})
	s.goesOn(t, time.Second)
	began := time.Now()
	if code := s.end(t); code != 0 {
		t.Errorf("exit status %d", code)
	}
	took := time.Since(began)
	report := regexp.MustCompile(`not everything could be published.* (\d+) messages were dropped`).FindStringSubmatch(s.log.String())
	if report == nil || took > 10*time.Second {
		t.Fatalf("after %v the log does not say what is lost", took)
	}
	if n, err := strconv.Atoi(report[1]); err != nil || n < counted+before {
		t.Errorf("at the end %s are lost, and before it were %d", report[1], counted+before)
	}
}

// TestTrial8JetStreamOutage kills a server with JetStream for 10 s: the stream has every message once, in order.
func TestTrial8JetStreamOutage(t *testing.T) {
	server := newBusServer(t, fmt.Sprintf("jetstream {store_dir: %q}", t.TempDir()))
	spool := t.TempDir()
	config := trial8Config(t, server.url(), fmt.Sprintf(", jetstream: true, spool: {folder: %q}", spool))
	s := serve(t, "-c", config)
	s.goesOn(t, time.Second)
	server.start()
	s.goesOn(t, 2*time.Second)
	server.kill()
	s.goesOn(t, outage)
	waiting := s.metric(t, "tracker_spool_messages")
	if waiting < 40 {
		t.Errorf("%d messages wait after an outage of %v", waiting, outage)
	}
	server.start()
	soon(t, "the spool to be empty", func() error {
		if n := s.metric(t, "tracker_spool_messages"); n > 20 {
			return fmt.Errorf("%d messages wait", n)
		}
		return nil
	})
	again := s.metric(t, "tracker_jetstream_again_total")

	// And again, with the service killed in the outage: the next one stores what it left.
	server.kill()
	s.goesOn(t, time.Second)
	s.command.Process.Kill()
	<-s.logged
	next := serve(t, "-c", config)
	nc := server.start()
	next.goesOn(t, time.Second)
	if code := next.end(t); code != 0 {
		t.Errorf("exit status %d", code)
	}

	seqs, events := map[string][]int64{}, map[string]int64{}
	ids := map[string]bool{}
	for _, m := range stored(t, nc, "tracker") {
		id := m.Headers().Get("Nats-Msg-Id")
		if ids[id] {
			t.Errorf("%s is stored twice", id)
		}
		ids[id] = true
		var common struct {
			Run   string
			Seq   int64
			N     int64
			Masks []struct{ Seq int64 }
		}
		if err := json.Unmarshal(m.Data(), &common); err != nil {
			t.Fatal(err)
		}
		switch key := m.Subject() + " of run " + common.Run; {
		case strings.HasSuffix(m.Subject(), ".event"):
			if common.N != events[key] {
				t.Errorf("event %d of %s, want %d", common.N, key, events[key])
			}
			events[key]++
		case strings.HasSuffix(m.Subject(), ".frame"):
			seqs[key] = append(seqs[key], common.Seq)
		default:
			seqs[key] = append(seqs[key], common.Masks[0].Seq)
		}
	}
	if len(seqs) != 4 || len(events) != 2 { // frames and object 1 of two runs
		t.Errorf("stored are %d kinds of results and %d of events", len(seqs), len(events))
	}
	for key, all := range seqs {
		for i, seq := range all {
			if seq != all[0]+int64(i) || all[0] != 0 {
				t.Fatalf("%s: seq %d at %d", key, seq, i)
			}
		}
		t.Logf("%s: seq 0 to %d, without a gap", key, len(all)-1)
	}
	t.Logf("%d messages waited at the end of the outage of %v; %d were sent twice and stored once", waiting, outage, again)
}

// stored is what a stream of JetStream holds.
func stored(t *testing.T, nc *nats.Conn, name string) (all []jetstream.Msg) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := stream.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for range info.State.Msgs {
		m, err := consumer.Next(jetstream.FetchMaxWait(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}
