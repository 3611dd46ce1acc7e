package motion

// SAMURAI's constants.
const (
	stableFrames = 15   // stable_frames_threshold: seen so often in a row, the motion has a say
	stableIoU    = 0.3  // stable_ious_threshold: a mask predicted to be worse was not seen
	motionWeight = 0.15 // kf_score_weight
)

// Track is what is known of one object's motion after a frame. It is a value: to go on from one frame twice, as in a pass back and
// another on, keep a copy. The zero value knows nothing.
type Track struct {
	// Agreement is the IoU of the frame's box with the one that the motion led to expect; 1 where it led to expect nothing yet.
	Agreement float64

	filter filter
	seen   int // frames in a row, up to stableFrames; 0: the filter means nothing
	unseen int // frames in a row
}

// Start is a track that begins with a box that is certain, as that of a prompted mask. An empty one says nothing.
func Start(b Box) Track {
	if b.Empty() {
		return Track{Agreement: 1}
	}
	return Track{Agreement: 1, filter: start(b), seen: 1}
}

// Follow goes on by one frame, forwards in time (1) or backwards (−1), and chooses among its masks, of which there is at least one:
// by predicted IoU alone until the object has been seen for a while, then also by where they lie. Of equals the first is chosen.
// Box and predicted IoU of the chosen mask become part of the track.
//
// Unlike SAMURAI's own code, an empty mask is not taken for a box in the corner: the object moves on unseen, and is forgotten when
// it has been unseen as long as it takes to be known.
func (t Track) Follow(frames float64, boxes []Box, predictedIoU []float32) (Track, int) {
	if t.seen == 0 {
		best := greatest(predictedIoU)
		return Start(boxes[best]), best
	}
	t.filter.predict(frames)
	t.Agreement = 1
	expected := t.filter.box()
	scores := predictedIoU
	if t.seen >= stableFrames {
		scores = make([]float32, len(boxes))
		for i, b := range boxes {
			scores[i] = motionWeight*float32(expected.IoU(b)) + (1-motionWeight)*predictedIoU[i]
		}
	}
	best := greatest(scores)
	if t.seen >= stableFrames {
		t.Agreement = expected.IoU(boxes[best])
	}
	switch {
	case boxes[best].Empty():
		if t.unseen++; t.unseen >= stableFrames {
			t.seen = 0
		}
	case predictedIoU[best] > stableIoU:
		t.filter.update(boxes[best])
		t.seen, t.unseen = min(t.seen+1, stableFrames), 0
	default:
		t.seen = 0
	}
	return t, best
}

func greatest(of []float32) int {
	best := 0
	for i, v := range of {
		if v > of[best] {
			best = i
		}
	}
	return best
}
