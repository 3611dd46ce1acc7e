package stream

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"maskstream/control"
	"maskstream/model/modeltest"
	"maskstream/rle"
	"maskstream/tensor"
)

func TestReversePassFillsThePastWhileTheLiveTrackGoesOn(t *testing.T) {
	out, hold := &gather{}, make(chan struct{})
	s := start(t, dots{count: 100, below: true, hold: hold}, out, func(c *Config) { c.History = 30 })
	if err := s.Reverse(t.Context(), control.ReverseRequest{}); !errors.Is(err, control.ErrUnavailable) {
		t.Errorf("before the first picture: %v", err)
	}
	feed(t, out, hold, 40)
	var refused *control.Error
	if err := s.Reverse(t.Context(), control.ReverseRequest{}); !errors.As(err, &refused) || refused.Code != control.Conflict {
		t.Errorf("without objects: %v", err)
	}
	for id, y := range map[int]float64{1: 80, 2: 140} {
		request := at(to(id), 39)
		request.Points[0][1] = y
		if _, err := s.Prompt(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Reverse(t.Context(), control.ReverseRequest{Objects: []int{1, 9}}); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("an unknown object: %v", err)
	}
	if err := s.Reverse(t.Context(), control.ReverseRequest{Objects: []int{2}}); err != nil {
		t.Fatal(err)
	}
	feed(t, out, hold, 20)
	wait(t, "its end", func() bool { return out.event(rle.ReverseDone) != nil })
	back := out.past(rle.Reverse)
	if got := numbers(back); !slices.Equal(got, span(39, 10)) {
		t.Errorf("went back over %v", got)
	}
	for _, f := range back {
		if len(f.Objects) != 1 || !follows(f, 2, true) {
			t.Errorf("frame %d: %+v", f.Frame, f.Objects)
		}
	}
	if e := out.event(rle.ReverseDone); e.Frames == nil || *e.Frames != 30 || e.Reason != "" {
		t.Errorf("event %+v", e)
	}
	for _, f := range out.live()[40:] {
		if !follows(f, 1, false) || !follows(f, 2, true) {
			t.Errorf("live frame %d: %+v", f.Frame, f.Objects)
		}
	}
	if err := s.Reverse(t.Context(), control.ReverseRequest{Frames: 4}); err != nil { // all objects, after 20 more frames
		t.Fatal(err)
	}
	wait(t, "its end", func() bool { return len(out.past(rle.Reverse)) == 34 })
	last := out.past(rle.Reverse)[30:]
	if got := numbers(last); !slices.Equal(got, span(59, 56)) || len(last[0].Objects) != 2 {
		t.Errorf("went back over %v with %+v", got, last[0].Objects)
	}
	// The newest frame is shown as the live track has it.
	newest := out.live()[59]
	for i, o := range last[0].Objects {
		if o.Segmentation != newest.Objects[i].Segmentation {
			t.Errorf("object %d differs on the newest frame", o.ID)
		}
	}
	if s.Status().Counters.Past.Reversed != 34 {
		t.Errorf("counted %+v", s.Status().Counters.Past)
	}
}

// pausing is a stream of 30 frames with one object whose passes stand still until they are let go.
func pausing(t *testing.T) (s *Stream, out *gather, hold chan struct{}, network *modeltest.Network, release func()) {
	out, hold = &gather{}, make(chan struct{})
	gate, paused := make(chan struct{}), &atomic.Bool{}
	s = start(t, dots{count: 100, hold: hold}, out, func(c *Config) {
		c.History, c.Prompts = 50, firstBox(1)
		network = c.Network.(*modeltest.Network)
		network.Fail = func(verb string) error {
			if verb == "EncodeImage" && paused.Load() {
				<-gate
			}
			return nil
		}
	})
	feed(t, out, hold, 30)
	paused.Store(true)
	return s, out, hold, network, func() { paused.Store(false); close(gate) }
}

func TestOneReversePassAtATime(t *testing.T) {
	s, out, _, _, release := pausing(t)
	if err := s.Reverse(t.Context(), control.ReverseRequest{}); err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() { second <- s.Reverse(context.Background(), control.ReverseRequest{}) }()
	time.Sleep(20 * time.Millisecond) // it waits for the step under way
	release()
	if err := <-second; !errors.Is(err, control.ErrBusy) {
		t.Errorf("a second pass: %v", err)
	}
	wait(t, "the end", func() bool { return out.event(rle.ReverseDone) != nil })
	if err := s.Reverse(t.Context(), control.ReverseRequest{Frames: 1}); err != nil {
		t.Errorf("after the first: %v", err)
	}
}

func TestPassesEndWithTheirObjects(t *testing.T) {
	for name, remove := range map[string]func(*Stream) error{
		"removed": func(s *Stream) error { return s.Remove(context.Background(), 1) },
		"reset":   func(s *Stream) error { return s.Reset(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			s, out, hold, _, release := pausing(t)
			if _, err := s.Prompt(t.Context(), control.PromptRequest{Object: to(2), Frame: 29, Points: [][2]float64{{118, 80}}, Labels: []int{1}}); err != nil {
				t.Fatal(err)
			}
			if err := s.Reverse(t.Context(), control.ReverseRequest{Objects: []int{1}}); err != nil {
				t.Fatal(err)
			}
			gone := make(chan error, 1)
			go func() { gone <- remove(s) }()
			time.Sleep(20 * time.Millisecond)
			release()
			if err := <-gone; err != nil {
				t.Fatal(err)
			}
			wait(t, "the end", func() bool { return out.event(rle.ReverseDone) != nil })
			e, removed := out.event(rle.ReverseDone), out.event(rle.ObjectRemoved)
			if e.Reason != "its objects were removed" || *e.Frames >= 30 || removed == nil {
				t.Errorf("events %+v, %+v", e, removed)
			}
			feed(t, out, hold, 1)
			for i, f := range out.frames() {
				if f.Direction == rle.Reverse && i >= len(out.frames())-1 {
					t.Errorf("frame %d after the pass has ended", f.Frame)
				}
			}
		})
	}
}

func TestFailingPassEndsAndTheLiveTrackGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		reason string
	}{
		"the network fails": {errors.New("broken at /secret"), "it failed: the log says more"},
		"out of memory":     {tensor.ErrExhausted, "out of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			out, hold := &gather{}, make(chan struct{})
			var broken atomic.Bool
			s := start(t, dots{count: 60, hold: hold}, out, func(c2 *Config) {
				c2.History, c2.Prompts = 50, firstBox(1)
				c2.Network.(*modeltest.Network).Fail = func(verb string) error {
					if verb == "AttendMemory" && broken.Load() {
						return c.err
					}
					return nil
				}
			})
			feed(t, out, hold, 10)
			broken.Store(true)
			if err := s.Reverse(t.Context(), control.ReverseRequest{}); err != nil {
				t.Fatal(err)
			}
			wait(t, "the end", func() bool { return out.event(rle.ReverseDone) != nil })
			if e := out.event(rle.ReverseDone); e.Reason != c.reason {
				t.Errorf("reason %q", e.Reason)
			}
			broken.Store(false)
			if _, err := s.Prompt(t.Context(), at(nil, 4)); err != nil { // on an untracked frame: it attends to nothing
				t.Fatal(err)
			}
			broken.Store(true)
			wait(t, "it to give up", func() bool {
				var idle bool
				if err := s.tell(t.Context(), func(_ context.Context, t *track) error { idle = len(t.behind) == 0; return nil }); err != nil {
					t.Fatal(err)
				}
				return idle
			})
			broken.Store(false)
			feed(t, out, hold, 2)
			for _, f := range out.live()[10:] {
				if !follows(f, 1, false) {
					t.Errorf("live frame %d: %+v", f.Frame, f.Objects)
				}
			}
		})
	}
}

func TestThePastLosesAndFindsNobody(t *testing.T) {
	out, hold := &gather{}, make(chan struct{})
	s := start(t, dots{count: 60, hold: hold, gone: func(i int) bool { return i >= 10 }}, out, func(c *Config) { c.History, c.Prompts = 50, firstBox(1) })
	feed(t, out, hold, 25) // lost after 0.2 s, which are five frames
	if err := s.Reverse(t.Context(), control.ReverseRequest{}); err != nil {
		t.Fatal(err)
	}
	wait(t, "the end", func() bool { return out.event(rle.ReverseDone) != nil })
	feed(t, out, hold, 1)
	back := out.past(rle.Reverse)
	if len(back) != 25 || back[0].Objects[0].State != rle.Occluded || back[24].Objects[0].State != rle.Tracked {
		t.Errorf("went back over %v", numbers(back))
	}
	if last := out.live()[25].Objects[0]; last.State != rle.Lost {
		t.Errorf("the object is %s now", last.State)
	}
	if got := out.kinds(); !slices.Equal(got, []rle.EventType{rle.ObjectAdded, rle.ObjectLost, rle.ReverseDone}) {
		t.Errorf("events %v", got)
	}
}
