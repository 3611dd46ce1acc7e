package amg

// What small regions become (utils/transforms.py, postprocess_masks).
const (
	filledHole   = 10
	removedSpeck = -10
)

// clean fills holes and removes specks of at most area cells, 8-connected, in a map of side×side logits. As in the reference
// both are looked for in the map as it was, and around 0 whatever the mask's threshold. NaN is neither.
func clean(logits []float32, side, area int) {
	const none, background, foreground = 0, 1, 2
	kinds := make([]uint8, len(logits)) // of cells not yet visited
	for i, v := range logits {
		switch {
		case v > 0:
			kinds[i] = foreground
		case v <= 0:
			kinds[i] = background
		}
	}
	var stack, region []int32
	for start := range kinds {
		kind := kinds[start]
		if kind == none {
			continue
		}
		kinds[start] = none
		stack, region = append(stack[:0], int32(start)), region[:0]
		size := 0
		for len(stack) > 0 {
			at := int(stack[len(stack)-1])
			stack = stack[:len(stack)-1]
			if size++; size <= area {
				region = append(region, int32(at))
			}
			y, x := at/side, at%side
			for ny := max(0, y-1); ny <= min(side-1, y+1); ny++ {
				for nx := max(0, x-1); nx <= min(side-1, x+1); nx++ {
					if next := ny*side + nx; kinds[next] == kind {
						kinds[next] = none
						stack = append(stack, int32(next))
					}
				}
			}
		}
		if size > area {
			continue
		}
		becomes := float32(filledHole)
		if kind == foreground {
			becomes = removedSpeck
		}
		for _, at := range region {
			logits[at] = becomes
		}
	}
}
