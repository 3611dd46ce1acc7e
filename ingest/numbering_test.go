package ingest

import (
	"testing"
	"time"

	"maskstream/frames"
)

func TestPicturesAreNumberedThroughJumpsOfTimeAndSize(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	var n Numbering
	for i, c := range []struct {
		begin        string
		width        int
		pts          time.Duration
		epoch, frame int
		began        string
		want         time.Duration
		jumps        int64
	}{
		{"", 4, 5 * s, 0, 0, "", 5 * s, 0},
		{"", 4, 5100 * ms, 0, 1, "", 5100 * ms, 0},
		{"", 4, 5100 * ms, 0, 2, "", 5101 * ms, 0}, // the same time again is no step back
		{"", 4, 4500 * ms, 0, 3, "", 5102 * ms, 1}, // a small step is smoothed
		{"", 4, 4600 * ms, 0, 4, "", 5103 * ms, 1}, // as is what follows it, which is no step back of its own
		{"", 4, 5200 * ms, 0, 5, "", 5200 * ms, 1},
		{"", 4, s, 1, 0, "time", s, 2}, // a large one is another epoch
		{"", 4, 1100 * ms, 1, 1, "time", 1100 * ms, 2},
		{"", 4, 9 * s, 1, 2, "time", 9 * s, 2},
		{"", 4, 3600 * s, 1, 3, "time", 3600 * s, 3}, // forward: counted, and the epoch goes on
		{"", 8, 3601 * s, 2, 0, "size", 3601 * s, 3},
		{"reconnect", 8, 2 * s, 3, 0, "reconnect", 2 * s, 3}, // another connection, whose time may be anything
		{"loop", 4, 0, 4, 0, "loop", 0, 3},                   // the first reason is the one told
	} {
		if c.begin != "" {
			n.Begin(c.begin)
		}
		p := (&frames.Picture{Width: c.width, Height: 4, Meta: frames.Meta{PTS: c.pts}}).Own(nil)
		began := n.Number(p)
		if m := p.Meta; m.Epoch != c.epoch || m.Frame != c.frame || m.PTS != c.want || m.Began != c.began || n.Jumps() != c.jumps {
			t.Errorf("picture %d: %+v, %d jumps", i, m, n.Jumps())
		}
		if want := c.frame == 0 && c.epoch > 0; began != want {
			t.Errorf("picture %d: began %t", i, began)
		}
	}
}
