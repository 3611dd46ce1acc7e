package stream

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"maskstream/control"
	"maskstream/frames"
	"maskstream/model"
	"maskstream/model/modeltest"
	"maskstream/rle"
	"maskstream/tensor"
)

// costly is a network whose image encoder takes as long as the frame costs, on a clock of its own: frames of the past, which are known
// by their pool, cost otherwise than live ones. No live frame is encoded before the next one waits.
type costly struct {
	*modeltest.Network
	past             *tensor.Pool
	ofPast, ofLive   time.Duration
	emitted, encoded *atomic.Int64

	mu    sync.Mutex
	clock time.Time
	spent []spending
}

// spending is what one frame cost.
type spending struct {
	past bool
	cost time.Duration
}

func (c *costly) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock
}

// EncodeImage implements model.Network.
func (c *costly) EncodeImage(pixels *tensor.Tensor) (*model.Features, error) {
	past := pixels.Pool() == c.past
	cost := c.ofPast
	if !past {
		cost = c.ofLive
		for n := c.encoded.Add(1); c.emitted.Load() <= n; time.Sleep(100 * time.Microsecond) {
		}
	}
	c.mu.Lock()
	c.clock = c.clock.Add(cost)
	c.spent = append(c.spent, spending{past, cost})
	c.mu.Unlock()
	return c.Network.EncodeImage(pixels)
}

// hurried gives dots without end, and counts those that wait for the track.
type hurried struct {
	dots
	emitted *atomic.Int64
}

func (h hurried) Run(ctx context.Context, emit func(*frames.Picture) error) error {
	defer h.emitted.Add(1 << 40) // nobody need wait for more
	return h.dots.Run(ctx, func(p *frames.Picture) error {
		err := emit(p)
		h.emitted.Add(1)
		return err
	})
}

// TestAReversePassTakesAsMuchTimeAsFramesThatLeaveNone counts time by the network's own clock: while frames always wait, frames and
// the pass have half of it each, whatever a step of either costs.
func TestAReversePassTakesAsMuchTimeAsFramesThatLeaveNone(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct{ live, past time.Duration }{
		"a step costs as much as a frame": {30 * ms, 30 * ms},
		"a step costs three frames":       {20 * ms, 60 * ms},
		"a step costs a third of a frame": {60 * ms, 20 * ms},
		"neither is a multiple":           {35 * ms, 48 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			out, emitted := &gather{}, &atomic.Int64{}
			network := &costly{past: tensor.NewPool("history", tensor.Host(), 0), ofLive: c.live, ofPast: c.past, emitted: emitted, encoded: &atomic.Int64{}}
			s := startAs(t, hurried{dots{count: 1 << 20}, emitted}, out, func(config *Config) {
				network.Network = config.Network.(*modeltest.Network)
				config.Network, config.History, config.HistoryPool, config.Prompts = network, 40, network.past, firstBox(1)
			}, func(s *Stream) { s.now = network.now })
			wait(t, "history", func() bool { return s.Status().Counters.Past.Frames == 40 })
			if err := s.Reverse(t.Context(), control.ReverseRequest{}); err != nil {
				t.Fatal(err)
			}
			wait(t, "its end", func() bool { return out.event(rle.ReverseDone) != nil })
			network.mu.Lock()
			defer network.mu.Unlock()
			first, last := -1, 0
			for i, s := range network.spent {
				if s.past && first < 0 {
					first = i
				}
				if s.past {
					last = i
				}
			}
			var live, past time.Duration // since the frame before the first step
			steps := 0
			for _, s := range network.spent[first-1 : last+1] {
				if s.past {
					past += s.cost
					steps++
				} else {
					live += s.cost
				}
				if past > live+c.past || live > past+c.live+c.past {
					t.Fatalf("after %d steps, %v went to the past and %v to live frames", steps, past, live)
				}
			}
			if steps < 38 { // the newest frame is shown as it is, and so is the prompted one where it is kept
				t.Errorf("%d steps", steps)
			}
		})
	}
}

func TestObjectsThatCatchUpTakeTwoStepsAfterEachFrame(t *testing.T) {
	var p pace
	p.frame(30)
	order := ""
	for range 9 {
		due := p.due(true, true)
		if !due {
			order += "f"
			p.frame(30)
			continue
		}
		order += "c"
		p.past(500, due, true)
	}
	if order != "ccfccfccf" {
		t.Errorf("order %q", order)
	}
	if p.past(500, false, true); !p.due(true, false) {
		t.Error("a step in time that frames left was charged")
	}
	if p.idle(); p.due(true, true) || p.due(false, true) {
		t.Error("something is owed where nothing was to be done")
	}
}
