package frames

import "math"

// axis is the antialiased bilinear filter along one dimension, as torch's interpolate(mode="bilinear", antialias=True,
// align_corners=False) defines it (ATen, UpSampleKernel.cpp): output o sits at c = (o+½)·in/out, and the pixel at x+½ weighs
// 1 − |x+½ − c|/radius, where that is positive, over the sum of the weights; the radius is in/out, and 1 when enlarging.
//
// When reducing, a pixel lies between two neighbouring centres and weighs on just these two: t on the right one and 1−t on
// the left one. So the pixels fall into out+1 segments, segment s between centre s−1 and centre s, and every pixel is read
// once. When enlarging, an output lies between two pixels.
type axis struct {
	in, out  int
	segments []segment // reducing: out+1 of them
	step     float64   // reducing: t grows by this from pixel to pixel
	inverse  []float32 // reducing: 1 / sum of the weights of an output
	between  []between // enlarging: one per output
}

// segment is n pixels between two centres; the first has the weight t0 on the right one.
type segment struct {
	first, n int
	t0       float64
}

// between is an output's place between pixels i and j: (1−t)·p[i] + t·p[j].
type between struct {
	i, j int
	t    float32
}

func newAxis(in, out int) *axis {
	a := &axis{in: in, out: out}
	scale := float64(in) / float64(out)
	if in < out {
		a.between = make([]between, out)
		for o := range a.between {
			at := scale*(float64(o)+0.5) - 0.5
			i := math.Floor(at)
			a.between[o] = between{i: max(int(i), 0), j: min(int(i)+1, in-1), t: float32(at - i)}
		}
		return a
	}
	a.step = 1 / scale
	a.segments = make([]segment, out+1)
	sums := make([]float64, out+2) // sums[s] is output s−1, with one to spare on each side
	x := 0
	for s := range a.segments {
		left := scale * (float64(s) - 0.5)
		g := segment{first: x, t0: (float64(x) + 0.5 - left) / scale}
		for x < in && (s == out || float64(x)+0.5 < left+scale) {
			t := (float64(x) + 0.5 - left) / scale
			sums[s] += 1 - t
			sums[s+1] += t
			x++
		}
		g.n = x - g.first
		a.segments[s] = g
	}
	a.inverse = make([]float32, out)
	for o := range a.inverse {
		a.inverse[o] = float32(1 / sums[o+1])
	}
	return a
}

// filter resamples a row of RGBA words into three rows of floats of a.out each, 0 … 255.
func (a *axis) filter(src []uint32, r, g, b []float32) {
	r, g, b = r[:a.out], g[:a.out], b[:a.out]
	if a.between != nil {
		a.enlarge(src, r, g, b)
		return
	}
	a.reduce(src, r, g, b)
}

func (a *axis) enlarge(src []uint32, r, g, b []float32) {
	for o, at := range a.between[:len(r)] {
		p, q := src[at.i], src[at.j]
		pr, pg, pb := float32(p&0xff), float32(p>>8&0xff), float32(p>>16&0xff)
		r[o] = pr + (float32(q&0xff)-pr)*at.t
		g[o] = pg + (float32(q>>8&0xff)-pg)*at.t
		b[o] = pb + (float32(q>>16&0xff)-pb)*at.t
	}
}

// laneLimit is how many pixels sumLanes may add before a 16-bit lane overflows: 255·22·23/2 < 65536.
const laneLimit = 22

// reduce needs two sums a segment and channel, Σp and Σk·p with k = 0, 1, …: they are exact integers, and Σt·p is
// t0·Σp + step·Σk·p.
func (a *axis) reduce(src []uint32, r, g, b []float32) {
	step := float32(a.step)
	var carryR, carryG, carryB float32 // what the segment before gave to the output on its right
	for s, seg := range a.segments {
		t0, n := float32(seg.t0), uint64(seg.n)
		pixels := src[seg.first : seg.first+seg.n]
		var sumR, sumG, sumB, rampR, rampG, rampB float32
		if seg.n <= laneLimit {
			var sum, running uint64 // running is Σ(n−k)·p
			for _, p := range pixels {
				sum += (uint64(p) | uint64(p)<<24) & 0x000000ff_00ff00ff // lanes: R at 0, B at 16, G at 32
				running += sum
			}
			ramp := n*sum - running // no lane borrows: each is Σk·p ≥ 0
			sumR, sumB, sumG = float32(int32(sum&0xffff)), float32(int32(sum>>16&0xffff)), float32(int32(sum>>32))
			rampR, rampB, rampG = float32(int32(ramp&0xffff)), float32(int32(ramp>>16&0xffff)), float32(int32(ramp>>32))
		} else {
			sumR, sumG, sumB, rampR, rampG, rampB = longSums(pixels)
		}
		rightR, rightG, rightB := t0*sumR+step*rampR, t0*sumG+step*rampG, t0*sumB+step*rampB
		if o := s - 1; uint(o) < uint(len(r)) && o < len(g) && o < len(b) && o < len(a.inverse) {
			inverse := a.inverse[o]
			r[o] = (carryR + sumR - rightR) * inverse
			g[o] = (carryG + sumG - rightG) * inverse
			b[o] = (carryB + sumB - rightB) * inverse
		}
		carryR, carryG, carryB = rightR, rightG, rightB
	}
}

// longSums is the same for the long segments of a very large picture.
func longSums(pixels []uint32) (sumR, sumG, sumB, rampR, rampG, rampB float32) {
	var sr, sg, sb, rr, rg, rb int64
	for k, p := range pixels {
		r, g, b := int64(p&0xff), int64(p>>8&0xff), int64(p>>16&0xff)
		sr, sg, sb = sr+r, sg+g, sb+b
		rr, rg, rb = rr+int64(k)*r, rg+int64(k)*g, rb+int64(k)*b
	}
	return float32(sr), float32(sg), float32(sb), float32(rr), float32(rg), float32(rb)
}
