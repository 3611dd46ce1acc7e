package frames

import (
	"encoding/binary"
	"image"
)

// Painter makes upright pictures for people: previews and overlays. The zero value paints at full size. It keeps its buffers
// from picture to picture; one goroutine at a time.
type Painter struct {
	// Limit is the most pixels on the longer side; larger pictures are reduced by the antialiased filter. 0 is no limit.
	Limit int

	reader    rowReader
	words     []uint32
	resampler *resampler
}

// Paint borrows p and returns it as an opaque image: dst, painted over, where dst has the wanted size, else a new one
// (also where dst is nil).
func (t *Painter) Paint(p *Picture, dst *image.RGBA) (*image.RGBA, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	storedW, storedH := t.reduced(p.Width, p.Height)
	w, h := storedW, storedH
	if p.Rotation.sideways() {
		w, h = h, w
	}
	if bounds := image.Rect(0, 0, w, h); dst == nil || dst.Rect != bounds || dst.Stride != 4*w {
		dst = image.NewRGBA(bounds)
	}
	if storedW == p.Width && storedH == p.Height {
		if len(t.words) != p.Width {
			t.words = make([]uint32, p.Width)
		}
		t.reader.start(p)
		for y := range p.Height {
			t.reader.row(p, y, t.words)
			base, step := place(p.Rotation, y, w, h)
			putWords(dst.Pix, t.words, base, step)
		}
		return dst, nil
	}
	if r := t.resampler; r == nil || r.x.in != p.Width || r.y.in != p.Height || r.x.out != storedW || r.y.out != storedH {
		t.resampler = newResampler(newAxis(p.Width, storedW), newAxis(p.Height, storedH))
	}
	t.resampler.run(p, 0, storedH, func(o int, row floats, scale float32) {
		base, step := place(p.Rotation, o, w, h)
		putFloats(dst.Pix, row, scale, base, step)
	})
	return dst, nil
}

// reduced is the size within the limit, with the same proportions.
func (t *Painter) reduced(w, h int) (int, int) {
	longest := max(w, h)
	if t.Limit <= 0 || longest <= t.Limit {
		return w, h
	}
	return max(1, (w*t.Limit+longest/2)/longest), max(1, (h*t.Limit+longest/2)/longest)
}

func putWords(pix []byte, words []uint32, base, step int) {
	if step == 1 {
		dst := pix[4*base:][:4*len(words)]
		for i, w := range words {
			binary.LittleEndian.PutUint32(dst[4*i:4*i+4], w)
		}
		return
	}
	for _, w := range words {
		binary.LittleEndian.PutUint32(pix[4*base:4*base+4], w)
		base += step
	}
}

func putFloats(pix []byte, row floats, scale float32, base, step int) {
	n := len(row) / 3
	r, g, b := row[:n], row[n:2*n], row[2*n:][:n]
	for i := range n {
		p := pix[4*base : 4*base+4 : 4*base+4]
		p[0], p[1], p[2], p[3] = round(r[i]*scale), round(g[i]*scale), round(b[i]*scale), 255
		base += step
	}
}

// round is for values that a filter with weights of sum 1 made of bytes: float error aside, they are within 0 … 255.
func round(v float32) byte { return byte(min(max(int32(v+0.5), 0), 255)) }
