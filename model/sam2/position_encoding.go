package sam2

import (
	"math"

	"maskstream/model/onnx"
)

// positionTemperature is the base of all sine encodings (PositionEmbeddingSine, get_1d_sine_pe).
const positionTemperature = 10000

// sinePosition is PositionEmbeddingSine for a grid of side×side cells: side²×channels, the first half of the channels for y,
// the second for x, sines and cosines by turns. The arithmetic is float32 where the reference's is, so that it rounds alike.
func sinePosition(side, channels int) []float32 {
	half := channels / 2
	axis := make([]float32, side*half)
	for p := range side {
		position := float32(p+1) / (float32(side) + 1e-6) * float32(2*math.Pi)
		for i := range half {
			angle := float64(position / sineDivisor(i, half))
			if i%2 == 0 {
				axis[p*half+i] = float32(math.Sin(angle))
			} else {
				axis[p*half+i] = float32(math.Cos(angle))
			}
		}
	}
	out := make([]float32, 0, side*side*channels)
	for y := range side {
		for x := range side {
			out = append(out, axis[y*half:(y+1)*half]...)
			out = append(out, axis[x*half:(x+1)*half]...)
		}
	}
	return out
}

// sineDivisor is the wavelength of channel i of n: the same for each pair.
func sineDivisor(i, n int) float32 {
	return float32(math.Pow(positionTemperature, float64(2*(i/2))/float64(n)))
}

// sinePosition1D is get_1d_sine_pe: positions …×1 become …×channels, sines then cosines.
func (m module) sinePosition1D(position onnx.Value, channels int) onnx.Value {
	half := channels / 2
	divisor := make([]float32, half)
	for i := range divisor {
		divisor[i] = sineDivisor(i, half)
	}
	angle := m.Div(position, m.Const(divisor, half)) // …×half
	last := len(position.Shape()) - 1
	return m.Concat(last, m.Sin(angle), m.Cos(angle)) // …×channels
}

// rotary is the table of axial rotary embedding (compute_axial_cis) for a grid of side×side cells: cosines and sines,
// (side²+1)×dim/2. The last row turns nothing, for tokens that have no place.
func rotary(side, dim int, theta float64) (cos, sin []float32) {
	quarter := dim / 4
	for cell := range side * side {
		for i := range 2 * quarter {
			t := cell % side // x turns the first half of the pairs, y the second
			if i >= quarter {
				t = cell / side
			}
			frequency := float32(1 / math.Pow(theta, float64(4*(i%quarter))/float64(dim)))
			angle := float64(float32(t) * frequency)
			cos, sin = append(cos, float32(math.Cos(angle))), append(sin, float32(math.Sin(angle)))
		}
	}
	for range 2 * quarter {
		cos, sin = append(cos, 1), append(sin, 0)
	}
	return cos, sin
}

// rotaryOrder lists the channels so that the first of each rotated pair come before the second of each: with queries and keys
// both in this order their products stay what they were, and a rotation is arithmetic on two halves.
func rotaryOrder(dim int) []int {
	order := make([]int, 0, dim)
	for first := range 2 {
		for i := first; i < dim; i += 2 {
			order = append(order, i)
		}
	}
	return order
}

// randomPosition is PositionEmbeddingRandom on the centres of a grid of side×side cells: side²×channels, for the stored
// frequencies 2×channels/2.
func randomPosition(frequencies []float32, side int) []float32 {
	half := len(frequencies) / 2
	out := make([]float32, side*side*2*half)
	for cell := range side * side {
		x := 2*(float64(cell%side)+0.5)/float64(side) - 1
		y := 2*(float64(cell/side)+0.5)/float64(side) - 1
		for i := range half {
			angle := 2 * math.Pi * (x*float64(frequencies[i]) + y*float64(frequencies[half+i]))
			out[cell*2*half+i] = float32(math.Sin(angle))
			out[cell*2*half+half+i] = float32(math.Cos(angle))
		}
	}
	return out
}
