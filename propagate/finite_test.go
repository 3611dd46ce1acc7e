package propagate

import (
	"math"
	"slices"
	"testing"

	"maskstream/memory"
	"maskstream/model"
	"maskstream/tensor"
)

// broken is a network that spoils what its decoder answers.
type broken struct {
	model.Network
	spoil func(*model.Prediction)
}

func (b *broken) DecodeMasks(features *model.Features, embedding *tensor.Tensor, prompts []model.Prompt) (*model.Prediction, error) {
	p, err := b.Network.DecodeMasks(features, embedding, prompts)
	if err == nil && b.spoil != nil {
		b.spoil(p)
	}
	return p, err
}

func TestWhatIsNoNumberReachesNeitherResultsNorMemories(t *testing.T) {
	nan, infinite := float32(math.NaN()), float32(math.Inf(1))
	for name, c := range map[string]struct {
		spoil  func(*model.Prediction)
		absent bool
	}{
		"score":          {func(p *model.Prediction) { p.ObjectScores[0] = nan }, true},
		"logit":          {func(p *model.Prediction) { p.Logits.Float32s()[lowRes*lowRes-1] = nan }, true},
		"infinite score": {func(p *model.Prediction) { p.ObjectScores[0] = infinite }, false},
		"infinite logit": {func(p *model.Prediction) { p.Logits.Float32s()[lowRes*lowRes-1] = infinite }, false},
		"predicted IoU":  {func(p *model.Prediction) { p.PredictedIoU[0] = nan }, false},
		"pointer":        {func(p *model.Prediction) { p.Pointers.Float32s()[0] = nan }, false},
	} {
		for _, motion := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				var told []int
				w := newWorld(t, func(o *Options) {
					o.MotionAware, o.NotFinite = motion, func(frame int) { told = append(told, frame) }
				})
				network := &broken{Network: w.network}
				w.tracker.Close()
				w.tracker = New(network, w.tracker.options)
				w.network.Encoded = func(logits *tensor.Tensor, scores []float32, _ []bool) {
					if slices.ContainsFunc(logits.Float32s(), bad) || slices.ContainsFunc(scores, bad) {
						t.Error("a memory is made of what is no number")
					}
				}
				w.prompt(0, 1, click(first(0)), both(0)...)
				w.prompt(0, 2, click(second(0)), both(0)...)
				w.commit()
				frame := w.scene.Frame(1, both(1)...)
				defer frame.Release()
				network.spoil = c.spoil
				r, err := w.tracker.Step(frame, memory.Forward)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range r.Objects {
					if bad(o.ObjectScore) || bad(o.PredictedIoU) || slices.ContainsFunc(o.Logits.Float32s(), bad) || slices.ContainsFunc(o.Pointer.Float32s(), bad) {
						t.Errorf("object %d: score %v, IoU %v, or a logit or pointer", o.ID, o.ObjectScore, o.PredictedIoU)
					}
				}
				got := look(r)
				if (got[0].area == 0) != c.absent || c.absent && got[0].score > 0 || !got[1].near(second(1)) {
					t.Errorf("%+v", got)
				}
				if !slices.Equal(told, []int{1}) {
					t.Errorf("told of frames %v", told)
				}
				network.spoil = nil
				if after := w.step(2, memory.Forward, both(2)...); !after[0].near(first(2)) || !after[1].near(second(2)) {
					t.Errorf("the next frame: %+v", after)
				}
				network.spoil = c.spoil
				if answer := w.prompt(3, 1, click(first(3)), both(3)...); bad(answer[0].score) {
					t.Errorf("the answer to a prompt: %+v", answer)
				}
			})
		}
	}
}
