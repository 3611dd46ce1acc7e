package onnx

import "slices"

// microsoft is the domain of the operators that ONNX Runtime adds to the standard.
const microsoft = "com.microsoft"

// RotaryEmbedding turns the pairs of x n×t×c that lie c/2 apart by the angles of the row of cos and sin, R×c/2, that
// positions, n×t Int64, names.
func (g *Graph) RotaryEmbedding(x, positions, cos, sin Value) Value {
	const op = "RotaryEmbedding"
	g.want(op, x, Float, 3)
	g.want(op, positions, Int64, -1)
	if cos.Dim(1) != x.Dim(2)/2 || !slices.Equal(cos.shape, sin.shape) {
		g.failf(op, "%s by %s and %s", g.describe(x.shape), g.describe(cos.shape), g.describe(sin.shape))
	}
	return g.node(op, Float, slices.Clone(x.shape), []Value{x, positions, cos, sin})
}

// MultiHeadAttention is softmax(q·kᵀ·scale)·v for q n×t×c, k n×s×c, v n×s×e, in heads of c/heads channels: n×t×e.
func (g *Graph) MultiHeadAttention(q, k, v Value, heads int, scale float32) Value {
	const op = "MultiHeadAttention"
	for _, x := range []Value{q, k, v} {
		g.want(op, x, Float, 3)
	}
	if q.Dim(0) != k.Dim(0) || k.Dim(0) != v.Dim(0) || q.Dim(2) != k.Dim(2) || k.Dim(1) != v.Dim(1) {
		g.failf(op, "%s, %s and %s", g.describe(q.shape), g.describe(k.shape), g.describe(v.shape))
	}
	return g.node(op, Float, []int{q.Dim(0), q.Dim(1), v.Dim(2)}, []Value{q, k, v}, integer("num_heads", heads), float("scale", scale))
}
