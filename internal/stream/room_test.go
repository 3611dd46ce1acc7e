package stream

import (
	"slices"
	"testing"

	"maskstream/control"
	"maskstream/frames"
	"maskstream/rle"
	"maskstream/tensor"
)

// frameBytes is what one frame of the fake model's square takes.
const frameBytes = 3 * side * side * 4

func TestMemoriesMakeRoomForFrames(t *testing.T) {
	shared, host := tensor.NewPool("network", tensor.Host(), 6*frameBytes), tensor.NewPool("host", tensor.Host(), 0)
	out, hold := &gather{}, make(chan struct{})
	s := start(t, dots{count: 200, hold: hold}, out, func(c *Config) {
		c.Live, c.History, c.Prompts = true, 200, firstBox(1)
		c.HistoryPool, c.HistoryBytes = shared, 2*frameBytes // eight frames, as bytes
		c.Converter = frames.NewConverter(side, shared)
		c.Tracking.State, c.Tracking.Overflow = shared, host
	})
	feed(t, out, hold, 100) // two or three frames at a time, and each leaves more than 4 KiB behind
	if got := numbers(out.live()); !slices.Equal(got, span(0, 99)) {
		t.Errorf("frames %v", got)
	}
	for _, f := range out.live() {
		if !follows(f, 1, false) {
			t.Errorf("frame %d: %+v", f.Frame, f.Objects)
		}
	}
	if past := s.Status().Counters.Past; past.NotKept != 0 || past.Frames != 8 {
		t.Errorf("kept %+v", past)
	}
	if host.Stats().Moves == 0 {
		t.Error("nothing moved")
	}
	for { // whatever room there was is gone
		rest, err := shared.New(tensor.Uint8, 4096)
		if err != nil {
			break
		}
		defer rest.Release()
	}
	if err := s.Reverse(t.Context(), control.ReverseRequest{}); err != nil {
		t.Fatal(err)
	}
	wait(t, "reverse pass", func() bool { return out.event(rle.ReverseDone) != nil })
	if e := out.event(rle.ReverseDone); *e.Frames != 8 || e.Reason != "" {
		t.Errorf("went back over %d frames, %q", *e.Frames, e.Reason)
	}
}

func TestALiveStreamWithoutRoomGoesOnWhenThereIsSome(t *testing.T) {
	shared := tensor.NewPool("network", tensor.Host(), 4*frameBytes)
	out, hold := &gather{}, make(chan struct{})
	s := start(t, dots{count: 1000, hold: hold}, out, func(c *Config) {
		c.Live, c.History, c.Prompts = true, 500, firstBox(1)
		c.Converter = frames.NewConverter(side, shared)
		c.Tracking.State = shared // and no other pool
	})
	leftOut := func() int64 { return s.Status().Counters.Dropped[1].Count }
	feedUntil := func(reached func() bool) {
		for n := 0; !reached(); n++ {
			seen := int64(len(out.live())) + leftOut()
			select {
			case hold <- struct{}{}:
				wait(t, "frame", func() bool { return int64(len(out.live()))+leftOut() > seen })
			case <-s.done:
				t.Fatal("the stream has ended")
			}
		}
	}
	feedUntil(func() bool { return leftOut() == 3 })
	if d := s.Status(); d.Counters.Dropped[1].Reason != "memory" || d.Dropped != 3 {
		t.Errorf("counted %+v, %d in all", d.Counters.Dropped, d.Dropped)
	}
	if err := s.Remove(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	before := len(out.live())
	feedUntil(func() bool { return len(out.live()) == before+5 })
	if e := out.event(rle.StreamDown); e != nil {
		t.Errorf("event %+v", e)
	}
}

func TestTheHistoryMakesRoomForWhatComesNow(t *testing.T) {
	shared := tensor.NewPool("network", tensor.Host(), 4*frameBytes)
	out, hold := &gather{}, make(chan struct{})
	s := start(t, dots{count: 200, hold: hold}, out, func(c *Config) {
		c.Live, c.History = true, 200
		c.HistoryPool, c.HistoryBytes = shared, 4*frameBytes // all that there is
		c.Converter = frames.NewConverter(side, shared)
		c.Tracking.State = shared
	})
	feed(t, out, hold, 60)
	if got := numbers(out.live()); !slices.Equal(got, span(0, 59)) {
		t.Errorf("frames %v, left out %+v", got, s.Status().Counters.Dropped)
	}
	if past := s.Status().Counters.Past; past.Frames < 2 {
		t.Errorf("kept %+v", past)
	}
}
