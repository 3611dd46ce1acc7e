package propagate

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"maskstream/memory"
	"maskstream/model"
	"maskstream/rle"
	"maskstream/tensor"
)

func TestPromptsThatMakeNoSenseAreRefused(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	box := &[4]float32{1, 2, 3, 4}
	whole := rle.Empty(4, 6)
	for _, c := range []struct {
		name, says string // says is part of the error, "" where the prompt is fine
		prompt     Prompt
	}{
		{"one click", "", Prompt{Points: [][2]float32{{1, 2}}, Labels: []int{1}, Width: 4, Height: 4}},
		{"a click outside the picture", "", Prompt{Points: [][2]float32{{-5, 900}}, Labels: []int{0}, Width: 4, Height: 4}},
		{"a box", "", Prompt{Box: box, Width: 4, Height: 4}},
		{"a box and clicks", "", Prompt{Box: box, Points: [][2]float32{{1, 2}}, Labels: []int{0}, Width: 4, Height: 4}},
		{"a mask", "", Prompt{Mask: &whole, Width: 4, Height: 4}},
		{"clicks added to others", "", Prompt{Points: [][2]float32{{1, 2}}, Labels: []int{0}, KeepOldPoints: true, Width: 4, Height: 4}},
		{"nothing", "at least one", Prompt{Width: 4, Height: 4}},
		{"no picture size", "size is 0×4", Prompt{Box: box, Height: 4}},
		{"a point without label", "1 points but 0 labels", Prompt{Points: [][2]float32{{1, 2}}, Width: 4, Height: 4}},
		{"a label without point", "0 points but 1 labels", Prompt{Box: box, Labels: []int{1}, Width: 4, Height: 4}},
		{"the label of a box corner", "label 2", Prompt{Points: [][2]float32{{1, 2}}, Labels: []int{2}, Width: 4, Height: 4}},
		{"the label of padding", "label -1", Prompt{Points: [][2]float32{{1, 2}}, Labels: []int{-1}, Width: 4, Height: 4}},
		{"a point that is no number", "not a number", Prompt{Points: [][2]float32{{1, nan}}, Labels: []int{1}, Width: 4, Height: 4}},
		{"a box that is infinite", "not a number", Prompt{Box: &[4]float32{0, 0, inf, 1}, Width: 4, Height: 4}},
		{"a box added to old points", "before any point", Prompt{Box: box, KeepOldPoints: true, Width: 4, Height: 4}},
		{"a mask and a box", "excludes", Prompt{Mask: &whole, Box: box, Width: 4, Height: 4}},
		{"a mask and a point", "excludes", Prompt{Mask: &whole, Points: [][2]float32{{1, 2}}, Labels: []int{1}, Width: 4, Height: 4}},
		{"a mask of no size", "0×0", Prompt{Mask: &rle.Mask{}, Width: 4, Height: 4}},
		{"a mask too wide", "1…16384", Prompt{Mask: &rle.Mask{Height: 1, Width: 16385, Runs: []uint32{16385}}, Width: 4, Height: 4}},
		{"a mask whose runs end early", "damaged", Prompt{Mask: &rle.Mask{Height: 4, Width: 6, Runs: []uint32{3, 2}}, Width: 4, Height: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			frame := w.scene.Frame(0, both(0)...)
			defer frame.Release()
			r, err := w.tracker.Prompt(frame, 1, c.prompt)
			r.Release()
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, ErrPrompt) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want one that says %q", err, c.says)
			}
			if len(w.tracker.Objects()) != 0 || w.network.Calls.EncodeImage.Load() != 0 {
				t.Error("a refused prompt left something behind")
			}
		})
	}
}

// decoded collects the prompts that reach the network; logits are copied.
func decoded(w *world) *[]model.Prompt {
	var all []model.Prompt
	w.network.Decoded = func(_ *tensor.Tensor, prompts []model.Prompt) {
		for _, p := range prompts {
			p.Points = slices.Clone(p.Points)
			all = append(all, p)
		}
	}
	return &all
}

func TestBoxCornersComeBeforeClicksAndAllAreScaledToTheModel(t *testing.T) {
	w := newWorld(t, nil)
	got := decoded(w)
	w.prompt(0, 1, Prompt{Box: &[4]float32{32, 16, 160, 80}, Points: [][2]float32{{80, 40}, {300, 150}}, Labels: []int{1, 0}}, both(0)...)
	want := []model.Point{{X: 12.8, Y: 12.8, Label: 2}, {X: 64, Y: 64, Label: 3}, {X: 32, Y: 32, Label: 1}, {X: 120, Y: 120, Label: 0}}
	if !slices.Equal((*got)[0].Points, want) {
		t.Errorf("points %v, want %v", (*got)[0].Points, want)
	}
	// The same place in a picture of another size.
	w.prompt(0, 2, Prompt{Points: [][2]float32{{160, 80}}, Labels: []int{1}, Width: 640, Height: 320}, both(0)...)
	if got := (*got)[1].Points; !slices.Equal(got, []model.Point{{X: 32, Y: 32, Label: 1}}) {
		t.Errorf("points %v", got)
	}
}

func TestKeptPointsComeFirstAndOthersAreReplaced(t *testing.T) {
	w := newWorld(t, nil)
	got := decoded(w)
	at := func(x float32, keep bool) {
		w.prompt(0, 1, Prompt{Points: [][2]float32{{x, 40}}, Labels: []int{1}, KeepOldPoints: keep}, both(0)...)
	}
	at(60, false)
	at(70, true)
	at(80, true)
	at(65, false)
	mask := rle.Empty(height, width)
	w.prompt(0, 1, Prompt{Mask: &mask}, both(0)...)
	at(90, true) // the mask dropped the points before it
	at(40, true)
	w.prompt(1, 1, Prompt{Points: [][2]float32{{60, 40}}, Labels: []int{1}, KeepOldPoints: true}, both(1)...) // another frame
	var xs [][]float32
	for _, p := range *got {
		var x []float32
		for _, q := range p.Points {
			x = append(x, q.X/size*width)
		}
		xs = append(xs, x)
	}
	want := [][]float32{{60}, {60, 70}, {60, 70, 80}, {65}, nil, {90}, {90, 40}, {60}}
	if !slices.EqualFunc(xs, want, slices.Equal) {
		t.Errorf("x of the points, prompt by prompt: %v, want %v", xs, want)
	}
}

func TestThePreviousMaskIsFedBackWithin32(t *testing.T) {
	w := newWorld(t, nil)
	var fed []*[2]float32 // least and most
	w.network.Decoded = func(_ *tensor.Tensor, prompts []model.Prompt) {
		if prompts[0].Logits == nil {
			fed = append(fed, nil)
			return
		}
		v := prompts[0].Logits.Float32s()
		fed = append(fed, &[2]float32{slices.Min(v), slices.Max(v)})
	}
	empty := click(first(0))
	empty.Labels = []int{0}
	w.prompt(0, 1, empty, both(0)...)           // absent: −1024 everywhere
	w.prompt(0, 1, click(first(0)), both(0)...) // gets it, clamped
	w.prompt(0, 1, click(first(0)), both(0)...) // gets the disc, also with clear_old_points
	w.commit()
	w.prompt(0, 1, click(first(0)), both(0)...) // committed, not yet tracked
	w.commit()
	w.pass(0, 1)
	w.prompt(1, 1, click(first(1)), both(1)...) // tracked
	w.prompt(9, 1, click(first(9)), both(9)...) // nothing on that frame
	want := []string{"none", "clamped", "disc", "disc", "step", "disc", "none"}
	if len(fed) != len(want) {
		t.Fatalf("%d decodings, want %d", len(fed), len(want))
	}
	for i, kind := range want {
		got := "none"
		switch f := fed[i]; {
		case f == nil && kind == "step":
			got = "step"
		case f != nil && *f == [2]float32{-32, -32}:
			got = "clamped"
		case f != nil && f[0] >= -11 && f[1] > 5:
			got = "disc"
		}
		if got != kind {
			t.Errorf("decoding %d was fed %s (%v), want %s", i, got, fed[i], kind)
		}
	}
}

func TestThreeCandidatesForOneClickOnly(t *testing.T) {
	box := Prompt{Box: &[4]float32{30, 10, 90, 70}}
	for _, c := range []struct {
		name                    string
		change                  func(*model.Config)
		click, twice, box, step bool
		corrected               bool // one click on a tracked frame
	}{
		{"as shipped", func(*model.Config) {}, true, false, false, true, true},
		{"not while tracking", func(c *model.Config) { c.MultimaskForTracking = false }, true, false, false, false, false},
		{"never", func(c *model.Config) { c.MultimaskOutputInSAM = false }, false, false, false, false, false},
		{"from one point on", func(c *model.Config) { c.MultimaskMinPoints = 1 }, true, false, false, false, true},
		{"up to two points", func(c *model.Config) { c.MultimaskMaxPoints = 2 }, true, true, true, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.network.Configure(c.change)
			got := decoded(w)
			w.prompt(0, 1, click(first(0)), both(0)...)
			w.prompt(0, 1, twice(first(0)), both(0)...)
			w.prompt(0, 1, box, both(0)...)
			w.commit()
			w.pass(0, 1)
			w.prompt(1, 1, click(first(1)), both(1)...)
			for i, want := range []bool{c.click, c.twice, c.box, c.step, c.corrected} {
				if got := (*got)[i].Multimask; got != want {
					t.Errorf("decoding %d: multimask %v, want %v", i, got, want)
				}
			}
		})
	}
}

func TestAPromptUsesMemoryOnlyOnATrackedFrame(t *testing.T) {
	w := newWorld(t, nil)
	var conditioned []bool
	w.network.Decoded = func(e *tensor.Tensor, _ []model.Prompt) { conditioned = append(conditioned, e != nil) }
	mask := rle.Empty(height, width)
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.commit()
	w.prompt(5, 1, click(first(5)), both(5)...) // initial, though another frame is conditioned
	w.commit()
	w.pass(0, 3)                                // 0 is shown, 1 … 3 are inferred
	w.prompt(2, 1, click(first(2)), both(2)...) // corrected
	w.prompt(3, 1, Prompt{Mask: &mask}, both(3)...)
	w.prompt(9, 1, click(first(9)), both(9)...)
	if want := []bool{false, false, true, true, true, true, false, false}; !slices.Equal(conditioned, want) {
		t.Errorf("decodings with memory: %v, want %v", conditioned, want)
	}
}

func TestAPromptOnAReversePassAttendsInThatDirection(t *testing.T) {
	w := newWorld(t, nil)
	w.prompt(9, 1, click(first(9)), both(9)...)
	w.commit()
	w.pass(9, 3)
	w.prompt(5, 1, click(first(5)), both(5)...)
	tr := w.traced(5, 1)
	if tr.Pass != memory.Reverse || !slices.Equal(tr.Recent, span(6, 8)) {
		t.Errorf("the correction attended to %+v", tr)
	}
}

func TestPromptedMemoriesAreBinarisedAndTrackedOnesAreNot(t *testing.T) {
	w := newWorld(t, nil)
	var flags []bool
	w.network.Encoded = func(_ *tensor.Tensor, _ []float32, binarize []bool) { flags = append(flags, binarize...) }
	mask := rle.Empty(height, width)
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.prompt(0, 2, Prompt{Mask: &mask}, both(0)...)
	w.commit()
	w.pass(0, 1)
	w.prompt(1, 1, click(first(1)), both(1)...)
	if want := []bool{true, true, false, false, true}; !slices.Equal(flags, want) {
		t.Errorf("binarised: %v, want %v", flags, want)
	}
}

func TestPointsOfOneObjectOnOneFrameAreBounded(t *testing.T) {
	many := Prompt{Points: make([][2]float32, maxPoints+1), Labels: make([]int, maxPoints+1), Width: 10, Height: 10}
	if err := many.validate(); !errors.Is(err, ErrPrompt) || !strings.Contains(err.Error(), "1001 points") {
		t.Errorf("got %v", err)
	}
	many.Points, many.Labels = many.Points[1:], many.Labels[1:]
	if err := many.validate(); err != nil {
		t.Errorf("%d points: %v", maxPoints, err)
	}
}
