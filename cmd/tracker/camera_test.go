package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"maskstream/configs"
	"maskstream/sink"
	"maskstream/sink/rtc"
)

// TestARecordingOverHTTPIsHeldBackForJetStream: that it is one only shows once it is open.
func TestARecordingOverHTTPIsHeldBackForJetStream(t *testing.T) {
	const pictures = 120
	clip := filepath.Join(t.TempDir(), "clip.mp4")
	scene := fmt.Sprintf("testscene:?size=64x48&pace=0&frames=%d", pictures)
	if _, stderr, status := call(t, "", "track", scene, "--point", "32,24", "--overlay", clip, "--out", "/dev/null"); status != exitDone {
		t.Fatal(stderr)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, clip) }))
	defer web.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()

	log := slog.New(slog.DiscardHandler)
	connection, err := sink.Connect(sink.NATSOptions{URL: fmt.Sprintf("nats://127.0.0.1:%d", port), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(t.Context())
	store, err := sink.OpenStore(sink.StoreOptions{
		Connection: connection, Prefix: "tracker", Folder: t.TempDir(), Bytes: 32 << 10, Log: log, // a quarter is less than what the clip gives
		Stream: sink.StoredStream{Name: "tracker", Manage: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	go store.Run(t.Context())
	viewers, err := rtc.NewServer(rtc.Options{UDP: "127.0.0.1:0", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer viewers.Close()

	c := configs.DefaultStream()
	c.Name, c.URL = "cam", configs.URL(web.URL+"/clip.mp4")
	c.Prompts = []configs.Prompt{{Object: 1, Points: [][2]float64{{32, 24}}, Labels: []int{1}}}
	n := configs.Default().NATS
	n.Frames = true
	source, err := sourceOptions(c)
	if err != nil {
		t.Fatal(err)
	}
	cam, err := newCamera(c, 1, source, wiring{nats: n, bus: &bus{connection: connection, store: store}, viewers: viewers, models: newModels(), log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer cam.close()
	ended := make(chan error, 1)
	go func() { ended <- cam.run(t.Context()) }()
	for store.Stats().Waiting < 4 { // the server stays away until there is something that waits for it
		time.Sleep(10 * time.Millisecond)
	}
	select {
	case err := <-ended:
		t.Fatalf("the recording ended without a server, %v: %+v", err, store.Stats())
	case <-time.After(2 * time.Second): // it would have ended, with what it had lost
	}
	server, err := sink.StartEmbedded(sink.EmbeddedOptions{Port: port, StoreFolder: t.TempDir(), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for store.Stats().Waiting > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	if s := store.Stats(); s.Dropped+s.Failed != 0 {
		t.Errorf("%+v", s)
	}
	if got := storedMasks(t, server.URL()); got < pictures { // and the answer to the prompt
		t.Errorf("%d frames are stored of %d", got, pictures)
	}
}

// storedMasks is how many messages of frames JetStream has.
func storedMasks(t *testing.T, url string) int {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "tracker")
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter("tracker.cam.frame"))
	if err != nil {
		t.Fatal(err)
	}
	return int(info.State.Subjects["tracker.cam.frame"])
}
