package frames

import (
	"image"
	"image/color"
	"image/draw"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// drawLabel writes text on a plate of the layer's colour that stands on at, moved where it would leave the picture.
func drawLabel(img *image.RGBA, at image.Point, text string, c color.RGBA) {
	face := basicfont.Face7x13
	const pad = 2
	glyphs := image.NewAlpha(image.Rect(0, 0, font.MeasureString(face, text).Ceil()+2*pad, face.Ascent+face.Descent+pad))
	(&font.Drawer{Dst: glyphs, Src: image.Opaque, Face: face, Dot: fixed.P(pad, face.Ascent+pad/2)}).DrawString(text)

	zoom := max(1, min(img.Rect.Dx(), img.Rect.Dy())/540)
	plate := image.Rectangle{Max: glyphs.Rect.Size().Mul(zoom)}.Add(at).Sub(image.Pt(glyphs.Rect.Dx()*zoom/2, glyphs.Rect.Dy()*zoom))
	plate = plate.Add(inside(plate, img.Rect))
	draw.Draw(img, plate, image.NewUniform(c), image.Point{}, draw.Src)
	ink := color.RGBA{R: 255, G: 255, B: 255, A: 255}
	if 299*int(c.R)+587*int(c.G)+114*int(c.B) > 140_000 {
		ink = color.RGBA{A: 255}
	}
	for y := plate.Min.Y; y < plate.Max.Y; y++ {
		for x := plate.Min.X; x < plate.Max.X; x++ {
			if glyphs.AlphaAt((x-plate.Min.X)/zoom, (y-plate.Min.Y)/zoom).A > 127 {
				img.SetRGBA(x, y, ink) // outside the picture this does nothing
			}
		}
	}
}

// inside is how far r has to move to lie in bounds, as far as it fits.
func inside(r, bounds image.Rectangle) image.Point {
	return image.Pt(
		max(bounds.Min.X-r.Min.X, 0)-max(r.Max.X-bounds.Max.X, 0),
		max(bounds.Min.Y-r.Min.Y, 0)-max(r.Max.Y-bounds.Max.Y, 0),
	)
}
