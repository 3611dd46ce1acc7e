package stream

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"maskstream/control"
	"maskstream/rle"
	"maskstream/tensor"
)

// at is a click on the dot as it is on frame i.
func at(object *int, i int) control.PromptRequest {
	return control.PromptRequest{Object: object, Frame: control.FrameRef(i), Points: [][2]float64{{60 + 2*float64(i%100), 80}}, Labels: []int{1}, ClearOldPoints: true}
}

func to[T any](v T) *T { return &v }

// feed lets n frames through and waits until they are published.
func feed(t *testing.T, out *gather, hold chan<- struct{}, n int) {
	t.Helper()
	for range n {
		before := len(out.live())
		hold <- struct{}{}
		wait(t, "frame", func() bool { return len(out.live()) > before })
	}
}

// live is the results of live frames, past those of frames that had gone by.
func (g *gather) live() []*rle.Frame {
	return slices.DeleteFunc(g.frames(), func(f *rle.Frame) bool { return f.Past || f.Direction != rle.Forward })
}

func (g *gather) past(d rle.Direction) []*rle.Frame {
	return slices.DeleteFunc(g.frames(), func(f *rle.Frame) bool { return !f.Past || f.Direction != d })
}

func (g *gather) event(kind rle.EventType) *rle.Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range slices.Backward(g.events) {
		if e.Type == kind {
			return e
		}
	}
	return nil
}

// follows says whether an object of a frame lies on the dot, the lower one where below.
func follows(f *rle.Frame, object int, below bool) bool {
	x, y := 60+2*(f.Frame%100), 80
	if below {
		y = 140
	}
	return slices.ContainsFunc(f.Objects, func(o rle.Object) bool {
		b := o.BBox
		return o.ID == object && b[0] < x && x < b[0]+b[2] && b[1] < y && y < b[1]+b[3]
	})
}

func numbers(all []*rle.Frame) []int {
	n := make([]int, len(all))
	for i, f := range all {
		n[i] = f.Frame
	}
	return n
}

func span(from, to int) []int {
	step, n := 1, []int{}
	if to < from {
		step = -1
	}
	for i := from; i != to+step; i += step {
		n = append(n, i)
	}
	return n
}

func TestFramesThatCannotBePromptedAreNamed(t *testing.T) {
	out, hold := &gather{}, make(chan struct{})
	s := start(t, dots{count: 60, epoch: 25, hold: hold}, out, func(c *Config) { c.History = 10 })
	feed(t, out, hold, 20)
	for name, c := range map[string]struct {
		request control.PromptRequest
		says    string
	}{
		"gone by too long ago": {at(nil, 3), "nearest are 10"},
		"not there yet":        {at(nil, 22), "frame 22 has not come: the newest of epoch 0 is 19"},
	} {
		if _, err := s.Prompt(t.Context(), c.request); !errors.Is(err, control.ErrNotFound) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	feed(t, out, hold, 10) // five of the next epoch
	old := at(nil, 3)
	old.Epoch = to(0)
	if _, err := s.Prompt(t.Context(), old); !errors.Is(err, control.ErrNotFound) || !strings.Contains(err.Error(), "the stream is in epoch 1") {
		t.Errorf("a frame of the epoch before: %v", err)
	}
	if _, err := s.Prompt(t.Context(), at(nil, 22)); !errors.Is(err, control.ErrNotFound) || !strings.Contains(err.Error(), "frames of earlier epochs") {
		t.Errorf("its number: %v", err)
	}
	request := at(nil, 3) // picture 28, at the dot's place there
	request.Points, request.Epoch = [][2]float64{{116, 80}}, to(1)
	if answer, err := s.Prompt(t.Context(), request); err != nil || answer.Epoch != 1 || answer.Frame != 3 {
		t.Errorf("a frame of this epoch: %+v, %v", answer, err)
	}

	bare := start(t, dots{count: 2}, &gather{}, func(c *Config) { c.History = 0 })
	wait(t, "end", func() bool { return bare.Status().Frame == 1 })
	if status := bare.Status(); status.Counters.Past.Frames != 0 {
		t.Errorf("a stream without history keeps %d frames", status.Counters.Past.Frames)
	}
}

func TestFullHistoryPoolKeepsTheNewestFrames(t *testing.T) {
	out := &gather{}
	pool := tensor.NewPool("small", tensor.Host(), 5*3*side*side)
	hold := make(chan struct{})
	s := start(t, dots{count: 31, hold: hold}, out, func(c *Config) { c.History, c.HistoryPool, c.Prompts = 20, pool, firstBox(1) })
	feed(t, out, hold, 30)
	if past := s.Status().Counters.Past; past.NotKept != 0 || past.Frames != 5 {
		t.Errorf("counted %+v", past)
	}
	if _, err := s.Prompt(t.Context(), at(nil, 3)); !errors.Is(err, control.ErrNotFound) || !strings.Contains(err.Error(), "nearest are 25") {
		t.Errorf("a frame that has made room: %v", err)
	}
	hold <- struct{}{}
	wait(t, "end", func() bool { return s.Status().State == control.Ended })
	for _, f := range out.live() {
		if !follows(f, 1, false) {
			t.Errorf("frame %d: %+v", f.Frame, f.Objects)
		}
	}
	tensor.NoLeaks(t, pool)
}

func TestFramesForWhichTheHistoryHasNoRoomAtAllAreCounted(t *testing.T) {
	out := &gather{}
	pool := tensor.NewPool("tiny", tensor.Host(), 3*side*side/2)
	s := start(t, dots{count: 30}, out, func(c *Config) { c.History, c.HistoryPool, c.Prompts = 20, pool, firstBox(1) })
	wait(t, "end", func() bool { return s.Status().State == control.Ended })
	if past := s.Status().Counters.Past; past.NotKept != 30 {
		t.Errorf("counted %+v", past)
	}
	for _, f := range out.live() {
		if !follows(f, 1, false) {
			t.Errorf("frame %d: %+v", f.Frame, f.Objects)
		}
	}
}

func TestFullHistoryPoolLosesNothingWhileAReversePassHoldsItsFrames(t *testing.T) {
	out, hold := &gather{}, make(chan struct{})
	pool := tensor.NewPool("small", tensor.Host(), 5*3*side*side)
	s := start(t, dots{count: 31, hold: hold}, out, func(c *Config) { c.History, c.HistoryPool, c.Prompts = 20, pool, firstBox(1) })
	feed(t, out, hold, 10)
	err := s.tell(t.Context(), func(_ context.Context, t *track) error {
		if err := t.startReverse(nil, 0); err != nil {
			return err
		}
		frame := t.latest.Retain()
		defer frame.Release()
		frame.Index = t.index // as the next
		t.keep(frame)
		frame.Index--
		return nil
	})
	if past := s.Status().Counters.Past; err != nil || past.Frames != 5 || past.NotKept != 1 {
		t.Errorf("kept %+v, %v", past, err)
	}
}
