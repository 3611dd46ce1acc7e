package sink

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"maskstream/rle"
)

func embedded(t *testing.T, maxPayload int32) *Embedded {
	t.Helper()
	e, err := StartEmbedded(EmbeddedOptions{Port: -1, MaxPayload: maxPayload, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Shutdown)
	return e
}

func connect(t *testing.T, o NATSOptions) *Connection {
	t.Helper()
	if o.Log == nil {
		o.Log = quiet()
	}
	c, err := Connect(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Log(err)
		}
	})
	return c
}

func publisher(t *testing.T, c *Connection, o StreamOptions) *NATS {
	t.Helper()
	o.Prefix, o.Stream = "tracker", "cam"
	n, err := NewNATS(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func write(t *testing.T, n *NATS, items ...Item) {
	t.Helper()
	for _, i := range items {
		if err := n.Write(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSubscriberSeesTheContractsMessages(t *testing.T) {
	noGoroutinesLeft(t)
	e := embedded(t, 0)
	c := connect(t, NATSOptions{URL: e.URL()})
	s := subscribe(t, e.URL(), "tracker.>")
	until(t, "the connection", c.Connected)
	n := publisher(t, c, StreamOptions{Frames: true})
	id := 1
	write(t, n,
		Item{Result: result(12, small())},
		Item{Result: result(13)},
		Item{Event: &rle.Event{V: 1, Stream: "cam", Run: "0badcafe", N: 3, Type: rle.ObjectRemoved, Object: &id, Time: time.Unix(0, 0)}},
		Item{Status: &rle.Status{V: 1, Stream: "cam", Run: "0badcafe", State: "up", FPS: 12.5, Objects: []int{1}, Time: time.Unix(1, 0)}},
	)
	if err := n.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []struct{ subject, id, data string }{
		{"tracker.cam.object.1", "cam/0badcafe/0/12/1", `{"v":1,"stream":"cam","run":"0badcafe","epoch":0,"object":1,"size":[2,3],"masks":[{"seq":12,"frame":12,"pts_ns":480000000,` +
			`"direction":"forward","state":"tracked","counts":"231","area":3,"bbox":[1,0,2,2],"object_score":4.5}]}`},
		{"tracker.cam.frame", "cam/0badcafe/0/12/frame", `{"v":1,"stream":"cam","run":"0badcafe","epoch":0,"seq":12,"frame":12,"pts_ns":480000000,"captured":null,` +
			`"received":"2026-11-30T15:48:41.123456Z","rtp":43200,"size":[2,3],"direction":"forward","objects":[{"id":1,"state":"tracked",` +
			`"segmentation":{"size":[2,3],"counts":"231"},"area":3,"bbox":[1,0,2,2],"object_score":4.5,"predicted_iou":0.5}]}`},
		{"tracker.cam.frame", "cam/0badcafe/0/13/frame", `{"v":1,"stream":"cam","run":"0badcafe","epoch":0,"seq":13,"frame":13,"pts_ns":520000000,"captured":null,` +
			`"received":"2026-11-30T15:48:41.123456Z","rtp":46800,"size":[2,3],"direction":"forward","objects":[]}`},
		{"tracker.cam.event", "cam/0badcafe/event/3", `{"v":1,"stream":"cam","run":"0badcafe","n":3,"time":"1970-01-01T00:00:00Z","type":"object_removed","object":1}`},
		{"tracker.cam.status", "", `{"v":1,"stream":"cam","run":"0badcafe","time":"1970-01-01T00:00:01Z","state":"up","fps":12.5,"latency_ms":0,"objects":[1],"frames":0,"dropped":{}}`},
	}
	until(t, "all messages", func() bool { return len(s.all()) >= len(want) })
	for i, m := range s.all() {
		w := want[i]
		if m.Subject != w.subject || m.Header.Get("Nats-Msg-Id") != w.id || m.Header.Get("Content-Type") != "application/json" || string(m.Data) != w.data {
			t.Errorf("message %d\ngot  %s %v %s\nwant %s %s %s", i, m.Subject, m.Header, m.Data, w.subject, w.id, w.data)
		}
	}
	if stats := c.Stats(); stats.Published != 5 || stats.Down+stats.Failed+stats.TooLarge != 0 {
		t.Errorf("stats %+v", stats)
	}
}

func TestBatchesWaitForTheirCountTheirAgeOrTheEnd(t *testing.T) {
	e := embedded(t, 0)
	c := connect(t, NATSOptions{URL: e.URL()})
	s := subscribe(t, e.URL(), "tracker.cam.object.*")
	until(t, "the connection", c.Connected)
	n := publisher(t, c, StreamOptions{Batch: rle.Limits{Count: 3, Age: 40 * time.Millisecond}})
	for i := range 4 {
		write(t, n, Item{Result: result(i, small())})
	}
	due := n.Due()
	if wait := time.Until(due); due.IsZero() || wait > 40*time.Millisecond {
		t.Fatalf("due in %v", wait)
	}
	if err := n.Flush(t.Context(), due); err != nil {
		t.Fatal(err)
	}
	write(t, n, Item{Result: result(4, small())})
	if err := n.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "three batches", func() bool { return len(s.all()) == 3 })
	for i, want := range []int{3, 1, 1} {
		var b rle.Batch
		if err := json.Unmarshal(s.all()[i].Data, &b); err != nil || len(b.Masks) != want {
			t.Errorf("batch %d has %d masks, %v", i, len(b.Masks), err)
		}
	}
}

func TestMasksBeyondMaxPayloadArriveInPartsAndTheConnectionStays(t *testing.T) {
	noGoroutinesLeft(t)
	const maxPayload = 64 << 10
	e := embedded(t, maxPayload)
	c := connect(t, NATSOptions{URL: e.URL()})
	objects := subscribe(t, e.URL(), "tracker.cam.object.*")
	whole := subscribe(t, e.URL(), "tracker.cam.frame")
	until(t, "the connection", c.Connected)
	n := publisher(t, c, StreamOptions{Frames: true, Batch: rle.Limits{Count: 3, Bytes: 256 << 10}})
	var sent [][]rle.Mask
	for i := range 3 {
		// 540×960 of noise are four times max_payload, 200×300 fit, small is small.
		masks := []rle.Mask{noise(540, 960, uint64(i)), rle.Empty(540, 960), noise(540, 960, uint64(100+i))}
		sent = append(sent, masks)
		write(t, n, Item{Result: result(i, masks...)})
	}
	if err := n.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var assembler rle.Assembler
	got := map[[2]int]rle.Mask{} // frame, object
	until(t, "every mask", func() bool {
		assembler, got = rle.Assembler{}, map[[2]int]rle.Mask{}
		for _, m := range objects.all() {
			if len(m.Data)+headerSize(m.Header) > maxPayload {
				t.Fatalf("a message of %d bytes", len(m.Data))
			}
			var b rle.Batch
			if err := json.Unmarshal(m.Data, &b); err != nil {
				t.Fatal(err)
			}
			joined, complete, err := assembler.Add(b)
			if err != nil {
				t.Fatal(err)
			}
			if !complete {
				continue
			}
			for _, mask := range joined.Masks {
				m, err := rle.Parse(joined.Size[0], joined.Size[1], *mask.Counts)
				if err != nil {
					t.Fatal(err)
				}
				got[[2]int{mask.Frame, joined.Object}] = m
			}
		}
		return len(got) == 9
	})
	for i, masks := range sent {
		for o, want := range masks {
			if !rle.Equal(got[[2]int{i, o + 1}], want) {
				t.Errorf("frame %d, object %d: another mask", i, o+1)
			}
		}
	}
	for _, m := range whole.all() {
		if len(m.Data)+headerSize(m.Header) > maxPayload {
			t.Errorf("a frame message of %d bytes", len(m.Data))
		}
	}
	s := c.Stats()
	if !s.Connected || s.Reconnects != 0 || s.Failed != 0 || s.Down != 0 {
		t.Errorf("stats %+v", s)
	}
	if s.TooLarge != 6 { // the large masks of three frame messages, which cannot be split
		t.Errorf("%d counted as too large, want 6", s.TooLarge)
	}
	t.Logf("%d object messages, %d frame messages", len(objects.all()), len(whole.all()))
}

func TestServerDownAtTheStartThenKilledThenBack(t *testing.T) {
	noGoroutinesLeft(t)
	server := newServer(t, "")
	url := "nats://" + server.address
	c := connect(t, NATSOptions{URL: url})
	n := publisher(t, c, StreamOptions{})
	write(t, n, Item{Result: result(0, small())}, Item{Result: result(1, small())})
	if s := c.Stats(); s.Connected || s.Down != 2 {
		t.Errorf("before the server: %+v", s)
	}

	server.start()
	until(t, "the first connection", c.Connected)
	s := subscribe(t, url, "tracker.cam.object.1")
	write(t, n, Item{Result: result(2, small())})
	until(t, "frame 2", func() bool { return len(s.all()) == 1 })

	server.kill()
	until(t, "the loss to be seen", func() bool { return !c.Connected() })
	for i := 3; i < 103; i++ {
		write(t, n, Item{Result: result(i, small())})
	}
	server.start()
	until(t, "the connection to come back", c.Connected)
	back := subscribe(t, url, "tracker.cam.object.1")
	write(t, n, Item{Result: result(103, small())})
	until(t, "frame 103", func() bool { return len(back.all()) >= 1 })
	var b rle.Batch
	if err := json.Unmarshal(back.all()[0].Data, &b); err != nil || b.Masks[0].Frame != 103 {
		t.Errorf("after the outage came frame %d first, %v", b.Masks[0].Frame, err)
	}
	if lost := n.Dropped(); lost != 102 {
		t.Errorf("%d results are counted as lost", lost)
	}
	if s := c.Stats(); s.Down != 102 || s.Published != 2 || s.Reconnects < 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestCloseDuringAnOutageEndsAtOnceAndSaysWhatIsLost(t *testing.T) {
	noGoroutinesLeft(t)
	server := newServer(t, "")
	server.start()
	c, err := Connect(NATSOptions{URL: "nats://" + server.address, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the connection", c.Connected)
	server.kill()
	until(t, "the loss to be seen", func() bool { return !c.Connected() })
	write(t, publisher(t, c, StreamOptions{}), Item{Result: result(0, small())})
	began := time.Now()
	err = c.Close(t.Context())
	if err == nil || !strings.Contains(err.Error(), "1 messages were dropped") || time.Since(began) > 2*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

func TestCloseSendsWhatTheSocketHasNotTaken(t *testing.T) {
	noGoroutinesLeft(t)
	e := embedded(t, 0)
	s := subscribe(t, e.URL(), "tracker.>")
	c, err := Connect(NATSOptions{URL: e.URL(), Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the connection", c.Connected)
	n := publisher(t, c, StreamOptions{})
	for i := range 500 {
		write(t, n, Item{Result: result(i, small())})
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "all messages", func() bool { return len(s.all()) == 500 })
}

func TestCredentialsLetInAndStayOutOfTheLog(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	write := func(secret string) {
		if err := os.WriteFile(token, []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("wrong-geheim")
	for name, c := range map[string]struct {
		config string
		with   func(address string) NATSOptions
	}{
		"user and password": {`authorization {user: masks, password: "p@ss:w/#%?!"}`, func(a string) NATSOptions {
			return NATSOptions{URL: "nats://masks:p%40ss%3Aw%2F%23%25%3F!@" + a}
		}},
		"token in the URL":                       {"authorization {token: geheim}", func(a string) NATSOptions { return NATSOptions{URL: "nats://geheim@" + a} }},
		"token file, first wrong and then right": {"authorization {token: geheim}", func(a string) NATSOptions { return NATSOptions{URL: "nats://" + a, TokenFile: token} }},
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer(t, c.config)
			server.start()
			var log logged
			o := c.with(server.address)
			o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			connection := connect(t, o)
			if o.TokenFile != "" {
				until(t, "the refusal", func() bool { return strings.Contains(log.String(), "uthorization") })
				write("geheim")
			}
			until(t, "the connection", connection.Connected)
			server.kill()
			until(t, "the loss to be logged", func() bool { return strings.Contains(log.String(), "connection lost") })
			for _, secret := range []string{"geheim", "p@ss", "p%40ss"} {
				if strings.Contains(log.String(), secret) {
					t.Errorf("the log holds %q: %s", secret, log.String())
				}
			}
		})
	}
}

func TestOptionsThatCannotWorkAreRefusedWithoutSecrets(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o    NATSOptions
		want string
	}{
		"unescaped password":   {NATSOptions{URL: "nats://u:geh%eim@h:4222"}, "percent-encoded"},
		"no host":              {NATSOptions{URL: "4222"}, "nats://host:4222"},
		"second server broken": {NATSOptions{URL: "nats://h,nats://u:geheim@"}, "does not parse"},
		"no credentials file":  {NATSOptions{URL: "nats://h", CredentialsFile: "/no/such.creds"}, "/no/such.creds"},
		"no token file":        {NATSOptions{URL: "nats://h", TokenFile: "/no/such"}, "/no/such"},
		"empty token file":     {NATSOptions{URL: "nats://h", TokenFile: empty}, "is empty"},
		"no authority file":    {NATSOptions{URL: "nats://h", CAFile: "/no/such.pem"}, "/no/such.pem"},
		"authority not PEM":    {NATSOptions{URL: "nats://h", CAFile: empty}, "no PEM certificate"},
	} {
		c.o.Log = quiet()
		_, err := Connect(c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geh") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamesThatAreNoSubjectTokensAreRefused(t *testing.T) {
	for _, o := range []StreamOptions{{Prefix: "tracker", Stream: "a.b"}, {Prefix: "tracker", Stream: "*"}, {Prefix: "tracker"}, {Prefix: "tracker", Stream: "ctl"},
		{Prefix: "a..b", Stream: "cam"}, {Prefix: ">", Stream: "cam"}, {Stream: "cam"}, {Prefix: "tracker", Stream: strings.Repeat("a", 65)}} {
		if _, err := NewNATS(nil, o); err == nil {
			t.Errorf("accepted %+v", o)
		}
	}
}

func TestEmbeddedServerTakesAnotherPortWhereItsOwnIsTaken(t *testing.T) {
	noGoroutinesLeft(t)
	first := embedded(t, 0)
	var port int
	if _, err := fmt.Sscanf(first.URL(), "nats://127.0.0.1:%d", &port); err != nil {
		t.Fatalf("%s: %v", first.URL(), err)
	}
	second, err := StartEmbedded(EmbeddedOptions{Port: port, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Shutdown()
	if second.URL() == first.URL() {
		t.Errorf("both at %s", first.URL())
	}
	c := connect(t, NATSOptions{URL: second.URL()})
	until(t, "the connection", c.Connected)
}
