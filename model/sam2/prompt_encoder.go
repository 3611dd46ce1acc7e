package sam2

import (
	"math"

	"maskstream/model"
	"maskstream/model/onnx"
)

const norm2dEpsilon = 1e-6 // of every LayerNorm2d

// maskChannels is mask_in_chans of the prompt encoder (sam2_base.py, _build_sam_heads).
const maskChannels = 16

// embedPoints is PromptEncoder._embed_points (modeling/sam/prompt_encoder.py): points n×P×2 in pixels of the square and labels
// n×P become n×(P+1)×C; the last is the padding point that a prompt without a separate box always gets.
// frequencies is the matrix of the random position encoding, 2×C/2.
func (m module) embedPoints(c model.Config, frequencies []float32, points, labels onnx.Value) onnx.Value {
	n, p, dim := points.Dim(0), points.Dim(1), c.EmbedDim
	at := m.Div(m.Add(points, m.Scalar(0.5)), m.Scalar(float32(c.ImageSize))) // the middle of the pixel, 0…1
	at = m.Sub(m.Mul(at, m.Scalar(2)), m.Scalar(1))                           // −1…1
	angle := m.MatMul(at, m.Const(scale(frequencies, 2*math.Pi), 2, dim/2))
	place := m.Concat(2, m.Sin(angle), m.Cos(angle)) // n×P×C

	// One row a label from −1 to 3; a padding point has no place.
	padding := m.take("not_a_point_embed.weight", 1, dim)
	table := append([]float32(nil), padding...)
	for i := range 4 {
		table = append(table, m.take("point_embeddings."+itoa(i)+".weight", 1, dim)...)
	}
	meaning := m.Gather(m.Const(table, 5, dim), m.Add(labels, m.Ints(1))) // n×P×C
	real := m.Reshape(m.GreaterOrEqual(labels, m.Ints(0)), n, p, 1)
	embedded := m.Add(m.Where(real, place, m.Scalar(0)), meaning)

	pad := m.Expand(m.Const(padding, 1, 1, dim), m.Reshape(m.Slice(labels, 1, 0, 1), n, 1, 1)) // n×1×C
	return m.ConcatTo(1, m.Symbol("P+1"), embedded, pad)
}

// embedMasks is PromptEncoder._embed_masks with its default: logits d×4h×4w become rows 1…d of (d+1)×hw×C, and row 0 is the
// learned embedding of no mask. Its convolutions step as far as they reach, so each is a linear layer over 2×2 pixels.
func (m module) embedMasks(c model.Config, logits onnx.Value) onnx.Value {
	d, side, dim := logits.Dim(0), c.Cells(), c.EmbedDim
	hw := side * side
	const quarter = maskChannels / 4
	x := m.Reshape(logits, d, side, 2, 2, side, 2, 2)
	x = m.Reshape(m.Transpose(x, 0, 1, 4, 2, 5, 3, 6), d, hw*4, 4) // d×cell,half×quarter
	x = m.Gelu(m.in("mask_downscaling").norm("1", m.apply(m.blocks("mask_downscaling.0", 1, quarter), x), norm2dEpsilon))
	x = m.Reshape(x, d, hw, maskChannels)
	x = m.Gelu(m.in("mask_downscaling").norm("4", m.apply(m.blocks("mask_downscaling.3", quarter, maskChannels), x), norm2dEpsilon))
	x = m.apply(m.pointwise("mask_downscaling.6", maskChannels, dim), x) // d×hw×C

	none := m.weight("no_mask_embed.weight", 1, dim)
	none = m.Expand(m.Reshape(none, 1, 1, dim), m.Const(make([]float32, hw), 1, hw, 1))
	return m.ConcatTo(0, m.Symbol("d+1"), none, x)
}

// blocks reads a 2×2 nn.Conv2d of stride 2 as a linear layer over the four pixels, row by row, with their channels.
func (m module) blocks(name string, in, out int) linear {
	const pixels = 4
	w := m.take(name+".weight", out, in, 2, 2)
	l := linear{make([]float32, pixels*in*out), m.take(name+".bias", out), pixels * in, out}
	for o := range out {
		for i := range in {
			for p := range pixels {
				l.weight[(p*in+i)*out+o] = w[(o*in+i)*pixels+p]
			}
		}
	}
	return l
}
