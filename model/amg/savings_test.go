package amg

import (
	"encoding/json"
	"slices"
	"testing"

	"maskstream/model"
	"maskstream/tensor"
)

const low, wide, high = 16, 90, 67

// kinds are the ways through a batch.
var kinds = map[string]func(*Options){
	"plain":          nil,
	"refined":        func(o *Options) { o.UseM2M = true },
	"single":         func(o *Options) { o.MultimaskOutput = false },
	"cleaned":        func(o *Options) { o.MinMaskRegionArea = 6 },
	"refined, clean": func(o *Options) { o.UseM2M, o.MinMaskRegionArea = true, 6 },
	"crops":          func(o *Options) { o.CropNLayers = 1 },
	"threshold":      func(o *Options) { o.MaskThreshold = 3.7 },
	"all":            func(o *Options) { o.PredIoUThresh, o.StabilityScoreThresh = 0, 0 },
	"hardly any":     func(o *Options) { o.PredIoUThresh, o.StabilityScoreThresh = 0.97, 0.8 },
}

// generate runs one generator over one frame.
func generate(t *testing.T, make func(Network, Options, *tensor.Pool) (*Generator, error), o Options, n *noise) ([]Record, Counts) {
	t.Helper()
	pool := tensor.NewPool("test", tensor.Host(), 0)
	n.pool, n.low, n.encoded = pool, low, 0
	g, err := make(n, o, pool)
	if err != nil {
		t.Fatal(err)
	}
	f := frame(t, pool, 4*low, wide, high)
	found, err := g.Generate(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	f.Release()
	tensor.NoLeaks(t, pool)
	return found, g.Counts
}

func TestTheSavingsChangeNoRecord(t *testing.T) {
	for name, change := range kinds {
		t.Run(name, func(t *testing.T) {
			saved, counts := generate(t, New, options(change), &noise{})
			plain, plainCounts := generate(t, NewPlain, options(change), &noise{})
			a, err := json.Marshal(saved)
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(plain)
			if err != nil {
				t.Fatal(err)
			}
			if string(a) != string(b) {
				t.Errorf("%d records with the savings, %d without, and they differ", len(saved), len(plain))
			}
			if name != "hardly any" && len(saved) < 3 {
				t.Errorf("only %d records: the test shows little", len(saved))
			}
			if counts.Candidates != plainCounts.Candidates || counts.Refined != plainCounts.Refined || counts.Stable != plainCounts.Stable {
				t.Errorf("counted %+v with the savings, %+v without", counts, plainCounts)
			}
		})
	}
}

func TestOnlyWhatThePredictedIoUKeepsIsInterpolated(t *testing.T) {
	for name, change := range kinds {
		t.Run(name, func(t *testing.T) {
			o := options(change)
			sure := 0 // of what the network says last
			counting := &counting{noise: &noise{}, see: func(c *model.Candidates, refined bool) {
				for _, iou := range c.PredictedIoU {
					if refined == o.UseM2M && (iou > o.PredIoUThresh || o.PredIoUThresh == 0) {
						sure++
					}
				}
			}}
			pool := tensor.NewPool("test", tensor.Host(), 0)
			counting.pool, counting.low = pool, low
			g, err := New(counting, o, pool)
			if err != nil {
				t.Fatal(err)
			}
			f := frame(t, pool, 4*low, wide, high)
			defer f.Release()
			if _, err := g.Generate(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			if g.Counts.Interpolated != sure {
				t.Errorf("%d interpolations for %d candidates of which the network is sure", g.Counts.Interpolated, sure)
			}
			if name != "all" && sure >= g.Counts.Candidates {
				t.Errorf("all %d candidates are sure: the test shows nothing", sure)
			}
		})
	}
}

// counting shows what a network proposes.
type counting struct {
	*noise
	see func(c *model.Candidates, refined bool)
}

func (n *counting) DecodeCandidates(f *model.Features, prompts []model.Prompt) (*model.Candidates, error) {
	c, err := n.noise.DecodeCandidates(f, prompts)
	if err == nil {
		n.see(c, prompts[0].Logits != nil)
	}
	return c, err
}

func TestRawLogitsAreInterpolatedAndClampedOnesRefine(t *testing.T) {
	highest, refinements := float32(0), 0
	n := &noise{before: func(prompts []model.Prompt) {
		for _, p := range prompts {
			if p.Logits != nil {
				refinements++
				highest = max(highest, slices.Max(p.Logits.Float32s()), -slices.Min(p.Logits.Float32s()))
			}
		}
	}}
	found, counts := generate(t, New, options(func(o *Options) { o.UseM2M, o.MaskThreshold = true, 40 }), n)
	if highest != 32 || refinements != counts.Refined || refinements != counts.Candidates {
		t.Errorf("logits up to ±%v in %d of %d refinements", highest, refinements, counts.Candidates)
	}
	if len(found) == 0 || !slices.ContainsFunc(found, func(r Record) bool { return r.Mask.Area() > 0 }) {
		t.Error("nothing lies above 40: logits were clamped before they were interpolated")
	}
}

func TestLowResolutionLogitsLiveOnlyUntilRefinement(t *testing.T) {
	const perMap = low * low * 4
	for name, c := range map[string]struct {
		refine bool
		most   int64 // bytes of maps alive while the network is asked
	}{
		"without refinement none are kept": {false, 0},
		// The proposals of a batch of 5 points and what is fed back of 5 of them.
		"with it those of one batch": {true, (15 + 5) * perMap},
	} {
		t.Run(name, func(t *testing.T) {
			base, most := int64(-1), int64(0)
			n := &noise{}
			n.before = func([]model.Prompt) {
				s := n.pool.Stats()
				if base < 0 {
					base = s.LiveBytes // the frame and its features
				}
				most = max(most, s.LiveBytes-base)
			}
			generate(t, New, options(func(o *Options) { o.UseM2M = c.refine }), n)
			if most != c.most {
				t.Errorf("%d bytes of maps are alive while the network is asked, want %d", most, c.most)
			}
		})
	}
	// Nor are they copied: nothing is ever taken out of the generator's own pool.
	networks, own := tensor.NewPool("network", tensor.Host(), 0), tensor.NewPool("own", tensor.Host(), 0)
	g, err := New(&noise{pool: networks, low: low}, options(nil), own)
	if err != nil {
		t.Fatal(err)
	}
	f := frame(t, networks, 4*low, wide, high)
	if _, err := g.Generate(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	f.Release()
	if s := own.Stats(); s.Allocations != 0 {
		t.Errorf("%d copies without refinement", s.Allocations)
	}
	tensor.NoLeaks(t, networks, own)
}
