package frames

import (
	"fmt"
	"hash/maphash"
)

// check says whether the planes hold what the picture's size and format promise, so that the inner loops need not.
func (p *Picture) check() error {
	if p.Width <= 0 || p.Height <= 0 {
		return fmt.Errorf("frames: picture of %d×%d pixels", p.Width, p.Height)
	}
	if p.Format > NV12 {
		return fmt.Errorf("frames: unknown picture format %d; bring it to one of frames.Format in ingest", p.Format)
	}
	widths, rows := p.extents()
	for i, w := range widths {
		if w > 0 && (p.Strides[i] < w || len(p.Planes[i]) < p.Strides[i]*(rows[i]-1)+w) {
			return fmt.Errorf("frames: plane %d of a %d×%d picture has %d bytes in rows of %d, needs %d rows of %d",
				i, p.Width, p.Height, len(p.Planes[i]), p.Strides[i], rows[i], w)
		}
	}
	return nil
}

// extents are the bytes of a row and the rows of each plane; 0 bytes where there is no such plane.
func (p *Picture) extents() (widths, rows [3]int) {
	half := (p.Width + 1) / 2
	widths, rows = [3]int{p.Width}, [3]int{p.Height}
	switch p.Format {
	case Gray8:
	case RGB24:
		widths[0] = 3 * p.Width
	case YUV420P:
		widths[1], widths[2] = half, half
		rows[1], rows[2] = (p.Height+1)/2, (p.Height+1)/2
	case YUV422P:
		widths[1], widths[2] = half, half
		rows[1], rows[2] = p.Height, p.Height
	case YUV444P:
		widths[1], widths[2] = p.Width, p.Width
		rows[1], rows[2] = p.Height, p.Height
	case NV12:
		widths[1], rows[1] = 2*half, (p.Height+1)/2
	}
	return widths, rows
}

// Sum tells pictures apart by their pixels: equal ones have equal sums under one seed. Pictures without planes have one sum.
func (p *Picture) Sum(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	widths, rows := p.extents()
	for i, w := range widths {
		for y := 0; y < rows[i] && (y+1)*p.Strides[i] <= len(p.Planes[i])+p.Strides[i]-w && w > 0; y++ {
			h.Write(p.plane(i, y, w))
		}
	}
	return h.Sum64()
}

// plane is n bytes of row y of plane i.
func (p *Picture) plane(i, y, n int) []byte {
	return p.Planes[i][y*p.Strides[i]:][:n:n]
}

// rowReader converts a picture's stored rows into RGBA words, in any order but best downwards.
type rowReader struct {
	colours *colours
	chroma  chroma
}

// start prepares for another picture, which has passed check.
func (r *rowReader) start(p *Picture) {
	if r.colours == nil || r.colours.matrix != p.Matrix || r.colours.fullRange != p.FullRange {
		r.colours = newColours(p.Matrix, p.FullRange)
	}
	r.chroma.start(p)
}

// row converts the stored row y; dst is p.Width long.
func (r *rowReader) row(p *Picture, y int, dst []uint32) {
	w := p.Width
	switch p.Format {
	case RGB24:
		rowRGB(dst, p.plane(0, y, 3*w))
	case Gray8:
		r.colours.rowGray(dst, p.plane(0, y, w))
	case YUV444P:
		r.colours.rowFull(dst, p.plane(0, y, w), p.plane(1, y, w), p.plane(2, y, w))
	case YUV420P, YUV422P, NV12:
		samples := r.chroma.row(p, y)
		if r.chroma.across == nil {
			r.colours.rowEven(dst, p.plane(0, y, w), samples)
		} else {
			r.colours.rowOdd(dst, p.plane(0, y, w), samples, r.chroma.across)
		}
	}
}

func rowRGB(dst []uint32, src []byte) {
	for i := range dst {
		s := src[3*i : 3*i+3 : 3*i+3]
		dst[i] = uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | 0xff<<24
	}
}

func (c *colours) rowGray(dst []uint32, luma []byte) {
	luma = luma[:len(dst)]
	for i := range dst {
		dst[i] = c.pixel(luma[i], 128+chromaBias, 128+chromaBias)
	}
}

func (c *colours) rowFull(dst []uint32, luma, u, v []byte) {
	luma, u, v = luma[:len(dst)], u[:len(dst)], v[:len(dst)]
	for i := range dst {
		dst[i] = c.pixel(luma[i], uint32(u[i])+chromaBias, uint32(v[i])+chromaBias)
	}
}

// halfLane rounds the sum of weights chromaOne² in each lane.
const halfLane = chromaOne * chromaOne / 2 * (1 | 1<<laneHigh)

// rowEven is a row whose pixel pairs have a chroma sample each: the pixels lie a quarter of a sample left and right of it.
func (c *colours) rowEven(dst []uint32, luma []byte, samples []uint64) {
	const w0, w1, w2, w3 = 22, 223, 62, 7 // of the taps: −, +, +, −
	pairs := len(dst) / 2
	samples = samples[:pairs+2*chromaPad]
	s0, s1, s2, s3 := samples[0], samples[1], samples[2], samples[3]
	for i, s4 := range samples[4:] {
		left := s1*w2 + s2*w1 - s0*w3 - s3*w0 + halfLane
		right := s2*w1 + s3*w2 - s1*w0 - s4*w3 + halfLane
		l, d := luma[2*i:2*i+2:2*i+2], dst[2*i:2*i+2:2*i+2]
		d[0] = c.pixel(l[0], uint32(left)>>16, uint32(left>>48))
		d[1] = c.pixel(l[1], uint32(right)>>16, uint32(right>>48))
		s0, s1, s2, s3 = s1, s2, s3, s4
	}
}

func (c *colours) rowOdd(dst []uint32, luma []byte, samples []uint64, across []taps) {
	luma, across = luma[:len(dst)], across[:len(dst)]
	for i := range dst {
		t := &across[i]
		s := samples[t.first+chromaPad:][:4:4]
		sum := s[0]*t.weight[0] + s[1]*t.weight[1] + s[2]*t.weight[2] + s[3]*t.weight[3] + halfLane
		dst[i] = c.pixel(luma[i], uint32(sum)>>16, uint32(sum>>48))
	}
}
