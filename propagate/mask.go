package propagate

import (
	"sort"

	"maskstream/rle"
	"maskstream/tensor"
)

// drawnMask is a mask at the model's size, size×size float32 of 0 and 1: resized bilinearly with antialias and cut at ≥ 0.5
// where it has another size (add_new_mask). The mask is never unpacked at its own size.
func drawnMask(pool *tensor.Pool, m *rle.Mask, size int) (*tensor.Tensor, error) {
	t, err := pool.New(tensor.Float32, size, size)
	if err != nil {
		return nil, err
	}
	pixels := t.Float32s()
	clear(pixels)
	if m.Height == size && m.Width == size {
		m.EachColumn(func(x, y0, y1 int) {
			for y := y0; y < y1; y++ {
				pixels[y*size+x] = 1
			}
		})
		return t, nil
	}
	across, down := windows(m.Width, size), windows(m.Height, size)
	narrow := make([]float32, size*m.Height) // column after column
	m.EachColumn(func(x, y0, y1 int) {
		first := sort.Search(size, func(i int) bool { return across[i].from+len(across[i].weights) > x })
		for i := first; i < size && across[i].from <= x; i++ {
			weight := across[i].weights[x-across[i].from]
			for y := y0; y < y1; y++ {
				narrow[i*m.Height+y] += weight
			}
		}
	})
	for x := range size {
		column := narrow[x*m.Height:][:m.Height]
		for y, window := range down {
			var sum float32
			for i, weight := range window.weights {
				sum += column[window.from+i] * weight
			}
			if sum >= 0.5 {
				pixels[y*size+x] = 1
			}
		}
	}
	return t, nil
}

// window is what one output of a resize is made of: weights of the pixels from a first one on, which sum to 1.
type window struct {
	from    int
	weights []float32
}

// windows is the antialiased triangle filter that resizes from to to pixels, in float32 as torch's interpolate(mode="bilinear",
// antialias=True) computes it.
func windows(from, to int) []window {
	scale := float32(from) / float32(to)
	support := max(scale, 1) // the triangle widens when it shrinks
	all := make([]window, to)
	for x := range all {
		centre := scale * (float32(x) + 0.5)
		w := window{from: max(0, int(centre-support+0.5))}
		var total float32
		for i := w.from; i < min(from, int(centre+support+0.5)); i++ {
			away := (float32(i) - centre + 0.5) / support
			weight := max(0, 1-max(away, -away))
			w.weights = append(w.weights, weight)
			total += weight
		}
		for i := range w.weights {
			w.weights[i] /= total
		}
		all[x] = w
	}
	return all
}
