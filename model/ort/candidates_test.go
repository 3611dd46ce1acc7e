package ort

import (
	"errors"
	"slices"
	"testing"

	"maskstream/model"
	"maskstream/tensor"
)

func click(x, y float32) []model.Point {
	return []model.Point{{X: x, Y: y, Label: model.Positive}}
}

// The tracker's answer is one of the candidates, where it is not gated.
func TestCandidatesAreWhatTheMaskIsChosenFrom(t *testing.T) {
	present := func(name string, weight []float32) {
		if name == "sam_mask_decoder.pred_obj_score_head.layers.2.bias" {
			weight[0] += 1000
		}
	}
	absent := func(name string, weight []float32) {
		if name == "sam_mask_decoder.pred_obj_score_head.layers.2.bias" {
			weight[0] -= 1000
		}
	}
	b, gated := open(t, present), open(t, absent)
	f, other := b.frame(0), gated.frame(0)
	first, err := b.DecodeMasks(f, nil, []model.Prompt{{Points: click(190, 128), Multimask: true}})
	own(b, first, err)
	low := b.Config().LowRes()
	fed := own(b, first.Logits.Index(0), nil)
	there, err := gated.pool.New(tensor.Float32, low, low)
	own(gated, there, err)
	copy(there.Float32s(), fed.Float32s())
	for name, prompt := range map[string]model.Prompt{
		"three":                {Points: click(190, 128), Multimask: true},
		"one":                  {Points: click(30, 40)},
		"one of two points":    {Points: append(click(30, 40), model.Point{X: 99, Y: 7, Label: model.Negative})},
		"one, refined":         {Points: click(190, 128), Logits: fed},
		"three for no point":   {Multimask: true},
		"one in another place": {Points: click(250, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := b.DecodeMasks(f, nil, []model.Prompt{prompt})
			own(b, want, err)
			got, err := b.DecodeCandidates(f, []model.Prompt{prompt})
			own(b, got, err)
			if prompt.Logits != nil {
				prompt.Logits = there
			}
			free, err := gated.DecodeCandidates(other, []model.Prompt{prompt})
			own(gated, free, err)
			each := 1
			if prompt.Multimask {
				each = 3
			}
			if !slices.Equal(got.Logits.Shape(), []int{1, each, low, low}) || len(got.PredictedIoU) != each {
				t.Fatalf("shape %v, %d predicted IoUs", got.Logits.Shape(), len(got.PredictedIoU))
			}
			best := 0
			for i, iou := range got.PredictedIoU {
				if iou > got.PredictedIoU[best] {
					best = i
				}
			}
			b := *b
			b.TB = t
			b.same("predicted IoU", got.PredictedIoU[best:best+1], want.PredictedIoU, 1e-6)
			b.same("logits", got.Logits.Float32s()[best*low*low:][:low*low], want.Logits.Float32s(), 1e-6)
			b.same("logits of an absent object", free.Logits.Float32s(), got.Logits.Float32s(), 1e-6)
		})
	}
}

func TestCandidatesOfManyPromptsAreThoseOfEach(t *testing.T) {
	b := open(t, nil)
	f := b.frame(0)
	var prompts []model.Prompt
	for i := range 2*candidateBatch + 3 {
		prompts = append(prompts, model.Prompt{Points: click(float32(i*7), float32(250-i*5)), Multimask: true})
	}
	all, err := b.DecodeCandidates(f, prompts)
	own(b, all, err)
	size := all.Logits.Len() / len(prompts)
	for _, i := range []int{0, 1, candidateBatch - 1, candidateBatch, len(prompts) - 1} {
		one, err := b.DecodeCandidates(f, prompts[i:i+1])
		own(b, one, err)
		b.same("logits", all.Logits.Float32s()[i*size:][:size], one.Logits.Float32s(), 2e-5)
		b.same("predicted IoU", all.PredictedIoU[3*i:][:3], one.PredictedIoU, 2e-5)
	}
}

func TestAnUnstableSingleMaskGivesWayToTheBestCandidate(t *testing.T) {
	ious := []float32{0.9, 0.2, 0.8, 0.7}
	for name, c := range map[string]struct {
		logits []float32
		want   int
	}{
		"stable":          {[]float32{1, 1, -1, -1}, 0},
		"nothing at all":  {[]float32{-1, -1}, 0},
		"all on the edge": {[]float32{0, 0.05, -0.04}, 2},
		"a bit too many":  {append(slices.Repeat([]float32{1}, 97), 0.01, 0.01), 2},
		"just few enough": {append(slices.Repeat([]float32{1}, 98), 0.01, 0.01), 0},
	} {
		if got := chosen(c.logits, ious); got != c.want {
			t.Errorf("%s: mask %d, want %d", name, got, c.want)
		}
	}
}

func TestPromptsWithoutCandidatesAreRefused(t *testing.T) {
	b := open(t, nil)
	f := b.frame(0)
	for name, prompts := range map[string][]model.Prompt{
		"none":          nil,
		"a drawn mask":  b.drawn()[:1],
		"mixed kinds":   {{Multimask: true}, {}},
		"ragged points": {{Points: click(1, 1)}, {}},
	} {
		if _, err := b.DecodeCandidates(f, prompts); !errors.Is(err, ErrArgument) {
			t.Errorf("%s: got %v, want ErrArgument", name, err)
		}
	}
	full := tensor.NewPool("full", tensor.Host(), 1)
	b.Network.pool = full
	if _, err := b.DecodeCandidates(f, []model.Prompt{{}}); !errors.Is(err, tensor.ErrExhausted) {
		t.Errorf("a spent pool gave %v", err)
	}
	tensor.NoLeaks(t, full)
}
