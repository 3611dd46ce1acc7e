package stream

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"maskstream/frames"
	"maskstream/model/modeltest"
	"maskstream/propagate"
	"maskstream/rle"
	"maskstream/sink"
	"maskstream/tensor"
)

const (
	side          = 128 // of the fake model's square
	width, height = 320, 180
)

// dots is a source of pictures with one bright dot that moves to the right; gone says on which frames it is away.
type dots struct {
	count int
	gone  func(int) bool
	below bool          // a second dot moves along below the first
	epoch int           // where set, so many frames make an epoch
	began string        // why they do
	hold  chan struct{} // where set, one receive is needed before every frame
}

func (d dots) Run(ctx context.Context, emit func(*frames.Picture) error) error {
	for i := range d.count {
		if d.hold != nil {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-d.hold:
			}
		}
		dot := []modeltest.Dot{{X: 60 + 2*float64(i%100), Y: 80, R: 14}}
		if d.gone != nil && d.gone(i) {
			dot = nil
		}
		if d.below {
			dot = append(dot, modeltest.Dot{X: 60 + 2*float64(i%100), Y: 140, R: 14})
		}
		picture := modeltest.Scene{Size: side, Width: width, Height: height}.Picture(i, dot...)
		picture.Meta.PTS = time.Duration(i) * 40 * time.Millisecond
		picture.Meta.Received = time.Now()
		if d.epoch > 0 {
			picture.Meta.Epoch, picture.Meta.Frame, picture.Meta.Began = i/d.epoch, i%d.epoch, d.began
		}
		err := emit(picture)
		picture.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// gather is an Out that keeps everything.
type gather struct {
	mu      sync.Mutex
	results []*rle.Frame
	events  []*rle.Event
}

func (g *gather) Publish(_ context.Context, item sink.Item) error {
	defer item.Release()
	g.mu.Lock()
	defer g.mu.Unlock()
	if item.Result != nil {
		g.results = append(g.results, item.Result)
	}
	if item.Event != nil {
		g.events = append(g.events, item.Event)
	}
	return nil
}

// shut is an Out that takes nothing until it is opened; came is how often it was asked to.
type shut struct {
	Out
	open chan struct{}
	came atomic.Int32
}

func (s *shut) Publish(ctx context.Context, item sink.Item) error {
	if item.Status == nil {
		s.came.Add(1)
	}
	<-s.open
	return s.Out.Publish(ctx, item)
}

func (g *gather) kinds() (kinds []rle.EventType) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.events {
		kinds = append(kinds, e.Type)
	}
	return kinds
}

func (g *gather) frames() []*rle.Frame {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.results)
}

// start runs a stream; the test fails if it ends with an error or leaks a tensor.
func start(t *testing.T, source Source, out *gather, change func(*Config)) *Stream {
	t.Helper()
	return startAs(t, source, out, change, func(*Stream) {})
}

// startAs is start with a last hand at the stream before it runs.
func startAs(t *testing.T, source Source, out *gather, change func(*Config), finish func(*Stream)) *Stream {
	t.Helper()
	pool := tensor.NewPool("test", tensor.Host(), 0)
	network := modeltest.New(pool, side)
	config := Config{
		Name: "gate", Run: "0123abcd", Source: source, Out: out, Network: network, Converter: frames.NewConverter(side, pool),
		Tracking: propagate.Options{CorrectAsConditioning: true}, History: 10, LostAfter: 200 * time.Millisecond,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if change != nil {
		change(&config)
	}
	s := New(config)
	finish(s)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the stream ended with %v", err)
			}
			cancel()
		case <-time.After(100 * time.Millisecond): // it waits for more
			cancel()
			if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("the stream ended with %v", err)
			}
		}
		if err := network.Close(); err != nil {
			t.Error(err)
		}
		tensor.NoLeaks(t, pool)
	})
	return s
}

func firstBox(id int) []Prompt {
	return []Prompt{{Object: &id, Prompt: propagate.Prompt{Box: &[4]float32{46, 66, 74, 94}}}}
}

func wait(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !reached(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within 20 s", what)
		}
	}
}
