package memory

import (
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

// recentByQuality are the neighbour, whatever it shows, and the nearest good frames behind it, from far to near. Their place in
// time is their rank: SAMURAI's frames are as if nothing had been between them.
func (b *Bank) recentByQuality(frame int, direction Direction, p Policy, unselected []int) []Memory {
	furthest := 0
	for f := range b.recent {
		furthest = max(furthest, direction.distance(frame, f))
	}
	for _, f := range unselected {
		furthest = max(furthest, direction.distance(frame, f))
	}
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

// keepGood lists the newest good recent frames whose features outlive Retention.Spatial.
func (b *Bank) keepGood() map[int]bool {
	if b.retention.Good == 0 {
		return nil
	}
	kept := map[int]bool{}
	for _, f := range slices.Backward(b.Frames(Recent)) {
		if e := b.recent[f]; len(kept) < b.retention.Good && e.Features != nil && e.good() {
			kept[f] = true
		}
	}
	return kept
}
