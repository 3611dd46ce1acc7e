package stream

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"time"

	"maskstream/control"
	"maskstream/frames"
	"maskstream/model/modeltest"
	"maskstream/propagate"
	"maskstream/rle"
	"maskstream/tensor"
)

func TestRecordingLosesNoFrameAndNumbersEveryMessage(t *testing.T) {
	out := &gather{}
	s := start(t, dots{count: 60}, out, func(c *Config) { c.Prompts, c.Viewers = firstBox(7), func() int { return 2 } })
	wait(t, "60 frames", func() bool { return len(out.frames()) == 60 })
	for i, f := range out.frames() {
		if f.Seq != int64(i) || f.Frame != i || f.Direction != rle.Forward || f.Size != [2]int{height, width} {
			t.Fatalf("message %d: seq %d, frame %d, %s, size %v", i, f.Seq, f.Frame, f.Direction, f.Size)
		}
		if len(f.Objects) != 1 || f.Objects[0].ID != 7 || f.Objects[0].State != rle.Tracked || f.Objects[0].ObjectScore == nil {
			t.Fatalf("frame %d: %+v", i, f.Objects)
		}
		if box, x := f.Objects[0].BBox, 60+2*i; box[0] > x || box[0]+box[2] < x {
			t.Fatalf("frame %d: the dot is at x=%d, its box %v", i, x, box)
		}
	}
	if status := s.Status(); status.Dropped != 0 || status.Counters.Decoded != 60 || len(status.Objects) != 1 || status.Viewers != 2 {
		t.Errorf("status %+v", status)
	}
}

func TestFramesWithoutObjectsAreStillMessages(t *testing.T) {
	out := &gather{}
	start(t, dots{count: 5}, out, nil)
	wait(t, "5 frames", func() bool { return len(out.frames()) == 5 })
	for _, f := range out.frames() {
		if f.Objects == nil || len(f.Objects) != 0 {
			t.Errorf("objects %v", f.Objects)
		}
	}
}

func TestLiveStreamDropsItsOldestFramesAndCountsThem(t *testing.T) {
	out := &gather{}
	sinks := &shut{Out: out, open: make(chan struct{})}
	s := start(t, dots{count: 300}, out, func(c *Config) { c.Live, c.Out, c.Prompts = true, sinks, firstBox(1) })
	wait(t, "300 pictures", func() bool { return s.Status().Counters.Decoded == 300 })
	close(sinks.open)
	wait(t, "end", func() bool { return s.Status().State == control.Ended })
	status := s.Status()
	if status.Dropped == 0 || int(status.Dropped)+len(out.frames()) != 300 {
		t.Errorf("%d dropped and %d published of 300", status.Dropped, len(out.frames()))
	}
	if last := out.frames()[len(out.frames())-1]; last.Frame != 299 {
		t.Errorf("the newest frame shown is %d", last.Frame)
	}
}

func TestOccludedObjectKeepsItsPlaceAndIsLostThenFound(t *testing.T) {
	out := &gather{}
	// The dot is away for 0.4 s, twice as long as an object may be occluded.
	start(t, dots{count: 40, gone: func(i int) bool { return i >= 10 && i < 20 }}, out, func(c *Config) { c.Prompts = firstBox(3) })
	wait(t, "40 frames", func() bool { return len(out.frames()) == 40 })
	all := out.frames()
	for i, want := range map[int]rle.State{9: rle.Tracked, 10: rle.Occluded, 13: rle.Occluded, 19: rle.Lost, 30: rle.Tracked} {
		o := all[i].Objects[0]
		if o.ID != 3 || o.State != want || (want != rle.Tracked) != (o.Area == 0) {
			t.Errorf("frame %d: object %d is %s with area %d, want %s", i, o.ID, o.State, o.Area, want)
		}
		if mask, err := rle.ParseCOCO(o.Segmentation); err != nil || mask.Area() != o.Area {
			t.Errorf("frame %d: mask %v, %v", i, mask.Runs, err)
		}
	}
	wait(t, "the end's event", func() bool { return len(out.kinds()) == 4 })
	if got, want := out.kinds(), []rle.EventType{rle.ObjectAdded, rle.ObjectLost, rle.ObjectFound, rle.StreamDown}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

// breaking is a source that fails after its pictures.
type breaking struct {
	Source
	with error
}

func (b breaking) Run(ctx context.Context, emit func(*frames.Picture) error) error {
	if err := b.Source.Run(ctx, emit); err != nil {
		return err
	}
	return b.with
}

// coded is an error as sources have them.
type coded struct{ error }

func (coded) Code() string { return "damaged" }

func TestSourceThatFailsIsPublishedToItsLastPicture(t *testing.T) {
	out := &gather{}
	pool := tensor.NewPool("test", tensor.Host(), 0)
	network := modeltest.New(pool, side)
	s := New(Config{
		Name: "gate", Run: "0123abcd", Source: breaking{dots{count: 40}, coded{errors.New("the disk is gone")}}, Out: out, Network: network,
		Converter: frames.NewConverter(side, pool), Log: slog.New(slog.DiscardHandler),
	})
	if err := s.Run(t.Context()); err == nil || err.Error() != "the disk is gone" {
		t.Errorf("it ends with %v", err)
	}
	if n := len(out.frames()); n != 40 {
		t.Errorf("%d frames of 40", n)
	}
	if len(out.events) != 1 || out.events[0].Type != rle.StreamDown || out.events[0].Code != "damaged" || out.events[0].Reason != "the disk is gone" {
		t.Errorf("events %v", out.kinds())
	}
	if status := s.Status(); status.State != control.Ended || status.Code != "damaged" || status.Error != "the disk is gone" || status.Counters.Failures["damaged"] != 1 {
		t.Errorf("status %+v", status)
	}
	if err := network.Close(); err != nil {
		t.Error(err)
	}
	tensor.NoLeaks(t, pool)
}

func TestPromptIsAnsweredWithItsMaskBetweenFrames(t *testing.T) {
	out := &gather{}
	hold := make(chan struct{})
	s := start(t, dots{count: 10, hold: hold}, out, nil)
	if _, err := s.Prompt(t.Context(), control.PromptRequest{Frame: control.Latest, Points: [][2]float64{{60, 80}}, Labels: []int{1}, ClearOldPoints: true}); !errors.Is(err, control.ErrUnavailable) {
		t.Errorf("before the first picture: %v", err)
	}
	hold <- struct{}{}
	wait(t, "frame", func() bool { return len(out.frames()) == 1 })
	answer, err := s.Prompt(t.Context(), control.PromptRequest{Frame: control.Latest, Points: [][2]float64{{60, 80}}, Labels: []int{1}, ClearOldPoints: true})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Direction != rle.Prompted || answer.Seq != 1 || len(answer.Objects) != 1 || answer.Objects[0].ID != 1 || answer.Objects[0].Area == 0 {
		t.Fatalf("answer %+v", answer)
	}
	hold <- struct{}{}
	wait(t, "next frame", func() bool { return len(out.frames()) == 3 })
	if f := out.frames()[2]; f.Seq != 2 || f.Direction != rle.Forward || f.Objects[0].Area == 0 {
		t.Errorf("frame after the prompt %+v", f)
	}
}

func TestRemovedIDsAreNeverUsedAgain(t *testing.T) {
	out := &gather{}
	hold := make(chan struct{})
	s := start(t, dots{count: 4, hold: hold}, out, func(c *Config) { c.Prompts = firstBox(5) })
	hold <- struct{}{}
	wait(t, "frame", func() bool { return len(out.frames()) == 1 })
	if err := s.Remove(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), 5); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("removing twice: %v", err)
	}
	click := control.PromptRequest{Frame: control.Latest, Points: [][2]float64{{60, 80}}, Labels: []int{1}, ClearOldPoints: true}
	answer, err := s.Prompt(t.Context(), click)
	if err != nil || answer.Objects[0].ID != 6 {
		t.Fatalf("the next free id: %+v, %v", answer, err)
	}
	id := 5
	click.Object = &id
	var conflict *control.Error
	if _, err := s.Prompt(t.Context(), click); !errors.As(err, &conflict) || conflict.Code != control.Conflict {
		t.Errorf("a removed id: %v", err)
	}
	if err := s.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	hold <- struct{}{}
	wait(t, "frame without objects", func() bool { all := out.frames(); return len(all[len(all)-1].Objects) == 0 })
	wait(t, "events", func() bool { return len(out.kinds()) == 4 })
	if got, want := out.kinds(), []rle.EventType{rle.ObjectAdded, rle.ObjectRemoved, rle.ObjectAdded, rle.ObjectRemoved}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestARemovalIsPublishedAlthoughWhoeverAskedHasGone(t *testing.T) {
	out, hold := &gather{}, make(chan struct{})
	sinks := &shut{Out: out, open: make(chan struct{})}
	s := start(t, dots{count: 10, hold: hold}, out, func(c *Config) { c.Out, c.Prompts = sinks, firstBox(5) })
	for range 1 + resultQueue { // one that the sinks do not take, and those that wait behind it
		hold <- struct{}{}
	}
	wait(t, "full queue", func() bool { return sinks.came.Load() == 1 && s.results.Len() == resultQueue })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Remove(ctx, 5); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	close(sinks.open)
	wait(t, "event", func() bool { return slices.Contains(out.kinds(), rle.ObjectRemoved) })
}

func TestBadPromptHarmsNothing(t *testing.T) {
	out := &gather{}
	hold := make(chan struct{})
	s := start(t, dots{count: 4, hold: hold}, out, func(c *Config) {
		c.Prompts = append([]Prompt{{Prompt: propagate.Prompt{Labels: []int{1}}}}, firstBox(1)...) // the first makes no sense
	})
	hold <- struct{}{}
	wait(t, "frame", func() bool { return len(out.frames()) == 1 })
	for name, request := range map[string]control.PromptRequest{
		"no points":        {Frame: control.Latest},
		"label without":    {Frame: control.Latest, Labels: []int{1}},
		"box added to old": {Frame: control.Latest, Box: &[4]float64{1, 1, 9, 9}},
	} {
		var bad *control.Error
		if _, err := s.Prompt(t.Context(), request); !errors.As(err, &bad) || bad.Code != control.BadRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	hold <- struct{}{}
	wait(t, "next frame", func() bool { return len(out.frames()) == 2 })
	if o := out.frames()[1].Objects; len(o) != 1 || o[0].ID != 1 || o[0].Area == 0 {
		t.Errorf("objects %+v", o)
	}
}

func TestEndedStreamAnswersAtOnce(t *testing.T) {
	out := &gather{}
	before := runtime.NumGoroutine()
	s := start(t, dots{count: 1}, out, nil)
	wait(t, "end", func() bool { return s.Status().State == control.Ended })
	if err := s.Remove(t.Context(), 1); !errors.Is(err, control.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	wait(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= before+1 })
}
