package stream

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"maskstream/control"
	"maskstream/frames"
	"maskstream/rle"
	"maskstream/tensor"
)

func TestALiveStreamThatTracksNothingForWantOfMemoryIsDownUntilItDoes(t *testing.T) {
	shared := tensor.NewPool("network", tensor.Host(), 4*frameBytes)
	out, hold := &gather{}, make(chan struct{})
	var clock atomic.Int64 // seconds
	s := startAs(t, dots{count: 1000, hold: hold}, out, func(c *Config) {
		c.Live, c.History, c.Prompts = true, 500, firstBox(1)
		c.Converter = frames.NewConverter(side, shared)
		c.Tracking.State = shared // and no other pool
	}, func(s *Stream) { s.now = func() time.Time { return time.Unix(clock.Load(), 0) } })
	if err := s.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	leftOut := func() int64 { return s.Status().Counters.Dropped[1].Count }
	one := func() {
		seen := int64(len(out.live())) + leftOut()
		hold <- struct{}{}
		wait(t, "frame", func() bool { return int64(len(out.live()))+leftOut() > seen })
	}
	for leftOut() < 3 {
		one()
	}
	clock.Add(4)
	one()
	if status := s.Status(); status.State != control.Up || out.event(rle.StreamDown) != nil {
		t.Fatalf("after a moment: %+v", status)
	}
	clock.Add(1)
	one()
	one() // which is no further news
	status := s.Status()
	if status.State != control.Down || status.Code != "out_of_memory" || !strings.Contains(status.Error, `pool "network"`) {
		t.Fatalf("status %+v", status)
	}
	wait(t, "event", func() bool { return out.event(rle.StreamDown) != nil })
	if e := out.event(rle.StreamDown); e.Code != "out_of_memory" || e.Reason != status.Error {
		t.Errorf("event %+v", e)
	}
	if err := s.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, "status without objects", func() bool { return len(s.Status().Objects) == 0 })
	one()
	wait(t, "stream that is up", func() bool { return s.Status().State == control.Up })
	up, down := 0, 0
	wait(t, "event", func() bool {
		up, down = 0, 0
		for _, kind := range out.kinds() {
			switch kind { //nolint:exhaustive // the others are not asked for
			case rle.StreamUp:
				up++
			case rle.StreamDown:
				down++
			}
		}
		return up == 2
	})
	if down != 1 {
		t.Errorf("%d times down", down)
	}
}
