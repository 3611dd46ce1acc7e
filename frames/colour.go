package frames

import "math"

// YUV to RGB is integer arithmetic, so that a GPU kernel can give the same bytes. With s = 65536 and all constants rounded to
// the nearest integer once (halves away from zero):
//
//	limited: CY = 255/219·s, Y0 = 16, k = 255/224;  full: CY = s, Y0 = 0, k = 1;  Kg = 1 − Kr − Kb
//	RV = 2(1−Kr)·k·s   GU = 2(1−Kb)·Kb/Kg·k·s   GV = 2(1−Kr)·Kr/Kg·k·s   BU = 2(1−Kb)·k·s
//	R = clamp((CY·(Y−Y0) + RV·(V−128) + 32768) >> 16)
//	G = clamp((CY·(Y−Y0) − GU·(U−128) − GV·(V−128) + 32768) >> 16)
//	B = clamp((CY·(Y−Y0) + BU·(U−128) + 32768) >> 16)
//
// in 32 bits, with an arithmetic shift (floor) and clamp to 0 … 255. What U and V of a pixel are is said in chroma.go.
const (
	fixedBits = 16
	fixedOne  = 1 << fixedBits
)

// coefficients are the constants above.
type coefficients struct{ cy, y0, rv, gu, gv, bu int32 }

func coefficientsOf(m Matrix, fullRange bool) coefficients {
	kr, kb := 0.299, 0.114
	switch m {
	case BT709:
		kr, kb = 0.2126, 0.0722
	case BT2020:
		kr, kb = 0.2627, 0.0593
	case BT601:
	}
	kg := 1 - kr - kb
	c := coefficients{cy: fixedOne}
	k := 1.0
	if !fullRange {
		c.cy, c.y0, k = toFixed(255.0/219), 16, 255.0/224
	}
	c.rv = toFixed(2 * (1 - kr) * k)
	c.gu = toFixed(2 * (1 - kb) * kb / kg * k)
	c.gv = toFixed(2 * (1 - kr) * kr / kg * k)
	c.bu = toFixed(2 * (1 - kb) * k)
	return c
}

func toFixed(v float64) int32 { return int32(math.Round(v * fixedOne)) }

// clampBias keeps every index of the clamp tables positive: sums lie between −293 and 552 for all matrices and ranges.
const (
	clampBias = 320
	clampSize = 1024
)

// colours holds the products and the clamp as tables for one matrix and range. The clamped bytes are stored where they
// belong in an RGBA word (little endian: R lowest), the red one together with an opaque alpha.
type colours struct {
	matrix    Matrix
	fullRange bool

	y              [256]int32
	rv, gu, gv, bu [chromaSize]int32 // by chroma + chromaBias, which they clamp to 0 … 255 too
	r, g, b        [clampSize]uint32
}

func newColours(m Matrix, fullRange bool) *colours {
	c := &colours{matrix: m, fullRange: fullRange}
	k := coefficientsOf(m, fullRange)
	for i := range int32(256) {
		c.y[i] = k.cy*(i-k.y0) + fixedOne/2 + clampBias*fixedOne
	}
	for i := range int32(chromaSize) {
		v := min(max(i-chromaBias, 0), 255) - 128
		c.rv[i], c.gu[i], c.gv[i], c.bu[i] = k.rv*v, -k.gu*v, -k.gv*v, k.bu*v
	}
	for i := range c.r {
		v := uint32(min(max(i-clampBias, 0), 255))
		c.r[i], c.g[i], c.b[i] = v|0xff<<24, v<<8, v<<16
	}
	return c
}

// pixel is one RGBA word of a luma byte and two chroma values, these as indices: chroma + chromaBias.
func (c *colours) pixel(luma byte, u, v uint32) uint32 {
	u, v = u&(chromaSize-1), v&(chromaSize-1)
	y, r, g, b := c.y[luma], c.rv[v], c.gu[u]+c.gv[v], c.bu[u]
	return c.r[uint32(y+r)>>fixedBits&(clampSize-1)] |
		c.g[uint32(y+g)>>fixedBits&(clampSize-1)] |
		c.b[uint32(y+b)>>fixedBits&(clampSize-1)]
}
