package tensor

import "math"

// ToBFloat16 rounds to nearest even, as torch's Tensor.to(torch.bfloat16).
func ToBFloat16(f float32) uint16 {
	bits := math.Float32bits(f)
	if bits&0x7fffffff > 0x7f800000 { // a NaN stays one
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + (bits>>16)&1) >> 16)
}

// FromBFloat16 is exact.
func FromBFloat16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }
