package stream

// Cases that every implementation must get right, by their numbers, which need a whole stream.

import (
	"context"
	"slices"
	"testing"
	"time"

	"maskstream/control"
	"maskstream/frames"
	"maskstream/rle"
)

// joined is a camera that had run for a while before, and that loses its time in the middle.
type joined struct {
	dots
	first int // number of its first picture
	gapAt int // picture before which 30 s are missing
}

func (j joined) Run(ctx context.Context, emit func(*frames.Picture) error) error {
	return j.dots.Run(ctx, func(p *frames.Picture) error {
		if p.Meta.Frame >= j.gapAt {
			p.Meta.PTS += 30 * time.Second
		}
		p.Meta.Frame += j.first
		return emit(p)
	})
}

func TestT16APromptBindsToThePictureOfItsNumber(t *testing.T) {
	out, hold := &gather{}, make(chan struct{})
	s := start(t, joined{dots{count: 100, hold: hold}, 1000, 8}, out, func(c *Config) { c.History = 50 })
	feed(t, out, hold, 20) // 1000 to 1019
	answer, err := s.Prompt(t.Context(), control.PromptRequest{Object: to(7), Frame: 1010, Points: [][2]float64{{60 + 2*10, 80}}, Labels: []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Frame != 1010 || answer.PTS != (10*40*time.Millisecond+30*time.Second).Nanoseconds() || len(answer.Objects) != 1 || answer.Objects[0].Area == 0 {
		t.Errorf("answer %+v", answer)
	}
	if x := answer.Objects[0].BBox[0] + answer.Objects[0].BBox[2]/2; x < 75 || x > 85 { // the dot of picture 1010, not of another
		t.Errorf("the mask lies about %d", x)
	}
	feed(t, out, hold, 5)
	wait(t, "catching up", func() bool { return len(out.past(rle.Forward)) >= 9 })
	feed(t, out, hold, 1)
	for _, f := range slices.Concat(out.past(rle.Forward), out.live()[20:]) {
		if f.Frame > 1019 && len(f.Objects) == 0 { // live frames before it had caught up
			continue
		}
		if len(f.Objects) != 1 || f.Objects[0].ID != 7 || f.Objects[0].Area == 0 {
			t.Errorf("frame %d: %+v", f.Frame, f.Objects)
			continue
		}
		if x, want := f.Objects[0].BBox[0]+f.Objects[0].BBox[2]/2, 60+2*(f.Frame-1000); x < want-6 || x > want+6 {
			t.Errorf("frame %d: the mask lies about %d, the dot about %d", f.Frame, x, want)
		}
	}
	if n := len(out.live()); len(out.live()[n-1].Objects) != 1 {
		t.Error("it did not catch up")
	}
}
