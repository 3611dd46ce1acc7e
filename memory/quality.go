package memory

import (
	"math"
	"slices"

	"maskstream/memory/motion"
)

// goodIoU is how good a mask has to be predicted to be remembered by quality (SAMURAI, memory_bank_iou_threshold).
const goodIoU = 0.5

// good says whether a frame is worth remembering: its mask is predicted to be good, the object is there, and where it was
// heading.
func (e *Entry) good() bool {
	return e.PredictedIoU > goodIoU && e.ObjectScore > 0 && e.Motion.Agreement > 0
}

// Motion is what was known of the object's motion on the frame before, in the pass's direction, and the step in time from there;
// nothing where that frame is not remembered.
func (b *Bank) Motion(frame int, direction Direction) (motion.Track, float64) {
	if e, ok := b.Find(direction.before(frame, 1)); ok {
		return e.Motion, direction.step()
	}
	return motion.Track{}, direction.step()
}

// recentByQuality are the neighbour, whatever it shows, and the nearest good frames behind it as far as the last prompt, from far
// to near. Their place in time is their rank, as if nothing had been between them. SAMURAI knows one prompt, at the start; a later
// one may put right what seemed good before, which by recency would soon be forgotten.
func (b *Bank) recentByQuality(frame int, direction Direction, p Policy, unselected []int) []Memory {
	furthest := b.furthest(frame, direction, unselected)
	var chosen []Memory
	for rank, distance := 1, 1; rank < p.NumMaskmem && distance <= furthest; distance++ {
		f := direction.before(frame, distance)
		e := b.recentOrUnselected(f, unselected)
		usable := e != nil && e.Features != nil
		if usable && (distance == 1 || e.good()) {
			chosen = append(chosen, Memory{f, e, rank - 1})
		}
		if distance == 1 || usable && e.good() {
			rank++ // the neighbour's place stays its own where it is missing
		}
	}
	slices.Reverse(chosen)
	return chosen
}

// furthest is how far behind memories are looked for: to the last prompted frame, or to the furthest one of all.
func (b *Bank) furthest(frame int, direction Direction, unselected []int) int {
	prompt, far := math.MaxInt, 0
	for f := range b.conditioning {
		if d := direction.From(f, frame); d > 0 {
			prompt = min(prompt, d)
		}
	}
	for f := range b.recent {
		far = max(far, direction.From(f, frame))
	}
	for _, f := range unselected {
		far = max(far, direction.From(f, frame))
	}
	return min(prompt, far)
}

// keepGood lists the newest good recent frames whose features outlive Retention.Spatial.
func (b *Bank) keepGood(newest int) map[int]bool {
	if b.retention.Good == 0 {
		return nil
	}
	kept := map[int]bool{}
	recent := b.Frames(Recent)
	slices.SortStableFunc(recent, func(f, g int) int { return b.behind(newest, f) - b.behind(newest, g) })
	for _, f := range recent {
		if e := b.recent[f]; len(kept) < b.retention.Good && e.Features != nil && e.good() {
			kept[f] = true
		}
	}
	return kept
}
