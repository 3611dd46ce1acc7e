package stream

import (
	"context"
	"testing"
	"time"

	"maskstream/frames"
	"maskstream/memory"
	"maskstream/propagate"
	"maskstream/rle"
	"maskstream/tensor"
)

// away is a result on which object 1 was looked for and not found.
func away(t *testing.T, frame int, pass memory.Direction, prompted bool) *propagate.Result {
	t.Helper()
	logits, err := tensor.NewPool("test", tensor.Host(), 0).New(tensor.Float32, 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	for i := range logits.Float32s() {
		logits.Float32s()[i] = -10
	}
	t.Cleanup(logits.Release)
	return &propagate.Result{Frame: frame, Pass: pass, Prompted: prompted, Objects: []propagate.Object{{ID: 1, Logits: logits}}}
}

func TestAbsenceIsTimedWithinAPassAndNotByJumps(t *testing.T) {
	e := Encoder{LostAfter: 2500 * time.Millisecond}
	for i, c := range []struct {
		frame    int
		pass     memory.Direction
		prompted bool
		epoch    int
		want     rle.State
	}{
		{0, memory.Forward, true, 0, rle.Occluded},
		{100, memory.Forward, true, 0, rle.Occluded}, // a prompt 100 s later: no time has gone by
		{101, memory.Forward, false, 0, rle.Occluded},
		{102, memory.Forward, false, 0, rle.Occluded},
		{103, memory.Forward, false, 0, rle.Lost}, // 3 s
		{100, memory.Reverse, false, 0, rle.Occluded},
		{99, memory.Reverse, false, 0, rle.Occluded},
		{98, memory.Reverse, false, 0, rle.Occluded},
		{97, memory.Reverse, false, 0, rle.Lost},      // time goes by backwards as well
		{400, memory.Forward, false, 0, rle.Occluded}, // another pass elsewhere
		{401, memory.Forward, false, 1, rle.Occluded}, // from one epoch to the next there is no time
		{402, memory.Forward, false, 1, rle.Occluded},
		{403, memory.Forward, false, 1, rle.Occluded},
		{404, memory.Forward, false, 1, rle.Lost},
	} {
		meta := frames.Meta{Epoch: c.epoch, PTS: time.Duration(c.frame) * time.Second}
		if got := e.Encode(away(t, c.frame, c.pass, c.prompted), meta, 4, 4).Objects[0].State; got != c.want {
			t.Errorf("line %d, frame %d: %s, want %s", i, c.frame, got, c.want)
		}
	}
}

func TestRecordedSourceLosesNoFrameOfALiveStream(t *testing.T) {
	for _, recorded := range []bool{true, false} {
		out := &gather{}
		gate := &shut{Out: out, open: make(chan struct{})}
		const count = 30
		hold, finished := make(chan struct{}), make(chan struct{})
		s := start(t, finishing{dots{count: count, hold: hold}, finished}, out, func(c *Config) { c.Live, c.Out = true, gate })
		s.Recorded(recorded)
		close(hold) // all frames come at once
		if !recorded {
			<-finished
		}
		close(gate.open)
		<-s.done
		if got := len(out.frames()); recorded != (got == count) || recorded != (s.Status().Dropped == 0) {
			t.Errorf("recorded %t: %d of %d frames, %d dropped", recorded, got, count, s.Status().Dropped)
		}
	}
}

// finishing closes finished when its source has ended.
type finishing struct {
	Source
	finished chan struct{}
}

func (f finishing) Run(ctx context.Context, emit func(*frames.Picture) error) error {
	defer close(f.finished)
	return f.Source.Run(ctx, emit)
}

func TestEpochsSayWhyTheyBegan(t *testing.T) {
	out := &gather{}
	s := start(t, dots{count: 4, epoch: 2, began: "size"}, out, func(c *Config) {
		c.Faults = func() (int64, int64) { return 3, 5 }
	})
	<-s.done
	var reasons []string
	for _, e := range out.events {
		if e.Type == rle.EpochBegan {
			reasons = append(reasons, e.Reason)
		}
	}
	if len(reasons) != 1 || reasons[0] != "size" {
		t.Errorf("epochs began because of %q", reasons)
	}
	if c := s.Status().Counters; c.DecodeErrors != 3 || c.TimestampJumps != 5 {
		t.Errorf("counters %+v", c)
	}
}
