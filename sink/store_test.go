package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"maskstream/internal/spool"
	"maskstream/rle"
)

// jetStreamServer is nats-server with JetStream, whose files outlive it.
func jetStreamServer(t *testing.T, more string) *serverProcess {
	t.Helper()
	return newServer(t, fmt.Sprintf("jetstream {store_dir: %q}\n%s", t.TempDir(), more))
}

// running is a store whose Run goes on until stop.
type running struct {
	*Store
	stop func()
}

func store(t *testing.T, c *Connection, o StoreOptions) *running {
	t.Helper()
	o.Connection, o.Prefix, o.Log = c, "tracker", quiet()
	if o.Bytes == 0 {
		o.Bytes = 16 << 20
	}
	if o.Stream.Name == "" {
		o.Stream = StoredStream{Name: "tracker", Manage: true}
	}
	s, err := OpenStore(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	r := &running{Store: s}
	r.stop = func() {
		if cancel(); r.stop == nil {
			return
		}
		r.stop = nil
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		if r.stop != nil {
			r.stop()
		}
		closing, end := context.WithTimeout(context.Background(), time.Second)
		defer end()
		if err := s.Close(closing); err != nil {
			t.Log(err)
		}
	})
	return r
}

// storedMessages are all that the stream holds, in its order.
func storedMessages(t *testing.T, url, stream string) (all []jetstream.Msg) {
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
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := s.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for range info.State.Msgs {
		m, err := consumer.Next(jetstream.FetchMaxWait(10 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// frames are the numbers of the frames of batches, in the order stored.
func storedFrames(t *testing.T, url string) (numbers []int) {
	t.Helper()
	for _, m := range storedMessages(t, url, "tracker") {
		var b rle.Batch
		if err := json.Unmarshal(m.Data(), &b); err != nil {
			t.Fatal(err)
		}
		for _, mask := range b.Masks {
			numbers = append(numbers, mask.Frame)
		}
	}
	return numbers
}

func wantFrames(t *testing.T, got []int, from, to int) {
	t.Helper()
	if len(got) != to-from {
		t.Fatalf("%d frames, want %d to %d: %v", len(got), from, to, got)
	}
	for i, n := range got {
		if n != from+i {
			t.Fatalf("at %d is frame %d: %v", i, n, got)
		}
	}
}

func TestAnOutageLeavesNeitherGapNorDuplicateInTheStream(t *testing.T) {
	noGoroutinesLeft(t)
	server := jetStreamServer(t, "")
	url := "nats://" + server.address
	c := connect(t, NATSOptions{URL: url})
	s := store(t, c, StoreOptions{Folder: t.TempDir()})
	n := publisher(t, c, StreamOptions{Store: s.Store})
	put := func(from, to int) {
		for i := from; i < to; i++ {
			write(t, n, Item{Result: result(i, small())})
		}
	}
	put(0, 500) // before the server is there
	server.start()
	put(500, 1000)
	until(t, "some to be stored", func() bool { return s.Stats().Stored > 300 })
	server.kill() // with messages on their way
	put(1000, 1500)
	if stats := s.Stats(); stats.Waiting < 500 {
		t.Errorf("in the outage: %+v", stats)
	}
	server.start()
	put(1500, 2000)
	until(t, "everything to be stored", func() bool { return s.Stats().Waiting == 0 })
	wantFrames(t, storedFrames(t, url), 0, 2000)
	if stats := s.Stats(); stats.Stored != 2000 || stats.Again > onTheWay || stats.Dropped+stats.Failed != 0 {
		t.Errorf("%+v", stats)
	}
	if n.Dropped() != 0 || s.Ready() != nil {
		t.Errorf("%d dropped, %v", n.Dropped(), s.Ready())
	}
}

func TestTheNextProcessStoresWhatTheLastOneCouldNot(t *testing.T) {
	server := jetStreamServer(t, "")
	url := "nats://" + server.address
	c := connect(t, NATSOptions{URL: url})
	folder := t.TempDir()
	s := store(t, c, StoreOptions{Folder: folder})
	n := publisher(t, c, StreamOptions{Store: s.Store})
	for i := range 100 {
		write(t, n, Item{Result: result(i, small())})
	}
	if _, err := OpenStore(StoreOptions{Connection: c, Folder: folder, Bytes: 1 << 20, Log: quiet()}); !errors.Is(err, spool.ErrInUse) {
		t.Errorf("two processes with one spool: %v", err)
	}
	s.stop()
	closing, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.Close(closing); err == nil || !strings.Contains(err.Error(), "100 messages wait in "+folder) {
		t.Errorf("closing in an outage says %v", err)
	}
	server.start()
	s = store(t, c, StoreOptions{Folder: folder})
	until(t, "what was left to be stored", func() bool { return s.Stats().Stored == 100 && s.Stats().Waiting == 0 })
	wantFrames(t, storedFrames(t, url), 0, 100)
}

func TestClosingStoresWhatIsLeft(t *testing.T) {
	server := jetStreamServer(t, "")
	server.start()
	url := "nats://" + server.address
	c := connect(t, NATSOptions{URL: url})
	s := store(t, c, StoreOptions{Folder: t.TempDir()})
	until(t, "the connection", c.Connected)
	s.stop()
	n := publisher(t, c, StreamOptions{Store: s.Store})
	for i := range 1000 {
		write(t, n, Item{Result: result(i, small())})
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantFrames(t, storedFrames(t, url), 0, 1000)
}

func TestASourceThatCanWaitIsHeldBackAndALiveOneLosesItsOldest(t *testing.T) {
	server := jetStreamServer(t, "")
	url := "nats://" + server.address
	c := connect(t, NATSOptions{URL: url})
	s := store(t, c, StoreOptions{Folder: t.TempDir(), Bytes: 2 << 20})
	file := publisher(t, c, StreamOptions{Store: s.Store, Hold: true})
	masks := noise(100, 200, 1) // about 10 kB
	const frames = 400
	done := make(chan int)
	go func() {
		defer close(done)
		for i := range frames {
			if err := file.Write(context.Background(), Item{Result: result(i, masks)}); err != nil {
				t.Error(err)
			}
			done <- i
		}
	}()
	last := -1
	for waiting := true; waiting; {
		select {
		case last = <-done:
		case <-time.After(500 * time.Millisecond): // it has been held back
			waiting = false
		}
	}
	if stats := s.Stats(); last >= frames-1 || stats.Dropped != 0 || stats.Bytes > heldBack+64<<10 {
		t.Fatalf("after frame %d: %+v", last, stats)
	}
	server.start()
	for range done { // until all are written
	}
	until(t, "everything to be stored", func() bool { return s.Stats().Waiting == 0 })
	wantFrames(t, storedFrames(t, url), 0, frames)

	server.kill()
	until(t, "the loss to be seen", func() bool { return !c.Connected() })
	live := publisher(t, c, StreamOptions{Store: s.Store})
	for i := frames; i < 2*frames; i++ {
		write(t, live, Item{Result: result(i, masks)})
	}
	stats := s.Stats()
	if stats.Dropped == 0 || stats.Dropped+stats.Waiting != frames || stats.Bytes > 2<<20 {
		t.Errorf("%+v", stats)
	}
	server.start()
	until(t, "the rest to be stored", func() bool { return s.Stats().Waiting == 0 })
	all := storedFrames(t, url)
	wantFrames(t, all[:frames], 0, frames)
	wantFrames(t, all[frames:], frames+int(stats.Dropped), 2*frames)
}

func TestWhatIsTooLargeForTheServerIsSplitWhenItGoesOut(t *testing.T) {
	server := jetStreamServer(t, "max_payload: 64KB")
	url := "nats://" + server.address
	c := connect(t, NATSOptions{URL: url})
	s := store(t, c, StoreOptions{Folder: t.TempDir()})
	n := publisher(t, c, StreamOptions{Store: s.Store, Frames: true})
	large := noise(540, 960, 7)
	write(t, n, Item{Result: result(0, large, small())}, Item{Result: result(1, small())}) // the server is not there: its limit is unknown
	server.start()
	until(t, "everything to be stored", func() bool { return s.Stats().Waiting == 0 })
	var assembler rle.Assembler
	ids, got := map[string]bool{}, 0
	for _, m := range storedMessages(t, url, "tracker") {
		ids[m.Headers().Get("Nats-Msg-Id")] = true
		if !strings.Contains(m.Subject(), ".object.") {
			continue
		}
		var b rle.Batch
		if err := json.Unmarshal(m.Data(), &b); err != nil {
			t.Fatal(err)
		}
		joined, complete, err := assembler.Add(b)
		if err != nil {
			t.Fatal(err)
		}
		if complete && joined.Object == 1 && joined.Masks[0].Frame == 0 {
			mask, err := rle.Parse(540, 960, *joined.Masks[0].Counts)
			if err != nil || !rle.Equal(mask, large) {
				t.Errorf("another mask, %v", err)
			}
		}
		if complete {
			got++
		}
	}
	if got != 3 || !ids["cam/0badcafe/0/0/1/0"] || !ids["cam/0badcafe/0/0/frame"] || c.Stats().Reconnects != 0 {
		t.Errorf("%d masks, ids %v, %+v", got, ids, c.Stats())
	}
}
