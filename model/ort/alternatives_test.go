package ort

import (
	"slices"
	"strings"
	"testing"

	"maskstream/model"
)

// Asking for alternatives changes nothing in the answer, and the answer is one of them.
func TestAlternativesHoldTheAnswer(t *testing.T) {
	for name, change := range map[string]func(string, []float32){
		"present": nil,
		"absent": func(name string, weight []float32) {
			if strings.HasSuffix(name, "pred_obj_score_head.layers.2.bias") {
				weight[0] = -1000
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, change)
			f := b.frame(0)
			var prompts []model.Prompt
			for _, x := range []float32{190, 60, 120} {
				prompts = append(prompts, model.Prompt{Multimask: true, Points: []model.Point{{X: x, Y: 128, Label: model.Positive}}})
			}
			plain, err := b.DecodeMasks(f, nil, prompts)
			own(b, plain, err)
			for i := range prompts {
				prompts[i].Alternatives = true
			}
			p, err := b.DecodeMasks(f, nil, prompts)
			own(b, p, err)
			if plain.Alternatives != nil || p.Alternatives == nil {
				t.Fatalf("alternatives %v and %v", plain.Alternatives, p.Alternatives)
			}
			if !slices.Equal(p.Logits.Bytes(), plain.Logits.Bytes()) || !slices.Equal(p.Pointers.Bytes(), plain.Pointers.Bytes()) ||
				!slices.Equal(p.PredictedIoU, plain.PredictedIoU) || !slices.Equal(p.ObjectScores, plain.ObjectScores) {
				t.Error("the answer is another one")
			}
			a := p.Alternatives
			part := func(of []float32, i, n int) []float32 { return of[len(of)/n*i:][:len(of)/n] }
			for i := range prompts {
				ious := part(a.PredictedIoU, i, len(prompts))
				best := slices.Index(ious, slices.Max(ious[1:]))
				at, all := i*model.Proposals+best, len(prompts)*model.Proposals
				if p.PredictedIoU[i] != ious[best] {
					t.Errorf("prompt %d: predicted IoU %v, of %v", i, p.PredictedIoU[i], ious)
				}
				b.same("pointer", part(a.Pointers.Float32s(), at, all), part(p.Pointers.Float32s(), i, len(prompts)), 5e-5)
				logits := part(a.Logits.Float32s(), at, all)
				if name == "present" {
					b.same("logits", logits, part(p.Logits.Float32s(), i, len(prompts)), 0)
				} else if p.ObjectScores[i] > 0 || slices.Max(logits) == model.NoObjectLogit {
					t.Errorf("prompt %d: score %v, and alternatives are gated", i, p.ObjectScores[i])
				}
			}
		})
	}
}
