package stream

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"maskstream/control"
	"maskstream/model/modeltest"
	"maskstream/rle"
)

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
