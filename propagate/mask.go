package propagate

import (
	"math"

	"maskstream/rle"
	"maskstream/tensor"
)

// drawnMask is a mask at the model's size, size×size float32 of 0 and 1: resized bilinearly with antialias and cut at ≥ 0.5
// where it has another size (add_new_mask).
func drawnMask(pool *tensor.Pool, m *rle.Mask, size int) (*tensor.Tensor, error) {
	t, err := pool.New(tensor.Float32, size, size)
	if err != nil {
		return nil, err
	}
	pixels := t.Float32s()
	if m.Height == size && m.Width == size {
		columnMajor(m, func(y, x int) { pixels[y*size+x] = 1 }, pixels)
		return t, nil
	}
	source := make([]float32, m.Height*m.Width)
	columnMajor(m, func(y, x int) { source[y*m.Width+x] = 1 }, source)
	across := resample(source, m.Height, m.Width, size) // size×Height, transposed
	down := resample(across, size, m.Height, size)      // size×size, upright again
	for i, v := range down {
		if v >= 0.5 {
			pixels[i] = 1
		} else {
			pixels[i] = 0
		}
	}
	return t, nil
}

// columnMajor clears pixels and calls set for each pixel of m that is set.
func columnMajor(m *rle.Mask, set func(y, x int), pixels []float32) {
	clear(pixels)
	at := 0
	for i, run := range m.Runs {
		if i&1 == 1 {
			for p := at; p < at+int(run); p++ {
				set(p%m.Height, p/m.Height)
			}
		}
		at += int(run)
	}
}

// resample resizes the rows of an h×w map to the given width with torch's antialiased triangle filter, and returns the result
// transposed, width×h: calling it twice resizes both ways.
func resample(source []float32, h, w, width int) []float32 {
	scale := float64(w) / float64(width)
	support := max(scale, 1) // the triangle widens when it shrinks
	result := make([]float32, width*h)
	weights := make([]float32, 0, 2*int(math.Ceil(support))+1)
	for x := range width {
		centre := scale * (float64(x) + 0.5)
		from := max(0, int(centre-support+0.5))
		to := min(w, int(centre+support+0.5))
		weights = weights[:0]
		var total float32
		for i := from; i < to; i++ {
			weight := float32(max(0, 1-math.Abs((float64(i)-centre+0.5)/support)))
			weights = append(weights, weight)
			total += weight
		}
		for y := range h {
			var sum float32
			row := source[y*w+from : y*w+to]
			for i, weight := range weights {
				sum += row[i] * (weight / total)
			}
			result[x*h+y] = sum
		}
	}
	return result
}
