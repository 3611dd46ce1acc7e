package sam2

import "math"

// bicubic enlarges planes of rows×columns to side×side as torch.nn.functional.interpolate(mode="bicubic"): channels planes,
// Keys' cubic with a = −0.75, borders repeated.
func bicubic(planes []float32, channels, rows, columns, side int) []float32 {
	vertical, horizontal := cubicTaps(rows, side), cubicTaps(columns, side)
	out := make([]float32, channels*side*side)
	for c := range channels {
		plane := planes[c*rows*columns:]
		for y := range side {
			for x := range side {
				sum := 0.0
				for _, v := range vertical[y] {
					for _, h := range horizontal[x] {
						sum += v.weight * h.weight * float64(plane[v.index*columns+h.index])
					}
				}
				out[(c*side+y)*side+x] = float32(sum)
			}
		}
	}
	return out
}

type tap struct {
	index  int
	weight float64
}

func cubicTaps(from, to int) [][4]tap {
	const a = -0.75
	near := func(x float64) float64 { return ((a+2)*x-(a+3))*x*x + 1 }
	far := func(x float64) float64 { return ((a*x-5*a)*x+8*a)*x - 4*a }
	taps := make([][4]tap, to)
	for i := range taps {
		source := (float64(i)+0.5)*float64(from)/float64(to) - 0.5
		base := math.Floor(source)
		t := source - base
		for k, w := range [4]float64{far(t + 1), near(t), near(1 - t), far(2 - t)} {
			taps[i][k] = tap{min(max(int(base)+k-1, 0), from-1), w}
		}
	}
	return taps
}

// shrinkBy4 is the to×4·to matrix that shrinks a column of pixels to a quarter as interpolate(mode="bilinear",
// antialias=True) does: a triangle of four source pixels to each side, normalised at the borders.
func shrinkBy4(to int) []float32 {
	const factor = 4
	from := factor * to
	m := make([]float32, to*from)
	for i := range to {
		centre := factor * (float64(i) + 0.5)
		first, end := max(int(centre-factor+0.5), 0), min(int(centre+factor+0.5), from)
		sum := 0.0
		for j := first; j < end; j++ {
			sum += triangle((float64(j) - centre + 0.5) / factor)
		}
		for j := first; j < end; j++ {
			m[i*from+j] = float32(triangle((float64(j)-centre+0.5)/factor) / sum)
		}
	}
	return m
}

func triangle(x float64) float64 { return max(0, 1-math.Abs(x)) }
