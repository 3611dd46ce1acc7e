package frames

import "fmt"

// check says whether the planes hold what the picture's size and format promise, so that the inner loops need not.
func (p *Picture) check() error {
	if p.Width <= 0 || p.Height <= 0 {
		return fmt.Errorf("frames: picture of %d×%d pixels", p.Width, p.Height)
	}
	half := (p.Width + 1) / 2
	widths, rows := [3]int{p.Width}, [3]int{p.Height}
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
	default:
		return fmt.Errorf("frames: unknown picture format %d; bring it to one of frames.Format in ingest", p.Format)
	}
	for i, w := range widths {
		if w > 0 && (p.Strides[i] < w || len(p.Planes[i]) < p.Strides[i]*(rows[i]-1)+w) {
			return fmt.Errorf("frames: plane %d of a %d×%d picture has %d bytes in rows of %d, needs %d rows of %d",
				i, p.Width, p.Height, len(p.Planes[i]), p.Strides[i], rows[i], w)
		}
	}
	return nil
}

// plane is n bytes of row y of plane i.
func (p *Picture) plane(i, y, n int) []byte {
	return p.Planes[i][y*p.Strides[i]:][:n:n]
}

// row converts the stored row y into RGBA words; dst is p.Width long.
func (c *colours) row(p *Picture, y int, dst []uint32) {
	w, half := p.Width, (p.Width+1)/2
	switch p.Format {
	case RGB24:
		rowRGB(dst, p.plane(0, y, 3*w))
	case Gray8:
		c.rowGray(dst, p.plane(0, y, w))
	case YUV420P:
		c.rowHalf(dst, p.plane(0, y, w), p.plane(1, y/2, half), p.plane(2, y/2, half))
	case YUV422P:
		c.rowHalf(dst, p.plane(0, y, w), p.plane(1, y, half), p.plane(2, y, half))
	case YUV444P:
		c.rowFull(dst, p.plane(0, y, w), p.plane(1, y, w), p.plane(2, y, w))
	case NV12:
		c.rowPaired(dst, p.plane(0, y, w), p.plane(1, y/2, 2*half))
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
		dst[i] = c.pixel(c.y[luma[i]], 0, 0, 0)
	}
}

// rowHalf is a row of 4:2:0 or 4:2:2: two pixels share a chroma sample, and its products.
func (c *colours) rowHalf(dst []uint32, luma, u, v []byte) {
	pairs := len(dst) / 2
	d, l := dst[:2*pairs], luma[:2*pairs]
	us, vs := u[:pairs], v[:pairs]
	for i, cb := range us {
		cr := vs[i]
		r, g, b := c.rv[cr], c.gu[cb]+c.gv[cr], c.bu[cb]
		ll, dd := l[2*i:2*i+2:2*i+2], d[2*i:2*i+2:2*i+2]
		dd[0] = c.pixel(c.y[ll[0]], r, g, b)
		dd[1] = c.pixel(c.y[ll[1]], r, g, b)
	}
	if last := len(dst) - 1; last%2 == 0 {
		cb, cr := u[pairs], v[pairs]
		dst[last] = c.pixel(c.y[luma[last]], c.rv[cr], c.gu[cb]+c.gv[cr], c.bu[cb])
	}
}

func (c *colours) rowFull(dst []uint32, luma, u, v []byte) {
	luma, u, v = luma[:len(dst)], u[:len(dst)], v[:len(dst)]
	for i := range dst {
		cb, cr := u[i], v[i]
		dst[i] = c.pixel(c.y[luma[i]], c.rv[cr], c.gu[cb]+c.gv[cr], c.bu[cb])
	}
}

// rowPaired is a row of NV12: U and V alternate.
func (c *colours) rowPaired(dst []uint32, luma, uv []byte) {
	luma = luma[:len(dst)]
	for i := range dst {
		s := uv[i&^1 : i&^1+2]
		cb, cr := s[0], s[1]
		dst[i] = c.pixel(c.y[luma[i]], c.rv[cr], c.gu[cb]+c.gv[cr], c.bu[cb])
	}
}
