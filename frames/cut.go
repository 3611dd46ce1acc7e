package frames

import (
	"fmt"
	"image"
)

// Cut is part of a picture, upright and in RGB, with the picture's Meta: r counts pixels of the upright picture and must lie in
// it. It borrows p; the result, which is the caller's, owns its bytes.
func Cut(p *Picture, r image.Rectangle) (*Picture, error) {
	width, height := p.DisplaySize()
	if whole := image.Rect(0, 0, width, height); r.Empty() || !r.In(whole) {
		return nil, fmt.Errorf("frames: no part %v of a picture of %d×%d pixels", r, width, height)
	}
	var painter Painter
	upright, err := painter.Paint(p, nil)
	if err != nil {
		return nil, err
	}
	part := &Picture{Width: r.Dx(), Height: r.Dy(), Format: RGB24, Meta: p.Meta}
	part.Planes[0], part.Strides[0] = make([]byte, 0, 3*r.Dx()*r.Dy()), 3*r.Dx()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := upright.Pix[upright.PixOffset(r.Min.X, y):][:4*r.Dx()]
		for len(row) > 0 {
			part.Planes[0] = append(part.Planes[0], row[0], row[1], row[2])
			row = row[4:]
		}
	}
	return part.Own(nil), nil
}
