package ingest

import (
	"math"
	"math/rand/v2"
)

// paintBackground is a dusk-like gradient with noise of several sizes, as a photograph out of focus has it.
func paintBackground(w, h int, random *rand.Rand) []byte {
	light := make([]float64, w*h)
	tint := make([]float64, w*h)
	size := float64(min(w, h))
	for _, octave := range []struct{ cell, light, tint float64 }{{size / 2, 30, 22}, {size / 5, 18, 12}, {size / 14, 9, 5}, {size / 40, 5, 0}, {1, 4, 0}} {
		addNoise(light, w, h, max(octave.cell, 1), octave.light, random)
		if octave.tint > 0 {
			addNoise(tint, w, h, max(octave.cell, 1), octave.tint, random)
		}
	}
	rgb := make([]byte, 3*w*h)
	for y := range h {
		v := float64(y) / float64(h)
		for x := range w {
			i := y*w + x
			base := [3]float64{112 - 40*v, 128 - 26*v, 150 - 78*v}
			for c, b := range base {
				shift := [3]float64{0.5, 0.2, -0.8}[c] * tint[i]
				rgb[3*i+c] = byte(min(max(b+light[i]+shift, 0), 255))
			}
		}
	}
	return rgb
}

// addNoise adds smooth value noise of ±amplitude with lattice points cell pixels apart.
func addNoise(dst []float64, w, h int, cell, amplitude float64, random *rand.Rand) {
	columns := int(float64(w)/cell) + 2
	lattice := make([]float64, columns*(int(float64(h)/cell)+2))
	for i := range lattice {
		lattice[i] = (2*random.Float64() - 1) * amplitude
	}
	ease := func(v float64) (cell int, t float64) {
		floor := math.Floor(v)
		t = v - floor
		return int(floor), t * t * (3 - 2*t)
	}
	for y := range h {
		j, ty := ease(float64(y) / cell)
		for x := range w {
			i, tx := ease(float64(x) / cell)
			at := lattice[j*columns+i:]
			top := at[0] + (at[1]-at[0])*tx
			bottom := at[columns] + (at[columns+1]-at[columns])*tx
			dst[y*w+x] += top + (bottom-top)*ty
		}
	}
}
