package amg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"maskstream/frames"
	"maskstream/model/modeltest"
	"maskstream/rle"
	"maskstream/tensor"
)

// dots are discs far from one another on a picture of 160×120.
var dots = []modeltest.Dot{{X: 30, Y: 30, R: 14}, {X: 120, Y: 40, R: 16}, {X: 70, Y: 95, R: 15}}

// scene opens a generator on the network that sees discs, and a frame of those given.
func scene(t *testing.T, change func(*Options), dots ...modeltest.Dot) (*Generator, *frames.Frame) {
	t.Helper()
	pool := tensor.NewPool("test", tensor.Host(), 0)
	network := modeltest.New(pool, 128)
	g, err := New(network, options(func(o *Options) {
		points := 8
		o.PointsPerSide = &points
		o.PredIoUThresh, o.StabilityScoreThresh = 0.8, 0.8
		if change != nil {
			change(o)
		}
	}), pool)
	if err != nil {
		t.Fatal(err)
	}
	f := modeltest.Scene{Pool: pool, Size: 128, Width: 160, Height: 120}.Frame(0, dots...)
	t.Cleanup(func() {
		f.Release()
		tensor.NoLeaks(t, pool)
	})
	return g, f
}

// shows says which of the dots a mask shows, −1 for none.
func shows(m rle.Mask) int {
	b := m.Box()
	for i, d := range dots {
		x, y := float64(b[0])+float64(b[2])/2, float64(b[1])+float64(b[3])/2
		if (x-d.X)*(x-d.X)+(y-d.Y)*(y-d.Y) < 16 {
			return i
		}
	}
	return -1
}

func TestEverythingIsFoundOnce(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"from candidates":    nil,
		"refined":            func(o *Options) { o.UseM2M = true },
		"one mask a point":   func(o *Options) { o.MultimaskOutput = false },
		"with crops as well": func(o *Options) { o.CropNLayers = 1 },
		"one point a batch":  func(o *Options) { o.PointsPerBatch = 1 },
		"of points named": func(o *Options) {
			o.PointsPerSide, o.PointGrids = nil, [][][2]float64{{{0.19, 0.25}, {0.75, 0.33}, {0.44, 0.8}, {0.01, 0.99}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, f := scene(t, change, dots...)
			found, err := g.Generate(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			var seen []int
			for _, r := range found {
				seen = append(seen, shows(r.Mask))
				if r.Mask.Height != 120 || r.Mask.Width != 160 || r.Mask.Validate() != nil || len(r.Points) != 1 || r.PredictedIoU < 0.8 {
					t.Errorf("record %+v", r)
				}
			}
			slices.Sort(seen)
			if !slices.Equal(seen, []int{0, 1, 2}) {
				t.Errorf("found dots %v", seen)
			}
		})
	}
}

func TestCropsInWhichNothingIsFoundAreNoError(t *testing.T) {
	for name, c := range map[string]struct {
		dots   []modeltest.Dot
		change func(*Options)
		found  int
	}{
		"an empty picture":              {nil, func(o *Options) { o.CropNLayers = 2 }, 0},
		"three empty corners":           {dots[:1], func(o *Options) { o.CropNLayers = 1 }, 1},
		"nothing passes":                {dots, func(o *Options) { o.CropNLayers, o.PredIoUThresh = 1, 1 }, 0},
		"an empty picture, refined":     {nil, func(o *Options) { o.CropNLayers, o.UseM2M = 1, true }, 0},
		"every empty mask, which is 64": {nil, func(o *Options) { o.PredIoUThresh, o.StabilityScoreThresh, o.MultimaskOutput = 0, 0, false }, 64},
	} {
		t.Run(name, func(t *testing.T) {
			g, f := scene(t, c.change, c.dots...)
			found, err := g.Generate(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != c.found {
				t.Errorf("%d records, want %d", len(found), c.found)
			}
			data, err := json.Marshal(found) // NaN would be an error
			if err != nil || strings.Contains(string(data), "null") {
				t.Errorf("%v: %.200s", err, data)
			}
		})
	}
}

func TestPicturesOfAnySizeAreSearched(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 50}, {3, 2}, {41, 7}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			pool := tensor.NewPool("test", tensor.Host(), 0)
			g, err := New(&noise{pool: pool, low: low}, options(func(o *Options) { o.CropNLayers = 2 }), pool)
			if err != nil {
				t.Fatal(err)
			}
			f := frame(t, pool, 4*low, size[0], size[1])
			found, err := g.Generate(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range found {
				if r.Mask.Width != size[0] || r.Mask.Height != size[1] || r.Mask.Validate() != nil {
					t.Errorf("a mask of %d×%d", r.Mask.Width, r.Mask.Height)
				}
			}
			f.Release()
			tensor.NoLeaks(t, pool)
		})
	}
}

func TestDiscoverFindsOnlyWhatIsNotKnown(t *testing.T) {
	g, f := scene(t, nil, dots...)
	all, err := g.Discover(t.Context(), f, nil)
	if err != nil || len(all) != 3 {
		t.Fatalf("%d found, %v", len(all), err)
	}
	known := Masks(all)
	for name, c := range map[string]struct {
		known []rle.Mask
		want  []rle.Mask
	}{
		"one is known":         {known[:1], known[1:]},
		"all are known":        {known, nil},
		"the last is occluded": {[]rle.Mask{known[0], rle.Empty(120, 160)}, known[1:]},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := g.Discover(t.Context(), f, c.known)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(Masks(found), c.want, rle.Equal) {
				t.Errorf("%d found, want %d", len(found), len(c.want))
			}
		})
	}
	if _, err := g.Discover(t.Context(), f, []rle.Mask{rle.Empty(3, 3)}); !errors.Is(err, rle.ErrSize) {
		t.Errorf("a mask of another picture gave %v", err)
	}
}

func TestDiscoverFindsAnObjectOnceWhereSeveralMasksOfItPass(t *testing.T) {
	g, f := scene(t, func(o *Options) { o.BoxNMSThresh = 1 }, dots...) // as masks with specks pass it: their boxes differ
	all, err := g.Generate(t.Context(), f)
	if err != nil || len(all) <= 3 {
		t.Fatalf("%d masks, %v", len(all), err)
	}
	found, err := g.Discover(t.Context(), f, nil)
	if err != nil || len(found) != 3 {
		t.Errorf("%d found of %d masks, %v", len(found), len(all), err)
	}
}

func TestPromptsAreAnsweredInTheirOrder(t *testing.T) {
	g, f := scene(t, nil, dots...)
	at := func(i int) [2]float32 { return [2]float32{float32(dots[i].X), float32(dots[i].Y)} }
	box := func(i int) *[4]float32 {
		d := dots[i]
		return &[4]float32{float32(d.X - d.R), float32(d.Y - d.R), float32(d.X + d.R), float32(d.Y + d.R)}
	}
	got, err := g.Segment(t.Context(), f, []Prompt{
		{Points: [][2]float32{at(1)}, Labels: []int{1}},
		{Box: box(2)},
		{Points: [][2]float32{at(0)}, Labels: []int{1}},
		{Points: [][2]float32{at(0), at(1)}, Labels: []int{1, 0}},
		{Box: box(1), Points: [][2]float32{at(1)}, Labels: []int{1}},
		{Points: [][2]float32{{159, 119}}, Labels: []int{1}}, // nothing is there
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 2, 0, 0, 1, -1} {
		if shown := shows(got[i].Mask); shown != want || (want >= 0) != (got[i].StabilityScore > 0.8) {
			t.Errorf("prompt %d is answered with dot %d, want %d; stability %v", i, shown, want, got[i].StabilityScore)
		}
	}
	for name, p := range map[string]Prompt{
		"nothing":        {},
		"no label":       {Points: [][2]float32{{1, 1}}},
		"a box's corner": {Points: [][2]float32{{1, 1}}, Labels: []int{2}},
	} {
		if _, err := g.Segment(t.Context(), f, []Prompt{p}); !errors.Is(err, ErrPrompt) {
			t.Errorf("%s gave %v", name, err)
		}
	}
}

func TestASearchEndsWithItsContextAndWithTheNetworksError(t *testing.T) {
	g, f := scene(t, func(o *Options) { o.CropNLayers = 1 }, dots...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Generate(ctx, f); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled search gave %v", err)
	}
	broken := errors.New("broken")
	for _, verb := range []string{"EncodeImage", "DecodeCandidates"} {
		for _, refine := range []bool{false, true} {
			g, f := scene(t, func(o *Options) { o.UseM2M = refine }, dots...)
			calls := 0
			g.network.(*modeltest.Network).Fail = func(v string) error {
				if v == verb {
					calls++
				}
				if calls == 2 || calls == 1 && verb == "EncodeImage" {
					return broken
				}
				return nil
			}
			if _, err := g.Generate(t.Context(), f); !errors.Is(err, broken) {
				t.Errorf("a %s that failed gave %v", verb, err)
			}
		}
	}
}

func TestAFrameWithoutPlanesHasNoCrops(t *testing.T) {
	g, f := scene(t, func(o *Options) { o.CropNLayers = 1 }, dots...)
	bare := frames.NewFrame(f.Pixels.Retain(), (&frames.Picture{Width: 160, Height: 120}).Own(nil))
	defer bare.Release()
	if _, err := g.Generate(t.Context(), bare); err == nil {
		t.Error("crops were cut out of nothing")
	}
}
