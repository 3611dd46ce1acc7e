//go:build slow

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"maskstream/ingest/cameratest"
	"maskstream/rle"
)

// soakFor is how long a soak lasts: SOAK=12m go test -tags slow -run TestSoak -timeout 2h ./integration -v. Its first minutes still fill
// queues, pools and histories, so that one of less than ten looks like a leak.
func soakFor(t *testing.T, otherwise time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv("SOAK")
	if text == "" {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("SOAK: %v", err)
	}
	return d
}

const (
	cameraLives   = 10 * time.Second // between two kills of a camera
	serverLives   = time.Minute      // between two of the NATS server
	serverOutage  = 3 * time.Second
	guestEvery    = 30 * time.Second
	guestStays    = 5 * time.Second
	soakPayload   = 2 << 10 // so small that frames have to be split
	soakStreams   = 4
	soakFrameFile = 100 // pictures of the looping file
)

// TestSoak runs four streams for long while what they depend on comes and goes, and looks at what the service holds, and at every
// message.
func TestSoak(t *testing.T) {
	o := newSoak(t, "")
	heard := o.subscribe(t)
	o.run(t, soakFor(t, 30*time.Minute))
	o.flat(t)
	missing := map[string]int64{}
	for name, s := range heard.streams() {
		dropped := int64(o.service.sum(t, "tracker_sink_dropped_total", `stream="`+name+`"`, `sink="nats"`))
		unexplained := int64(0)
		for _, g := range s.gaps {
			missing[name] += g.missing
			if !o.disturbed(g.from, g.to) {
				unexplained += g.missing
			}
		}
		t.Logf("%s: seq to %d, %d heard, %d missing in %d gaps, %d of them while the server was there; the service counts %d dropped", name, s.last, s.heard, missing[name], len(s.gaps), unexplained, dropped)
		if unexplained > dropped {
			t.Errorf("%s: %d frames are missing while the server was there, and only %d are counted as dropped", name, unexplained, dropped)
		}
		if s.heard < 100 {
			t.Errorf("%s: only %d frames", name, s.heard)
		}
		if s.unordered > 0 {
			t.Errorf("%s: %d frames came out of order or twice", name, s.unordered)
		}
	}
	t.Logf("%d messages, the largest of %d bytes of %d", heard.messages, heard.largest, soakPayload)
	if heard.largest > soakPayload {
		t.Errorf("a message of %d bytes exceeds the server's %d", heard.largest, soakPayload)
	}
	if len(heard.streams()) < soakStreams {
		t.Errorf("frames came of %d streams", len(heard.streams()))
	}
	o.end(t)
}

// TestSoakStored is the same with JetStream, where nothing may be lost.
func TestSoakStored(t *testing.T) {
	o := newSoak(t, fmt.Sprintf("jetstream: {store_dir: %q}", t.TempDir()))
	o.run(t, soakFor(t, 10*time.Minute))
	o.flat(t)
	soon(t, "an empty spool", func() error {
		if n := o.service.metric(t, "tracker_spool_messages"); n > 100 { // new ones come all the time
			return fmt.Errorf("%d messages wait", n)
		}
		return nil
	})
	if lost := o.service.metric(t, `tracker_jetstream_total{result="error"}`) + o.service.metric(t, `tracker_jetstream_total{result="spool_full"}`); lost != 0 {
		t.Errorf("%d messages are lost", lost)
	}
	o.end(t)
	nc, err := nats.Connect(o.server.url())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	next, ids := map[string]int64{}, map[string]bool{}
	all := stored(t, nc, "tracker")
	for _, m := range all {
		if id := m.Headers().Get("Nats-Msg-Id"); ids[id] {
			t.Fatalf("%s is stored twice", id)
		} else {
			ids[id] = true
		}
		if !strings.HasSuffix(m.Subject(), ".frame") || strings.Contains(m.Subject(), ".guest.") {
			continue
		}
		var f struct {
			Run  string
			Seq  int64
			Part [2]int
		}
		if err := json.Unmarshal(m.Data(), &f); err != nil {
			t.Fatal(err)
		}
		key := m.Subject() + " of run " + f.Run
		if f.Part[0] > 0 { // of a frame that began in the message before
			next[key]--
		}
		if f.Seq != next[key] {
			t.Fatalf("%s: seq %d, want %d", key, f.Seq, next[key])
		}
		next[key] = f.Seq + 1
	}
	for key, n := range next {
		t.Logf("%s: seq 0 to %d, without a gap", key, n-1)
	}
	t.Logf("%d messages are stored, each once", len(all))
	if len(next) != soakStreams {
		t.Errorf("frames of %d streams are stored", len(next))
	}
}

// soak is a service with its surroundings.
type soak struct {
	service *service
	server  *busServer
	killed  power // the camera that is
	samples []sample
	extra   []string // of the streams, for the next camera

	mu      sync.Mutex
	outages []span // of the server, until the subscriber was back as well
}

type span struct{ from, to time.Time }

func newSoak(t *testing.T, storage string) *soak {
	t.Helper()
	o := &soak{server: newBusServer(t, fmt.Sprintf("max_payload: %d\n%s", soakPayload, storage))}
	o.server.start()
	o.killed = cameratest.Start(t, cameratest.Options{Size: "320x180"})
	steady := cameratest.StartGStreamer(t, cameratest.Options{Size: "320x180"})
	clip := filepath.Join(t.TempDir(), "clip.mp4")
	if output, err := exec.Command("ffmpeg", "-hide_banner", "-loglevel", "error", "-f", "lavfi", "-i", fmt.Sprintf("testsrc2=size=320x180:rate=10:duration=%d", soakFrameFile/10), "-pix_fmt", "yuv420p", clip).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, output)
	}
	config := filepath.Join(t.TempDir(), "tracker.yaml")
	write(t, config, fmt.Sprintf(`streams:
  - {name: scene, url: 'testscene:?fps=5', history: 50, prompts: [{object: 1, box: [418, 101, 544, 227]}]}
  - {name: killed, url: '%s', timeout: 5s, history: 50, prompts: [{object: 1, box: [40, 40, 120, 120]}]}
  - {name: steady, url: '%s', timeout: 5s, history: 50, prompts: [{object: 1, box: [40, 40, 120, 120]}]}
  - {name: file, url: '%s', loop: true, history: 50, prompts: [{object: 1, box: [40, 40, 120, 120]}, {object: 2, points: [[200, 90]], labels: [1]}]}
nats: {url: '%s', frames: true, jetstream: %t, spool: {folder: '%s', bytes: 64MiB}}
http: {listen: '127.0.0.1:0'}
`, o.killed.URL(), steady.URL(), clip, o.server.url(), storage != "", t.TempDir()))
	o.service = serve(t, "-c", config)
	return o
}

// run lets the soak last, with everything that happens in it.
func (o *soak) run(t *testing.T, d time.Duration) {
	t.Helper()
	began := time.Now()
	kill, outage, guest, look := began.Add(cameraLives), began.Add(serverLives/2), began.Add(guestEvery), began
	kills, outages, guests := 0, 0, 0
	for now := began; now.Sub(began) < d; now = time.Now() {
		switch {
		case now.After(look):
			o.samples = append(o.samples, o.sample(t, began))
			look = now.Add(5 * time.Second)
		case now.After(kill):
			address := strings.TrimSuffix(strings.TrimPrefix(o.killed.URL(), "rtsp://"), "/main")
			o.killed.Close()
			time.Sleep(time.Second)
			o.killed = cameratest.Start(t, cameratest.Options{Address: address, Size: "320x180"})
			kills, kill = kills+1, now.Add(cameraLives)
		case now.After(outage):
			o.serverGoes(t)
			outages, outage = outages+1, now.Add(serverLives)
		case now.After(guest):
			var reply map[string]any
			if code := o.service.request(t, "PUT", "/api/streams/guest", `{"url":"testscene:?size=160x90&fps=5"}`, &reply); code != 200 {
				t.Errorf("add: %d %v", code, reply)
			}
			time.Sleep(guestStays)
			if code := o.service.request(t, "DELETE", "/api/streams/guest", "", &reply); code != 200 {
				t.Errorf("drop: %d %v", code, reply)
			}
			guests, guest = guests+1, now.Add(guestEvery)
		}
		time.Sleep(50 * time.Millisecond)
	}
	soon(t, "the bus", func() error {
		if o.service.metric(t, "tracker_nats_connected") != 1 {
			return fmt.Errorf("not connected")
		}
		return nil
	})
	t.Logf("%v: a camera was killed %d times, the server %d times, a stream came and went %d times", time.Since(began).Round(time.Second), kills, outages, guests)
}

// end ends the service, which has to end well, and says how much it has logged.
func (o *soak) end(t *testing.T) {
	t.Helper()
	if code := o.service.end(t); code != 0 {
		t.Errorf("exit status %d", code)
	}
	t.Logf("the service wrote %d lines", strings.Count(o.service.log.String(), "\n"))
}

// serverGoes kills the server, starts it again, and notes until when the subscriber may have missed something.
func (o *soak) serverGoes(t *testing.T) {
	t.Helper()
	gone := time.Now()
	o.server.kill()
	time.Sleep(serverOutage)
	o.server.start().Close()
	soon(t, "the service on the bus", func() error {
		if o.service.metric(t, "tracker_nats_connected") != 1 {
			return fmt.Errorf("not connected")
		}
		return nil
	})
	time.Sleep(time.Second) // the subscriber tries every 100 ms
	o.mu.Lock()
	defer o.mu.Unlock()
	o.outages = append(o.outages, span{gone.Add(-time.Second), time.Now()})
}

// disturbed says whether the server was away within a time.
func (o *soak) disturbed(from, to time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, outage := range o.outages {
		if from.Before(outage.to) && to.After(outage.from) {
			return true
		}
	}
	return false
}

// subscriber checks every frame of the bus as it comes.
type subscriber struct {
	mu       sync.Mutex
	byName   map[string]*subscribed
	messages int
	largest  int
}

type subscribed struct {
	last, heard, unordered int64
	at                     time.Time // when the last came
	gaps                   []gap
}

type gap struct {
	missing  int64
	from, to time.Time
}

func (o *soak) subscribe(t *testing.T) *subscriber {
	t.Helper()
	connection, err := nats.Connect(o.server.url(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	s := &subscriber{byName: map[string]*subscribed{}}
	subscription, err := connection.Subscribe("tracker.>", s.take)
	if err == nil {
		err = subscription.SetPendingLimits(-1, -1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *subscriber) take(m *nats.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages++
	s.largest = max(s.largest, m.Size()-len(m.Subject))
	if !strings.HasSuffix(m.Subject, ".frame") || strings.Contains(m.Subject, ".guest.") {
		return
	}
	var f rle.Frame
	if err := json.Unmarshal(m.Data, &f); err != nil {
		return
	}
	now := time.Now()
	on := s.byName[f.Stream]
	if on == nil {
		on = &subscribed{last: f.Seq - 1}
		s.byName[f.Stream] = on
	}
	switch missing := f.Seq - on.last - 1; {
	case missing > 0:
		on.gaps = append(on.gaps, gap{missing, on.at, now})
	case missing < 0 && f.Part == nil:
		on.unordered++
	}
	on.last, on.at, on.heard = f.Seq, now, on.heard+1
}

func (s *subscriber) streams() map[string]subscribed {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]subscribed{}
	for name, on := range s.byName {
		all[name] = *on
	}
	return all
}
