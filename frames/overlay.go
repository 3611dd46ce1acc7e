package frames

import (
	"fmt"
	"image"
	"image/color"
	"strconv"

	"maskstream/rle"
)

// Layer is one object to draw over a picture.
type Layer struct {
	Mask   rle.Mask   // of the picture's size or of another, then it is stretched over the picture
	Colour color.RGBA // see [Colour]
	Label  string     // short, drawn on top of the mask's largest part; empty draws none
}

// Layers are a result's objects, each with its mask, the colour of its id and the id as its label.
func Layers(f *rle.Frame) ([]Layer, error) {
	layers := make([]Layer, len(f.Objects))
	for i, o := range f.Objects {
		mask, err := rle.ParseCOCO(o.Segmentation)
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", o.ID, err)
		}
		layers[i] = Layer{Mask: mask, Colour: Colour(o.ID), Label: strconv.Itoa(o.ID)}
	}
	return layers, nil
}

// fillShare is the share of the layer's colour in a filled pixel, of 256.
const fillShare = 112

// Draw paints the layers over img in order: a translucent fill and an opaque contour inside its edge, then all labels.
// An empty mask draws nothing.
func Draw(img *image.RGBA, layers []Layer) {
	type label struct {
		at image.Point
		Layer
	}
	var labels []label
	for _, l := range layers {
		if s, ok := stencilOf(l.Mask, img.Rect, contourWidth(img.Rect)); ok {
			s.fill(img, l.Colour)
			if l.Label != "" {
				labels = append(labels, label{labelAt(l.Mask, img.Rect), l})
			}
		}
	}
	for _, l := range labels {
		drawLabel(img, l.at, l.Label, l.Colour)
	}
}

// contourWidth keeps a contour visible when a large picture is looked at in a small window.
func contourWidth(r image.Rectangle) int { return max(1, (min(r.Dx(), r.Dy())+120)/240) }

// stencil is the part of a mask that is set, row by row, at the picture's size, with a margin of unset pixels all around.
type stencil struct {
	bounds image.Rectangle // in the picture, without the margin
	margin int
	stride int
	bits   []byte // 0 or 1
}

// stencilOf decodes the runs into the picture's rectangle; ok is false where nothing is set.
func stencilOf(m rle.Mask, r image.Rectangle, margin int) (s stencil, ok bool) {
	box := boxOf(m)
	if box.Empty() || r.Empty() {
		return stencil{}, false
	}
	if m.Width == r.Dx() && m.Height == r.Dy() {
		s = newStencil(box.Add(r.Min), margin)
		m.EachColumn(func(x, y0, y1 int) {
			at := (y0-box.Min.Y+margin)*s.stride + x - box.Min.X + margin
			for range y1 - y0 {
				s.bits[at] = 1
				at += s.stride
			}
		})
		return s, true
	}
	own, _ := stencilOf(m, image.Rect(0, 0, m.Width, m.Height), 0)
	// Pixel x of the picture shows pixel (2x+1)·width/(2·picture width) of the mask.
	columns, left := stretch(box.Min.X, box.Max.X, m.Width, r.Dx())
	rows, top := stretch(box.Min.Y, box.Max.Y, m.Height, r.Dy())
	s = newStencil(image.Rect(left, top, left+len(columns), top+len(rows)).Add(r.Min), margin)
	for j, y := range rows {
		src := own.bits[y*own.stride:][:own.stride]
		dst := s.bits[(j+margin)*s.stride+margin:][:len(columns)]
		for i, x := range columns {
			dst[i] = src[x]
		}
	}
	return s, len(rows) > 0 && len(columns) > 0
}

func newStencil(bounds image.Rectangle, margin int) stencil {
	stride := bounds.Dx() + 2*margin
	return stencil{bounds: bounds, margin: margin, stride: stride, bits: make([]byte, stride*(bounds.Dy()+2*margin))}
}

// stretch is, for the run of picture pixels that fall between first and last of the mask, which mask pixel each shows,
// counted from first; and where the run starts.
func stretch(first, last, mask, picture int) (from []int, start int) {
	for x := range picture {
		if at := (2*x + 1) * mask / (2 * picture); at >= first && at < last {
			if len(from) == 0 {
				start = x
			}
			from = append(from, at-first)
		}
	}
	return from, start
}

// boxOf is the smallest rectangle around the set pixels.
func boxOf(m rle.Mask) image.Rectangle {
	b := m.Box()
	return image.Rect(b[0], b[1], b[0]+b[2], b[1]+b[3])
}

func (s stencil) fill(img *image.RGBA, c color.RGBA) {
	r, g, b := uint32(c.R), uint32(c.G), uint32(c.B)
	d := s.margin
	for y := s.bounds.Min.Y; y < s.bounds.Max.Y; y++ {
		at := (y-s.bounds.Min.Y+d)*s.stride + d
		pix := img.Pix[img.PixOffset(s.bounds.Min.X, y):]
		for x := range s.bounds.Dx() {
			if i := at + x; s.bits[i] != 0 {
				share := uint32(fillShare)
				if s.bits[i-d]&s.bits[i+d]&s.bits[i-d*s.stride]&s.bits[i+d*s.stride] == 0 {
					share = 256
				}
				p := pix[4*x : 4*x+3 : 4*x+3]
				p[0] = byte((uint32(p[0])*(256-share) + r*share) >> 8)
				p[1] = byte((uint32(p[1])*(256-share) + g*share) >> 8)
				p[2] = byte((uint32(p[2])*(256-share) + b*share) >> 8)
			}
		}
	}
}

// labelAt is the middle of the top edge of the mask's bulk, in a picture that the mask is stretched over.
func labelAt(m rle.Mask, r image.Rectangle) image.Point {
	box := bulk(m)
	return r.Min.Add(image.Pt((box.Min.X+box.Max.X)*r.Dx()/(2*m.Width), box.Min.Y*r.Dy()/m.Height))
}
