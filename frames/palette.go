package frames

import (
	"image/color"
	"math"
)

// Colour is an object's colour by its id: neighbouring ids are far apart on the wheel, and an id keeps its colour for ever.
func Colour(id int) color.RGBA {
	const golden = 0.6180339887498949            // the fraction of a turn that keeps any number of steps apart
	hue := math.Mod(0.255+golden*float64(id), 1) // 1 is magenta, which sky, grass and skin are not
	if hue < 0 {
		hue++
	}
	lightness := [3]float64{0.56, 0.64, 0.48}[((id/8)%3+3)%3] // later rounds differ in lightness too
	return fromHSL(hue, 0.85, lightness)
}

func fromHSL(h, s, l float64) color.RGBA {
	chroma := (1 - math.Abs(2*l-1)) * s
	channel := func(n float64) uint8 {
		k := math.Mod(n+12*h, 12)
		return uint8(math.Round(255 * (l - chroma/2*max(-1, min(k-3, 9-k, 1)))))
	}
	return color.RGBA{R: channel(0), G: channel(8), B: channel(4), A: 255}
}
