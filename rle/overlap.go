package rle

// FromLogitsNonOverlapping encodes the maps of several objects such that no pixel belongs to two: where the interpolated logits
// of several are above 0, the highest keeps it, and of equals the first. A nil map is an object that is absent everywhere. Maps
// are only read; sizes as for [Encoder.FromLogits].
//
// Objects seldom overlap, so each map is encoded by itself first. For two that do, the sign of the interpolated difference says
// who is higher where; interpolation being linear, that is the interpolation of their difference, so it is one more mask.
func (e *Encoder) FromLogitsNonOverlapping(maps [][]float32, lowH, lowW, height, width int) []Mask {
	masks := make([]Mask, len(maps))
	boxes := make([][4]int, len(maps)) // of the masks before anything is taken from them
	for i, logits := range maps {
		if logits == nil {
			masks[i] = Empty(height, width)
			continue
		}
		masks[i] = e.FromLogits(logits, lowH, lowW, height, width)
		boxes[i] = masks[i].Box()
	}
	for i := range masks {
		for j := i + 1; j < len(masks); j++ {
			if !boxesTouch(boxes[i], boxes[j]) || !overlap(masks[i], masks[j]) {
				continue
			}
			e.lead = resize(e.lead, lowH*lowW)
			for k, first := range maps[i] {
				e.lead[k] = maps[j][k] - first
			}
			later := e.FromLogits(e.lead, lowH, lowW, height, width) // where the later of the two is strictly higher
			masks[i] = combine(difference, masks[i], later)
			masks[j] = combine(Intersection, masks[j], later)
		}
	}
	return masks
}

func boxesTouch(a, b [4]int) bool {
	return a[0] < b[0]+b[2] && b[0] < a[0]+a[2] && a[1] < b[1]+b[3] && b[1] < a[1]+a[3]
}

func overlap(a, b Mask) bool {
	for _, pixel := range overlay(a.Runs, b.Runs) {
		if pixel == both {
			return true
		}
	}
	return false
}
