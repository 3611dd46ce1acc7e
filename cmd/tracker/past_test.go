package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"maskstream/control"
	"maskstream/frames"
	"maskstream/ingest"
	"maskstream/internal/stream"
	"maskstream/propagate"
	"maskstream/rle"
	"maskstream/sink"
	"maskstream/tensor"
)

// heldScene is the test scene, a picture at a time: one for each receive of next.
type heldScene struct {
	scene *ingest.TestScene
	next  chan struct{}
}

func newHeldScene(tb testing.TB) *heldScene {
	tb.Helper()
	scene, err := ingest.ParseTestScene("testscene:?size=320x180&fps=12&pace=0")
	if err != nil {
		tb.Fatal(err)
	}
	return &heldScene{scene, make(chan struct{})}
}

func (s *heldScene) picture(i int) *frames.Picture {
	rgb := make([]byte, 3*s.scene.Width*s.scene.Height)
	s.scene.Render(i, rgb)
	p := &frames.Picture{Width: s.scene.Width, Height: s.scene.Height, Format: frames.RGB24, FullRange: true, Planes: [3][]byte{rgb}, Strides: [3]int{3 * s.scene.Width}}
	p.Meta = frames.Meta{Frame: i, PTS: time.Duration(i) * time.Second / 12, Received: time.Now()}
	return p.Own(nil)
}

// Run implements stream.Source.
func (s *heldScene) Run(ctx context.Context, emit func(*frames.Picture) error) error {
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, ok := <-s.next:
			if !ok {
				return nil
			}
		}
		p := s.picture(i)
		err := emit(p)
		p.Release()
		if err != nil {
			return err
		}
	}
}

// box is around an object of the scene on a frame.
func (s *heldScene) box(object, frame int) *[4]float64 {
	b := s.scene.Box(frame, object)
	return &b
}

// taken is an Out that keeps results and events.
type taken struct {
	mu     sync.Mutex
	frames []*rle.Frame
	done   int // reverse passes
}

func (t *taken) Publish(_ context.Context, item sink.Item) error {
	defer item.Release()
	t.mu.Lock()
	defer t.mu.Unlock()
	if item.Result != nil {
		t.frames = append(t.frames, item.Result)
	}
	if item.Event != nil && item.Event.Type == rle.ReverseDone {
		t.done++
	}
	return nil
}

func (t *taken) count(which func(*rle.Frame) bool) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.frames {
		if which(f) {
			n++
		}
	}
	return n
}

func (t *taken) passes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.done
}

func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("no %s within a minute", what)
		}
	}
}

func forward(f *rle.Frame) bool  { return f.Direction == rle.Forward && !f.Past }
func caughtUp(f *rle.Frame) bool { return f.Direction == rle.Forward && f.Past }

// nanoStream runs a stream of the built-in model over the scene until the test ends.
func nanoStream(tb testing.TB, pools homes, source stream.Source, out stream.Out, change func(*stream.Config)) *stream.Stream {
	tb.Helper()
	network, err := openModel("nano", "", 1, pools.network)
	if err != nil {
		tb.Fatal(err)
	}
	config := stream.Config{
		Name: "gate", Run: "0badcafe", Source: source, Out: out, Network: network,
		Converter: frames.NewConverter(network.Config().ImageSize, pools.video),
		Tracking:  propagate.Options{FillHoleArea: 8, CorrectAsConditioning: true, State: pools.state, Overflow: pools.overflow()},
		History:   300, HistoryPool: pools.video, Pools: pools.all(), LostAfter: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&config)
	}
	s := stream.New(config)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		<-ended
		if err := network.Close(); err != nil {
			tb.Error(err)
		}
		tensor.NoLeaks(tb, pools.all()...)
	})
	return s
}

// TestT14OffloadChangesNoMask goes through a live stream's whole repertoire, on the built-in model, with frames and memories at home in
// either pool: every message has to be the same.
func TestT14OffloadChangesNoMask(t *testing.T) {
	var want []string
	for _, offload := range []struct{ video, state bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		pools := homesFor(t, offload.video, offload.state)
		scene, out := newHeldScene(t), &taken{}
		s := nanoStream(t, pools, scene, out, nil)
		feed := func(n int) {
			for range n {
				before := out.count(forward)
				scene.next <- struct{}{}
				eventually(t, "frame", func() bool { return out.count(forward) > before })
			}
		}
		prompt := func(object, frame int) {
			if _, err := s.Prompt(t.Context(), control.PromptRequest{Object: &object, Frame: control.FrameRef(frame), Box: scene.box(object, frame), ClearOldPoints: true}); err != nil {
				t.Fatal(err)
			}
		}
		feed(4)
		prompt(1, 3)
		feed(5)
		prompt(3, 5) // in the past: 6, 7 and 8 follow
		eventually(t, "catching up", func() bool { return out.count(caughtUp) == 3 })
		feed(2)
		prompt(1, 7) // a correction: 8, 9 and 10 follow
		eventually(t, "catching up", func() bool { return out.count(caughtUp) == 6 })
		if err := s.Reverse(t.Context(), control.ReverseRequest{Frames: 8}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "reverse pass", func() bool { return out.passes() == 1 })
		feed(3)

		var got []string
		tracked := 0
		for _, f := range out.frames {
			f.Received = time.Time{}
			for _, o := range f.Objects {
				if o.State == rle.Tracked {
					tracked++
				}
			}
			text, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(text))
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("offload %+v: the messages differ", offload)
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("message %d\nis  %s\nnot %s", i, got[i], want[i])
				}
			}
		}
		if tracked < 40 { // else equal masks say little
			t.Errorf("objects are seen %d times in %d messages", tracked, len(got))
		}
		moved := map[string]int64{}
		for _, p := range s.Status().Counters.Pools {
			moved[p.Name] = p.MovedIn
		}
		size := int64(256 * 256 * 3 * 4)
		switch {
		case offload.video && moved["network"] < 20*size: // frames come home to be encoded
			t.Errorf("offload %+v: moved %v, and each frame has %d bytes", offload, moved, size)
		case offload.state && (moved["host"] == 0 || moved["network"] == 0): // memories go and come back
			t.Errorf("offload %+v: moved %v", offload, moved)
		case !offload.video && !offload.state && moved["network"] != 0:
			t.Errorf("without offloading %v moved", moved)
		}
		t.Logf("offload %+v moved %v", offload, moved)
	}
}

// homesFor are pools of the default size, which is ample here.
func homesFor(tb testing.TB, offloadVideo, offloadState bool) homes {
	tb.Helper()
	pools, err := newHomes(offloadVideo, offloadState, poolSizes{})
	if err != nil {
		tb.Fatal(err)
	}
	return pools
}
