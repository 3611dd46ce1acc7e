package propagate

import (
	"maskstream/memory"
	"maskstream/memory/motion"
	"maskstream/model"
)

// follow goes on with the objects' motion and puts the masks that it prefers in place of the answers. Where motion is not looked
// at, nothing is known and nothing changes.
func (t *Tracker) follow(frame int, objects []*object, p *model.Prediction, direction memory.Direction) []motion.Track {
	tracks := make([]motion.Track, len(objects))
	if !t.options.MotionAware {
		return tracks
	}
	for i, o := range objects {
		boxes, predictedIoU := t.choices(p, i)
		before, step := o.bank.Motion(frame, direction)
		var best int
		if tracks[i], best = before.Follow(step, boxes, predictedIoU); len(boxes) > 1 {
			take(p, i, firstChoice+best)
		}
	}
	return tracks
}

// firstChoice is the first of the masks among which Multimask chooses.
const firstChoice = 1

// choices are the masks that an object may have: one, and that an empty one, where it is absent.
func (t *Tracker) choices(p *model.Prediction, i int) (boxes []motion.Box, predictedIoU []float32) {
	a, side := p.Alternatives, t.network.Config().LowRes()
	switch {
	case p.ObjectScores[i] <= 0:
		return []motion.Box{{}}, p.PredictedIoU[i:][:1]
	case a == nil:
		return []motion.Box{motion.BoxOf(row(p.Logits.Float32s(), i, len(p.PredictedIoU)), side)}, p.PredictedIoU[i:][:1]
	}
	for k := firstChoice; k < model.Proposals; k++ {
		at := i*model.Proposals + k
		boxes = append(boxes, motion.BoxOf(row(a.Logits.Float32s(), at, len(a.PredictedIoU)), side))
		predictedIoU = append(predictedIoU, a.PredictedIoU[at])
	}
	return boxes, predictedIoU
}

// take makes a present object's kth mask its answer.
func take(p *model.Prediction, i, k int) {
	a, n := p.Alternatives, len(p.PredictedIoU)
	from, of := i*model.Proposals+k, n*model.Proposals
	copy(row(p.Logits.Float32s(), i, n), row(a.Logits.Float32s(), from, of))
	copy(row(p.Pointers.Float32s(), i, n), row(a.Pointers.Float32s(), from, of))
	p.PredictedIoU[i] = a.PredictedIoU[from]
}

// row is the ith of n equal parts.
func row(of []float32, i, n int) []float32 { return of[len(of)/n*i:][:len(of)/n] }
