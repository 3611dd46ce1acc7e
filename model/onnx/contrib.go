package onnx

import "slices"

// microsoft is the domain of the operators that ONNX Runtime adds to the standard.
const microsoft = "com.microsoft"

// RotaryEmbedding turns the pairs of x n×t×c that lie c/2 apart: those of token i by the angles whose cosines and sines are
// row i of t×c/2.
func (g *Graph) RotaryEmbedding(x, cos, sin Value) Value {
	const op = microsoft + ".RotaryEmbedding"
	g.want(op, x, Float, 3)
	if !slices.Equal(cos.shape, []int{x.shape[1], x.shape[2] / 2}) || !slices.Equal(cos.shape, sin.shape) {
		g.failf(op, "%s by %s and %s", g.describe(x.shape), g.describe(cos.shape), g.describe(sin.shape))
	}
	return g.node(op, Float, slices.Clone(x.shape), []Value{x, g.Ints(0), cos, sin})
}
