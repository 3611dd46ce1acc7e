package ort

import (
	"errors"
	"fmt"
	"testing"

	"maskstream/model"
	"maskstream/tensor"
)

// An object's masks must not depend on which other objects are tracked with it.
func TestObjectsInABatchAreAsAlone(t *testing.T) {
	b := open(t, nil)
	f := b.frame(1)
	predictions := b.prompts(b.frame(0))
	all := b.memories(f, predictions)
	points := func(x float32) []model.Point { return []model.Point{{X: x, Y: 100, Label: model.Positive}} }
	prompts := []model.Prompt{
		{Points: points(190), Multimask: true},
		{Points: points(60), Logits: own(b, predictions[0].Logits.Index(0), nil)},
		{Points: points(120)},
		{Points: points(20), Multimask: true, Logits: own(b, predictions[1].Logits.Index(0), nil)},
	}
	var attentions []model.Attention
	for i := range prompts {
		attentions = append(attentions, model.Attention{
			Memories: []model.SpatialMemory{{Features: own(b, all.Index(i%3), nil), Temporal: 6}, {Features: own(b, all.Index((i+1)%3), nil), Temporal: i}},
			Pointers: []model.Pointer{{Vector: own(b, predictions[i].Pointers.Index(0), nil), Distance: float32(i)}},
		})
	}
	track := func(first, end int) (*tensor.Tensor, *model.Prediction, *tensor.Tensor) {
		e, err := b.AttendMemory(f, attentions[first:end])
		own(b, e, err)
		p, err := b.DecodeMasks(f, e, prompts[first:end])
		own(b, p, err)
		m, err := b.EncodeMemory(f, p.Logits, p.ObjectScores, []bool{true, false, true, false}[first:end])
		return e, p, own(b, m, err)
	}
	for n := 1; n <= len(prompts); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			b := *b
			b.TB = t
			batchE, batchP, batchM := track(0, n)
			for i := range n {
				e, p, m := track(i, i+1)
				row := func(t *tensor.Tensor) []float32 { return t.Float32s()[i*t.Len()/n : (i+1)*t.Len()/n] }
				b.same("embedding", row(batchE), e.Float32s(), 2e-5)
				b.same("logits", row(batchP.Logits), p.Logits.Float32s(), 2e-5)
				b.same("pointer", row(batchP.Pointers), p.Pointers.Float32s(), 5e-5)
				b.same("iou and score", []float32{batchP.PredictedIoU[i], batchP.ObjectScores[i]}, []float32{p.PredictedIoU[0], p.ObjectScores[0]}, 2e-5)
				wide := widen(batchM)
				b.roundedAlike("memory", wide[i*len(wide)/n:(i+1)*len(wide)/n], widen(m))
			}
		})
	}
}

func TestDrawnMasksAndClicksMix(t *testing.T) {
	b := open(t, nil)
	f := b.frame(0)
	drawn := b.drawn()
	e, err := b.pool.New(tensor.Float32, 4, b.Config().EmbedDim, b.Config().Cells(), b.Config().Cells())
	own(b, e, err)
	for i := range e.Float32s() { // what the drawn masks must not see
		e.Float32s()[i] = float32(i%7) / 7
	}
	p, err := b.DecodeMasks(f, e, []model.Prompt{{Multimask: true}, drawn[0], drawn[1], {}})
	own(b, p, err)
	b.nearPrediction("mask/0", p, 1)
	b.nearPrediction("mask/1", p, 2)
}

func TestWhatIsNoBatchIsRefused(t *testing.T) {
	b := open(t, nil)
	f := b.frame(0)
	click := model.Prompt{Points: []model.Point{{X: 1, Y: 1, Label: model.Positive}}}
	small, err := b.pool.New(tensor.Float32, 2, 2)
	own(b, small, err)
	for name, call := range map[string]func() error{
		"no pixels":              func() error { _, err := b.EncodeImage(nil); return err },
		"pixels of another size": func() error { _, err := b.EncodeImage(small); return err },
		"no prompts":             func() error { _, err := b.DecodeMasks(f, nil, nil); return err },
		"ragged points":          func() error { _, err := b.DecodeMasks(f, nil, []model.Prompt{click, {}}); return err },
		"a small mask":           func() error { _, err := b.DecodeMasks(f, nil, []model.Prompt{{Mask: small}}); return err },
		"small previous logits":  func() error { _, err := b.DecodeMasks(f, nil, []model.Prompt{{Logits: small}}); return err },
		"a mask and points": func() error {
			_, err := b.DecodeMasks(f, nil, []model.Prompt{{Mask: small, Points: click.Points}})
			return err
		},
		"alternatives for one of two": func() error {
			_, err := b.DecodeMasks(f, nil, []model.Prompt{{}, {Alternatives: true}})
			return err
		},
		"alternatives to a drawn mask": func() error {
			drawn := b.drawn()[0]
			drawn.Alternatives = true
			_, err := b.DecodeMasks(f, nil, []model.Prompt{drawn})
			return err
		},
		"an unknown label": func() error {
			_, err := b.DecodeMasks(f, nil, []model.Prompt{{Points: []model.Point{{Label: 4}}}})
			return err
		},
		"an embedding for another": func() error { _, err := b.DecodeMasks(f, small, []model.Prompt{click}); return err },
		"attention to nothing":     func() error { _, err := b.AttendMemory(f, []model.Attention{{}}); return err },
		"no attentions":            func() error { _, err := b.AttendMemory(f, nil); return err },
		"a memory of another size": func() error {
			_, err := b.AttendMemory(f, []model.Attention{{Memories: []model.SpatialMemory{{Features: small}}}})
			return err
		},
		"ragged attentions": func() error {
			p := model.Pointer{Vector: small}
			_, err := b.AttendMemory(f, []model.Attention{{Pointers: []model.Pointer{p}}, {Pointers: []model.Pointer{p, p}}})
			return err
		},
		"no masks to remember":   func() error { _, err := b.EncodeMemory(f, small, nil, nil); return err },
		"scores for other masks": func() error { _, err := b.EncodeMemory(f, small, []float32{1}, []bool{true, false}); return err },
		"no features":            func() error { _, err := b.EncodeMemory(nil, small, []float32{1}, []bool{true}); return err },
	} {
		if err := call(); !errors.Is(err, ErrArgument) {
			t.Errorf("%s: got %v, want ErrArgument", name, err)
		}
	}
}

func TestASpentPoolIsAnErrorAndLeaksNothing(t *testing.T) {
	b := open(t, nil)
	f := b.frame(0)
	full := tensor.NewPool("full", tensor.Host(), 1)
	b.Network.pool = full
	if _, err := b.DecodeMasks(f, nil, []model.Prompt{{}}); !errors.Is(err, tensor.ErrExhausted) {
		t.Errorf("got %v, want ErrExhausted", err)
	}
	tensor.NoLeaks(t, full)
}
