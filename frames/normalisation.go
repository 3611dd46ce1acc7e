package frames

import (
	"fmt"

	"maskstream/tensor"
)

// normalisation is ImageNet's: (x/255 − mean) / deviation, channel by channel.
type normalisation struct {
	exact  [3][256]float32 // of every byte
	gain   [3]float32      // normalised = gain·(0…255) + offset
	offset [3]float32
}

func newNormalisation() (n normalisation) {
	mean, deviation := [3]float32{0.485, 0.456, 0.406}, [3]float32{0.229, 0.224, 0.225}
	for channel := range 3 {
		m, d := mean[channel], deviation[channel]
		for b := range 256 {
			// A true division: the quotient of a byte by 255 is the same number in float32 and in float64 rounded once.
			n.exact[channel][b] = (float32(b)/255 - m) / d
		}
		n.gain[channel] = float32(1 / (255 * float64(d)))
		n.offset[channel] = float32(-float64(m) / float64(d))
	}
	return n
}

// toBytes is normalised pixels, 1×3×S×S float32 on the host, as the nearest bytes: 1×3×S×S uint8 in pool. A picture that was
// not resampled comes back exactly, any other to within half a byte, which is less than its camera's noise.
func (n *normalisation) toBytes(pixels *tensor.Tensor, pool *tensor.Pool) (*tensor.Tensor, error) {
	packed, err := pool.New(tensor.Uint8, pixels.Shape()...)
	if err != nil {
		return nil, fmt.Errorf("packing pixels: %w", err)
	}
	from, to := pixels.Float32s(), packed.Bytes()
	area := len(from) / 3
	for channel := range 3 {
		scale, shift := 1/n.gain[channel], -n.offset[channel]/n.gain[channel]+0.5
		out := to[channel*area:][:area]
		for i, v := range from[channel*area:][:area] {
			out[i] = byte(max(0, min(255, int32(v*scale+shift)))) // as integers: of floats, min and max look for NaN
		}
	}
	return packed, nil
}

// fromBytes is what toBytes packed, normalised again: 1×3×S×S float32 in pool.
func (n *normalisation) fromBytes(packed *tensor.Tensor, pool *tensor.Pool) (*tensor.Tensor, error) {
	pixels, err := pool.New(tensor.Float32, packed.Shape()...)
	if err != nil {
		return nil, fmt.Errorf("unpacking pixels: %w", err)
	}
	from, to := packed.Bytes(), pixels.Float32s()
	area := len(from) / 3
	for channel := range 3 {
		table, out := &n.exact[channel], to[channel*area:][:area]
		for i, b := range from[channel*area:][:area] {
			out[i] = table[b]
		}
	}
	return pixels, nil
}
