package rle

// axis says, for one direction, which two low-resolution samples lie around each output pixel, and how much each counts. It
// restates torch.nn.functional.interpolate(mode="bilinear", align_corners=False) in float32: output pixel i looks at
// scale·(i+½)−½, not below 0, with scale = low/full; beyond the last sample there is only that one.
//
// Output pixels between samples k and k+1 form cell k. Cells follow one another, so a cell is a range of pixels.
type axis struct {
	low, full int
	first     []int     // low+1: cell k has the pixels first[k] … first[k+1]−1 (none, where the picture shrinks)
	near, far []float32 // full: the weights of samples k and k+1
}

// fit computes the axis anew where it is not that of low samples and full pixels already.
func (a *axis) fit(low, full int) {
	if a.low == low && a.full == full {
		return
	}
	*a = axis{low: low, full: full, first: resize(a.first, low+1), near: resize(a.near, full), far: resize(a.far, full)}
	scale := float32(low) / float32(full)
	next := 0 // the first cell whose range is not known yet
	for i := range full {
		at := float32(scale*(float32(i)+0.5)) - 0.5
		at = max(at, 0)
		cell := min(int(at), low-1)
		for ; next <= cell; next++ {
			a.first[next] = i
		}
		a.far[i] = min(at-float32(cell), 1)
		a.near[i] = 1 - a.far[i]
	}
	for ; next <= low; next++ {
		a.first[next] = full
	}
}

// resize returns a slice of n elements with undefined contents, s where it is large enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// between is near·a + far·b, each product rounded by itself: fusing them, as some processors would, moves results.
func between(near, a, far, b float32) float32 { return float32(near*a) + float32(far*b) }
