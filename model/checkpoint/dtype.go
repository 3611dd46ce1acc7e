package checkpoint

import (
	"encoding/binary"
	"math"
)

// dtype is an element type under its safetensors name.
type dtype string

const (
	f64  dtype = "F64"
	f32  dtype = "F32"
	f16  dtype = "F16"
	bf16 dtype = "BF16"
	i64  dtype = "I64"
	i32  dtype = "I32"
	i16  dtype = "I16"
	i8   dtype = "I8"
	u8   dtype = "U8"
	flag dtype = "BOOL"
)

// size in bytes of one element; 0 for a type not known here.
func (d dtype) size() int {
	switch d {
	case f64, i64, "U64":
		return 8
	case f32, i32, "U32":
		return 4
	case f16, bf16, i16, "U16":
		return 2
	case i8, u8, flag, "F8_E4M3", "F8_E5M2":
		return 1
	}
	return 0
}

// widener returns what turns little-endian elements into as many float32, nil for a type that no weight has.
func (d dtype) widener() func(values []float32, data []byte) {
	switch d {
	case f32:
		return func(values []float32, data []byte) {
			for i := range values {
				values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
			}
		}
	case f16:
		return func(values []float32, data []byte) {
			for i := range values {
				values[i] = halfToFloat32(binary.LittleEndian.Uint16(data[2*i:]))
			}
		}
	case bf16:
		return func(values []float32, data []byte) {
			for i := range values {
				values[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(data[2*i:])) << 16)
			}
		}
	}
	return nil
}

// halfToFloat32 widens an IEEE 754 binary16. Every half is exact in float32.
func halfToFloat32(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exponent := uint32(h >> 10 & 0x1f)
	mantissa := uint32(h & 0x3ff)
	switch exponent {
	case 0: // zero or subnormal: mantissa · 2⁻²⁴
		return math.Float32frombits(sign | math.Float32bits(float32(mantissa)/(1<<24)))
	case 0x1f: // infinity or NaN
		return math.Float32frombits(sign | 0x7f800000 | mantissa<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | mantissa<<13)
}
