package frames

import (
	"fmt"
	"sync"

	"maskstream/tensor"
)

// Converter makes frames of pictures: upright, RGB, squashed to size×size by the antialiased bilinear filter of [axis],
// normalised by ImageNet's mean and deviation. It keeps the filter and its buffers from picture to picture, so a stream
// allocates nothing but tensors. One goroutine at a time.
type Converter struct {
	// Workers is how many goroutines share one picture. Default 1: a service has other streams for its other cores.
	Workers int

	size int
	pool *tensor.Pool

	normalisation
	bands []*resampler
}

// NewConverter returns a converter to 1×3×size×size tensors out of pool, which is at home on the host.
func NewConverter(size int, pool *tensor.Pool) *Converter {
	return &Converter{Workers: 1, size: size, pool: pool, normalisation: newNormalisation()}
}

// Size is the side of the frames' square.
func (c *Converter) Size() int { return c.size }

// Convert borrows p; the frame, which is the caller's, retains it. It wraps [tensor.ErrExhausted] where the pool is spent.
func (c *Converter) Convert(p *Picture) (*Frame, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	pixels, err := c.pool.New(tensor.Float32, 1, 3, c.size, c.size)
	if err != nil {
		return nil, fmt.Errorf("frames: converting picture %d: %w", p.Meta.Frame, err)
	}
	c.plan(p)
	out := pixels.Float32s()
	if len(c.bands) == 1 {
		c.band(p, 0, out)
	} else {
		var group sync.WaitGroup
		for i := range c.bands {
			group.Go(func() { c.band(p, i, out) })
		}
		group.Wait()
	}
	return NewFrame(pixels, p.Retain()), nil
}

// plan makes the filters for the picture's size, where the last ones do not fit.
func (c *Converter) plan(p *Picture) {
	workers := min(max(c.Workers, 1), c.size)
	if len(c.bands) == workers && c.bands[0].x.in == p.Width && c.bands[0].y.in == p.Height {
		return
	}
	x, y := newAxis(p.Width, c.size), newAxis(p.Height, c.size)
	c.bands = make([]*resampler, workers)
	for i := range c.bands {
		c.bands[i] = newResampler(x, y)
	}
}

// band makes its share of the output rows, counted in stored orientation: a rotation is a matter of where values are put.
func (c *Converter) band(p *Picture, i int, out []float32) {
	first, last := i*c.size/len(c.bands), (i+1)*c.size/len(c.bands)
	r := c.bands[i]
	if p.Width == c.size && p.Height == c.size {
		r.reader.start(p)
		for y := first; y < last; y++ {
			r.reader.row(p, y, r.words)
			c.putExact(p.Rotation, y, r.words, out)
		}
		return
	}
	r.run(p, first, last, func(o int, row floats, scale float32) { c.put(p.Rotation, o, row, scale, out) })
}

func (c *Converter) put(rotation Rotation, o int, row floats, scale float32, out []float32) {
	n, area := c.size, c.size*c.size
	base, step := place(rotation, o, n, n)
	for channel := range 3 {
		src, plane := row[channel*n:][:n], out[channel*area:][:area]
		gain, offset := c.gain[channel]*scale, c.offset[channel]
		if step == 1 {
			dst := plane[base:][:len(src)]
			for j, v := range src {
				dst[j] = v*gain + offset
			}
			continue
		}
		at := base
		for _, v := range src {
			plane[at] = v*gain + offset
			at += step
		}
	}
}

func (c *Converter) putExact(rotation Rotation, o int, words []uint32, out []float32) {
	area := c.size * c.size
	at, step := place(rotation, o, c.size, c.size)
	r, g, b := out[:area], out[area:2*area], out[2*area:3*area]
	for _, p := range words {
		r[at] = c.exact[0][uint8(p)]
		g[at] = c.exact[1][uint8(p>>8)]
		b[at] = c.exact[2][uint8(p>>16)]
		at += step
	}
}
