package propagate

// holeLogit is what a filled hole becomes (utils/misc.py, fill_holes_in_mask_scores).
const holeLogit = 0.1

// fillHoles raises 8-connected background components, logits ≤ 0, of at most area cells in an h×w map to 0.1. NaN is neither
// background nor filled.
func fillHoles(logits []float32, h, w, area int) {
	if area <= 0 {
		return
	}
	seen := make([]bool, h*w)
	var stack, component []int32
	for start := range logits {
		if seen[start] || !(logits[start] <= 0) {
			continue
		}
		seen[start] = true
		stack, component = append(stack[:0], int32(start)), component[:0]
		size := 0
		for len(stack) > 0 {
			at := int(stack[len(stack)-1])
			stack = stack[:len(stack)-1]
			if size++; size <= area {
				component = append(component, int32(at))
			}
			y, x := at/w, at%w
			for ny := max(0, y-1); ny <= min(h-1, y+1); ny++ {
				for nx := max(0, x-1); nx <= min(w-1, x+1); nx++ {
					if next := ny*w + nx; !seen[next] && logits[next] <= 0 {
						seen[next] = true
						stack = append(stack, int32(next))
					}
				}
			}
		}
		if size <= area {
			for _, at := range component {
				logits[at] = holeLogit
			}
		}
	}
}
