package stream

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"maskstream/control"
	"maskstream/model/modeltest"
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

func TestPromptOnAFrameThatHasGoneByCatchesUp(t *testing.T) {
	out, hold := &gather{}, make(chan struct{})
	s := start(t, dots{count: 40, hold: hold}, out, func(c *Config) { c.History = 30 })
	feed(t, out, hold, 20)
	answer, err := s.Prompt(t.Context(), at(nil, 5))
	if err != nil {
		t.Fatal(err)
	}
	if answer.Frame != 5 || answer.Direction != rle.Prompted || !answer.Past || answer.PTS != int64(5*40*time.Millisecond) || !follows(answer, 1, false) {
		t.Fatalf("answer %+v", answer)
	}
	wait(t, "catching up", func() bool { return len(out.past(rle.Forward)) == 14 })
	caught := out.past(rle.Forward)
	if got := numbers(caught); !slices.Equal(got, span(6, 19)) {
		t.Errorf("caught up over %v", got)
	}
	for _, f := range caught {
		if len(f.Objects) != 1 || !follows(f, 1, false) || f.PTS != int64(f.Frame)*int64(40*time.Millisecond) {
			t.Errorf("frame %d: %+v", f.Frame, f.Objects)
		}
	}
	if status := s.Status(); len(status.Objects) != 1 || status.Frame != 19 || status.Counters.Past.CaughtUp != 14 || status.Counters.Past.Frames != 20 {
		t.Errorf("status %+v", status)
	}
	feed(t, out, hold, 2)
	for i, f := range out.live() {
		if there := len(f.Objects) == 1; there != (i >= 20) || there && !follows(f, 1, false) {
			t.Errorf("live frame %d: %+v", i, f.Objects)
		}
	}
	if got := out.kinds(); !slices.Equal(got, []rle.EventType{rle.ObjectAdded}) {
		t.Errorf("events %v", got)
	}
	for i, f := range out.frames() {
		if f.Seq != int64(i) {
			t.Fatalf("message %d has seq %d", i, f.Seq)
		}
	}
}

func TestCatchingUpWhereFramesLeaveNoTime(t *testing.T) {
	out := &gather{}
	// A recording waits for the tracker, so there is always a frame to track.
	s := start(t, dots{count: 90}, out, func(c *Config) {
		c.History, c.Prompts = 1000, firstBox(3)
		c.Network.(*modeltest.Network).Fail = func(verb string) error {
			if verb == "EncodeImage" {
				time.Sleep(8 * time.Millisecond)
			}
			return nil
		}
	})
	wait(t, "some frames", func() bool { return len(out.live()) > 40 })
	answer, err := s.Prompt(t.Context(), at(nil, 10))
	if err != nil {
		t.Fatal(err)
	}
	// The other object's mask on that frame is part of the answer.
	if len(answer.Objects) != 2 || answer.Objects[0].ID != 3 || answer.Objects[1].ID != 4 {
		t.Errorf("answer %+v", answer.Objects)
	}
	wait(t, "end", func() bool { return s.Status().State == control.Ended })
	if got := numbers(out.live()); !slices.Equal(got, span(0, 89)) {
		t.Errorf("live frames %v", got)
	}
	var seen []int // frames of the new object, in the order of their messages
	for _, f := range out.frames() {
		if follows(f, 4, false) {
			seen = append(seen, f.Frame)
		}
	}
	if !slices.Equal(seen, span(10, 89)) {
		t.Errorf("the object is seen on %v", seen)
	}
	// Two steps in the past between two frames, while the object is behind: bounded, and enough to catch up.
	run, longest := 0, 0
	for _, f := range out.frames() {
		if run++; !f.Past || f.Direction == rle.Prompted {
			run = 0
		}
		longest = max(longest, run)
		if f.Frame == 89 && !f.Past {
			break // no frame waits any more
		}
	}
	if longest != 2 {
		t.Errorf("%d results of the past in a row while frames waited", longest)
	}
}

func TestCorrectionInThePastPutsRightWhatFollowed(t *testing.T) {
	out, hold := &gather{}, make(chan struct{})
	s := start(t, dots{count: 60, below: true, hold: hold}, out, func(c *Config) { c.History, c.Prompts = 30, firstBox(1) })
	feed(t, out, hold, 20)
	correction := at(to(1), 8)
	correction.Points = [][2]float64{{76, 140}} // it is the lower one
	answer, err := s.Prompt(t.Context(), correction)
	if err != nil {
		t.Fatal(err)
	}
	if !follows(answer, 1, true) {
		t.Errorf("answer %+v", answer.Objects)
	}
	wait(t, "catching up", func() bool { return len(out.past(rle.Forward)) == 11 })
	feed(t, out, hold, 5)
	for _, f := range out.past(rle.Forward) {
		if !follows(f, 1, true) {
			t.Errorf("frame %d: %+v", f.Frame, f.Objects)
		}
	}
	for _, f := range out.live() {
		if corrected := f.Frame >= 20; !follows(f, 1, corrected) {
			t.Errorf("live frame %d: %+v", f.Frame, f.Objects)
		}
	}
	if got := out.kinds(); !slices.Equal(got, []rle.EventType{rle.ObjectAdded}) {
		t.Errorf("events %v", got)
	}
}

func TestPromptsWhileCatchingUp(t *testing.T) {
	out, hold := &gather{}, make(chan struct{})
	network := make(chan struct{}, 1000) // one receive before every step, once it is in use
	var slow atomic.Bool
	s := start(t, dots{count: 60, hold: hold}, out, func(c *Config) {
		c.History = 40
		c.Network.(*modeltest.Network).Fail = func(verb string) error {
			if slow.Load() && verb == "AttendMemory" { // prompts on frames that were not tracked attend to nothing
				<-network
			}
			return nil
		}
	})
	feed(t, out, hold, 30)
	slow.Store(true)
	if _, err := s.Prompt(t.Context(), at(nil, 20)); err != nil {
		t.Fatal(err)
	}
	// Requests are taken between steps, so steps have to go on until they are answered.
	ask := func(request control.PromptRequest) {
		t.Helper()
		asked := make(chan error, 1)
		go func() {
			_, err := s.Prompt(context.Background(), request)
			asked <- err
		}()
		for {
			select {
			case err := <-asked:
				if err != nil {
					t.Error(err)
				}
				return
			case <-time.After(2 * time.Millisecond):
				network <- struct{}{}
			}
		}
	}
	ask(at(to(1), 10)) // further back: the object is followed from there once more
	ask(at(to(1), 29)) // where it is now: it is live at once, and still catches up
	hold <- struct{}{}
	for range 100 {
		network <- struct{}{}
	}
	wait(t, "live frame", func() bool { return len(out.live()) == 31 })
	if f := out.live()[30]; !follows(f, 1, false) {
		t.Errorf("frame 30: %+v", f.Objects)
	}
	seen := map[int]bool{}
	wait(t, "catching up", func() bool {
		for _, f := range out.frames() {
			if follows(f, 1, false) {
				seen[f.Frame] = true
			}
		}
		return len(seen) == 21 // 10…30
	})
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

func TestFullHistoryPoolLeavesFramesOutAndIsCounted(t *testing.T) {
	out := &gather{}
	pool := tensor.NewPool("small", tensor.Host(), 5*3*side*side)
	s := start(t, dots{count: 30}, out, func(c *Config) { c.History, c.HistoryPool, c.Prompts = 20, pool, firstBox(1) })
	wait(t, "end", func() bool { return s.Status().State == control.Ended })
	if past := s.Status().Counters.Past; past.NotKept != 25 {
		t.Errorf("counted %+v", past)
	}
	for _, f := range out.live() {
		if !follows(f, 1, false) {
			t.Errorf("frame %d: %+v", f.Frame, f.Objects)
		}
	}
	tensor.NoLeaks(t, pool)
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

func TestObjectRemovedWhileItCatchesUpIsGone(t *testing.T) {
	out, hold := &gather{}, make(chan struct{})
	var slow atomic.Bool
	s := start(t, dots{count: 60, hold: hold}, out, func(c *Config) {
		c.History = 40
		c.Network.(*modeltest.Network).Fail = func(verb string) error {
			if slow.Load() && verb == "EncodeImage" {
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		}
	})
	feed(t, out, hold, 30)
	slow.Store(true)
	if _, err := s.Prompt(t.Context(), at(nil, 2)); err != nil {
		t.Fatal(err)
	}
	wait(t, "a step", func() bool { return len(out.past(rle.Forward)) > 0 })
	if status := s.Status(); len(status.Objects) != 1 {
		t.Errorf("while it catches up: %+v", status.Objects)
	}
	if err := s.Remove(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	wait(t, "the event", func() bool { return out.event(rle.ObjectRemoved) != nil })
	if status := s.Status(); len(status.Objects) != 0 {
		t.Errorf("after it was removed: %+v", status.Objects)
	}
	steps := len(out.past(rle.Forward))
	feed(t, out, hold, 2)
	if after := len(out.past(rle.Forward)); after != steps || steps >= 27 {
		t.Errorf("%d steps before it was removed, %d after", steps, after)
	}
}
