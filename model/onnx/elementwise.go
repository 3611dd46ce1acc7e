package onnx

import "slices"

func (g *Graph) binary(op string, a, b Value, result Type) Value {
	g.want(op, a, a.dtype, -1)
	g.want(op, b, a.dtype, -1)
	if result == 0 {
		result = a.dtype
	}
	return g.node(op, result, g.broadcast(op, a.shape, b.shape), []Value{a, b})
}

func (g *Graph) unary(op string, x Value) Value {
	g.want(op, x, Float, -1)
	return g.node(op, Float, slices.Clone(x.shape), []Value{x})
}

// Add, Sub, Mul and Div broadcast.
func (g *Graph) Add(a, b Value) Value { return g.binary("Add", a, b, 0) }

// Sub is a − b.
func (g *Graph) Sub(a, b Value) Value { return g.binary("Sub", a, b, 0) }

// Mul is the element-wise product.
func (g *Graph) Mul(a, b Value) Value { return g.binary("Mul", a, b, 0) }

// Div is a / b.
func (g *Graph) Div(a, b Value) Value { return g.binary("Div", a, b, 0) }

// Greater is a > b, of type Bool.
func (g *Graph) Greater(a, b Value) Value { return g.binary("Greater", a, b, Bool) }

// GreaterOrEqual is a ≥ b, of type Bool.
func (g *Graph) GreaterOrEqual(a, b Value) Value { return g.binary("GreaterOrEqual", a, b, Bool) }

// Where takes from a where the condition holds, else from b; all three broadcast.
func (g *Graph) Where(condition, a, b Value) Value {
	const op = "Where"
	g.want(op, condition, Bool, -1)
	g.want(op, b, a.dtype, -1)
	shape := g.broadcast(op, condition.shape, g.broadcast(op, a.shape, b.shape))
	return g.node(op, a.dtype, shape, []Value{condition, a, b})
}

// Cast converts to another type; a BFloat16 is rounded to nearest even.
func (g *Graph) Cast(x Value, to Type) Value {
	return g.node("Cast", to, slices.Clone(x.shape), []Value{x}, integer("to", int(to)))
}

// Gelu is the exact one, x·Φ(x).
func (g *Graph) Gelu(x Value) Value { return g.unary("Gelu", x) }

// Relu is max(x, 0).
func (g *Graph) Relu(x Value) Value { return g.unary("Relu", x) }

// Sigmoid is 1/(1 + exp(−x)).
func (g *Graph) Sigmoid(x Value) Value { return g.unary("Sigmoid", x) }

// Sin is the sine.
func (g *Graph) Sin(x Value) Value { return g.unary("Sin", x) }

// Cos is the cosine.
func (g *Graph) Cos(x Value) Value { return g.unary("Cos", x) }

// Softmax normalises along the last dimension.
func (g *Graph) Softmax(x Value) Value {
	g.want("Softmax", x, Float, -1)
	return g.node("Softmax", Float, slices.Clone(x.shape), []Value{x}, integer("axis", -1))
}

// InstanceNorm brings each row x[i, j] of x n×r×… to mean 0 and variance 1.
func (g *Graph) InstanceNorm(x Value, epsilon float32) Value {
	const op = "InstanceNormalization"
	g.want(op, x, Float, -1)
	if len(x.shape) < 3 || x.shape[1] < 0 {
		g.failf(op, "%s has no known number of rows", g.describe(x.shape))
	}
	r := x.shape[1]
	ones := make([]float32, r)
	for i := range ones {
		ones[i] = 1
	}
	return g.node(op, Float, slices.Clone(x.shape), []Value{x, g.Const(ones, r), g.Const(make([]float32, r), r)}, float("epsilon", epsilon))
}

// LayerNorm normalises along the last dimension, then scales and shifts by that dimension's weight and bias.
func (g *Graph) LayerNorm(x, weight, bias Value, epsilon float32) Value {
	const op = "LayerNormalization"
	g.want(op, x, Float, -1)
	for _, w := range []Value{weight, bias} {
		g.want(op, w, Float, 1)
		if w.shape[0] != x.Dim(-1) {
			g.failf(op, "%s with a weight of %s", g.describe(x.shape), g.describe(w.shape))
		}
	}
	return g.node(op, Float, slices.Clone(x.shape), []Value{x, weight, bias}, integer("axis", -1), float("epsilon", epsilon))
}
