package frames

import "math"

// Subsampled chroma is brought to the picture's size by a bicubic filter, before the matrix. With a plane of cw samples for
// w pixels, pixel x lies at p = (x+½)·cw/w − ½ among the samples, i = ⌊p⌋, and sample i+j (held within the plane) weighs
//
//	w[j] = round(256·k(p−i−j)) for j = −1, 0, 1, and w[2] = 256 − w[−1] − w[0] − w[1]
//	k(t) = 1.4|t|³ − 2.4|t|² + 1 for |t| < 1, and −0.6(|t|³ − 5|t|² + 8|t| − 4) for |t| < 2
//
// The same holds for rows; 4:2:2 has all rows, with the one weight 256. Of both together one rounding is made:
// C = clamp((Σ wy·wx·sample + 32768) >> 16). This is libswscale's exact path (accurate_rnd, full chroma), its stretching of
// odd sizes included, to within 2 of 255 in a picture and 1 in a frame of 256×256; chroma repeated over 2×2 pixels, which
// libswscale's fast path does, is off from that by up to 12 there.
type taps struct {
	first  int       // sample i−1; may lie up to 2 outside the plane
	weight [4]uint64 // two's complement: sums are made in two lanes of 32 bits, which end up positive
}

const (
	chromaOne  = 256
	chromaBias = 96 // lanes hold chroma + 96, because the filter overshoots by up to 88 on both sides
	chromaSize = 512
	chromaPad  = 2 // repeated samples on each side of a row
	laneHigh   = 32
)

// bothLanes is v in each lane.
func bothLanes(v uint64) uint64 { return v | v<<laneHigh }

// tapsOf are the taps of every pixel along one dimension.
func tapsOf(pixels, samples int) []taps {
	kernel := func(t float64) float64 {
		t = math.Abs(t)
		switch {
		case t < 1:
			return (1.4*t-2.4)*t*t + 1
		case t < 2:
			return -0.6 * (((t-5)*t+8)*t - 4)
		}
		return 0
	}
	all := make([]taps, pixels)
	for x := range all {
		p := (float64(x)+0.5)*float64(samples)/float64(pixels) - 0.5
		i := math.Floor(p)
		rest := int64(chromaOne)
		for j := range 3 {
			w := int64(math.Round(chromaOne * kernel(p-i-float64(j-1))))
			all[x].weight[j] = uint64(w)
			rest -= w
		}
		all[x].weight[3] = uint64(rest)
		all[x].first = int(i) - 1
	}
	return all
}

// chroma reads the chroma of a picture row by row: U in the low lane, V in the high one.
type chroma struct {
	format        Format
	width, height int // of the picture
	columns, rows int // of its chroma planes

	down   []taps // per picture row; nil where every row has its own samples
	across []taps // per pixel; nil for even widths, which repeat two phases

	packed [4][]uint64 // the last rows of samples, row r in packed[r%4]
	held   [4]int      // which rows these are, −1 for none
	mixed  []uint64    // one row of 256·(sample + bias), with chromaPad more on each side
}

// start prepares for another picture.
func (c *chroma) start(p *Picture) {
	c.held = [4]int{-1, -1, -1, -1}
	if c.format == p.Format && c.width == p.Width && c.height == p.Height {
		return
	}
	c.format, c.width, c.height = p.Format, p.Width, p.Height
	c.columns, c.rows = (p.Width+1)/2, p.Height
	c.down, c.across = nil, nil
	switch p.Format {
	case YUV420P, NV12:
		c.rows = (p.Height + 1) / 2
		c.down = tapsOf(p.Height, c.rows)
	case YUV422P:
	case RGB24, Gray8, YUV444P:
		return
	}
	if p.Width%2 != 0 {
		c.across = tapsOf(p.Width, c.columns)
	}
	for i := range c.packed {
		c.packed[i] = make([]uint64, c.columns)
	}
	c.mixed = make([]uint64, c.columns+2*chromaPad)
}

// row is the samples for picture row y, filtered down but not yet across.
func (c *chroma) row(p *Picture, y int) []uint64 {
	inner := c.mixed[chromaPad : chromaPad+c.columns]
	const bias = chromaBias * chromaOne
	if c.down == nil {
		for i, s := range c.samples(p, y) {
			inner[i] = s*chromaOne + bothLanes(bias)
		}
	} else {
		t := &c.down[y]
		at := func(j int) []uint64 { return c.samples(p, min(max(t.first+j, 0), c.rows-1))[:len(inner)] }
		r0, r1, r2, r3 := at(0), at(1), at(2), at(3)
		w0, w1, w2, w3 := t.weight[0], t.weight[1], t.weight[2], t.weight[3]
		for i := range inner {
			inner[i] = r0[i]*w0 + r1[i]*w1 + r2[i]*w2 + r3[i]*w3 + bothLanes(bias)
		}
	}
	last := len(c.mixed) - 1
	c.mixed[0], c.mixed[1] = inner[0], inner[0]
	c.mixed[last], c.mixed[last-1] = inner[len(inner)-1], inner[len(inner)-1]
	return c.mixed
}

// samples is row r of the chroma planes, packed once for all the picture rows that need it.
func (c *chroma) samples(p *Picture, r int) []uint64 {
	dst := c.packed[r%4]
	if c.held[r%4] == r {
		return dst
	}
	c.held[r%4] = r
	if p.Format == NV12 {
		uv := p.plane(1, r, 2*c.columns)
		for i := range dst {
			s := uv[2*i : 2*i+2 : 2*i+2]
			dst[i] = uint64(s[0]) | uint64(s[1])<<laneHigh
		}
		return dst
	}
	u, v := p.plane(1, r, c.columns)[:len(dst)], p.plane(2, r, c.columns)[:len(dst)]
	for i := range dst {
		dst[i] = uint64(u[i]) | uint64(v[i])<<laneHigh
	}
	return dst
}
