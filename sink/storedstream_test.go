package sink

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestAStreamThatIsMissingIsSaidInOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		server func(t *testing.T) *serverProcess
		stream StoredStream
		there  *jetstream.StreamConfig
		says   string
	}{
		"no JetStream": {func(t *testing.T) *serverProcess { return newServer(t, "") }, StoredStream{Name: "tracker", Manage: true}, nil, "start it with -js"},
		"not ours to make": {func(t *testing.T) *serverProcess { return jetStreamServer(t, "") }, StoredStream{Name: "tracker"}, nil,
			"no JetStream stream takes tracker.*.object.* tracker.*.frame tracker.*.event: create one that does, or set nats.store.manage"},
		"somebody else's": {func(t *testing.T) *serverProcess { return jetStreamServer(t, "") }, StoredStream{Name: "tracker", Manage: true},
			&jetstream.StreamConfig{Name: "tracker", Subjects: []string{"other.>"}}, "is there and does not take"},
		"larger than the server's storage": {func(t *testing.T) *serverProcess {
			return newServer(t, fmt.Sprintf("jetstream {store_dir: %q, max_file: 10MB}", t.TempDir()))
		}, StoredStream{Name: "tracker", Manage: true, MaxBytes: 1 << 30}, nil, "lower nats.store.max_bytes"},
		"one that takes too little": {func(t *testing.T) *serverProcess { return jetStreamServer(t, "") }, StoredStream{Name: "tracker"},
			&jetstream.StreamConfig{Name: "few", Subjects: []string{"tracker.*.object.9", "tracker.*.frame", "tracker.*.event"}}, "no JetStream stream takes tracker.cam.object.1"},
	} {
		t.Run(name, func(t *testing.T) {
			server := c.server(t)
			server.start()
			var log logged
			connection := connect(t, NATSOptions{URL: "nats://" + server.address, Log: slog.New(slog.NewTextHandler(&log, nil))})
			js, err := jetstream.New(connection.Client())
			if err != nil {
				t.Fatal(err)
			}
			if c.there != nil {
				if _, err := js.CreateStream(t.Context(), *c.there); err != nil {
					t.Fatal(err)
				}
			}
			s := store(t, connection, StoreOptions{Folder: t.TempDir(), Stream: c.stream})
			n := publisher(t, connection, StreamOptions{Store: s.Store})
			write(t, n, Item{Result: result(0, small())})
			until(t, "the complaint", func() bool { return s.Ready() != nil && strings.Contains(s.Ready().Error(), c.says) })
			until(t, "the complaint in the log", func() bool { return strings.Contains(log.String(), "JetStream takes nothing") })
			if name == "no JetStream" {
				return
			}
			// The operator mends it, and what waited goes out.
			mended := jetstream.StreamConfig{Name: "mended", Subjects: storedSubjects("tracker")}
			if c.there != nil {
				if err := js.DeleteStream(t.Context(), c.there.Name); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := js.CreateStream(t.Context(), mended); err != nil && !c.stream.Manage {
				t.Fatal(err)
			}
			until(t, "what waited to be stored", func() bool { return s.Stats().Waiting == 0 })
			if n := strings.Count(log.String(), c.says); n != 1 {
				t.Errorf("it is said %d times: %s", n, log.String())
			}
		})
	}
}

func TestAnEmbeddedServerStores(t *testing.T) {
	e, err := StartEmbedded(EmbeddedOptions{Port: -1, StoreFolder: t.TempDir(), Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Shutdown)
	c := connect(t, NATSOptions{URL: e.URL()})
	s := store(t, c, StoreOptions{Folder: t.TempDir()})
	n := publisher(t, c, StreamOptions{Store: s.Store})
	write(t, n, Item{Result: result(0, small())})
	until(t, "it to be stored", func() bool { return s.Stats().Stored == 1 })
	wantFrames(t, storedFrames(t, e.URL()), 0, 1)
}

func TestLettersReadBack(t *testing.T) {
	for _, l := range []letter{{}, {"tracker.a.event", "a/b/event/3", []byte("{}")}, {strings.Repeat("s", 300), strings.Repeat("i", 200), make([]byte, 70000)}} {
		got, err := unpack(l.pack())
		if err != nil || got.subject != l.subject || got.id != l.id || string(got.data) != string(l.data) {
			t.Errorf("%v, %v", got, err)
		}
	}
	for _, bad := range []string{"", "\x05ab", "\x01a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if l, err := unpack([]byte(bad)); err == nil {
			t.Errorf("%q is %v", bad, l)
		}
	}
}
