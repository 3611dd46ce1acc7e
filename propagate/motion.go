package propagate

import (
	"maskstream/memory"
	"maskstream/memory/motion"
	"maskstream/model"
	"maskstream/tensor"
)

// follow goes on with the objects' motion and puts the mask that it chooses in place of each answer. Without motion awareness
// nothing is known and nothing changes.
func (t *Tracker) follow(frame int, objects []*object, p *model.Prediction, direction memory.Direction) []motion.Track {
	tracks := make([]motion.Track, len(objects))
	if !t.options.MotionAware {
		return tracks
	}
	for i, o := range objects {
		before, step := o.bank.Motion(frame, direction)
		boxes, ious := []motion.Box{{}}, p.PredictedIoU[i:i+1]
		switch {
		case p.ObjectScores[i] <= 0: // absent: whichever mask, it is empty
		case p.Alternatives == nil:
			boxes[0] = boxOf(row(p.Logits, i))
		default:
			boxes = boxes[:0]
			ious = p.Alternatives.PredictedIoU[i*model.Proposals+1 : (i+1)*model.Proposals]
			for k := 1; k < model.Proposals; k++ {
				boxes = append(boxes, boxOf(row(p.Alternatives.Logits, i*model.Proposals+k)))
			}
		}
		var best int
		tracks[i], best = before.Follow(step, boxes, ious)
		if len(boxes) > 1 {
			choose(p, i, 1+best)
		}
	}
	return tracks
}
