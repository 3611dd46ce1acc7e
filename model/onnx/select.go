package onnx

import "slices"

func (g *Graph) reduce(op string, x Value, axis int, extra ...Value) Value {
	g.want(op, x, Float, -1)
	if axis < 0 || axis >= len(x.shape) {
		g.failf(op, "axis %d of %s", axis, g.describe(x.shape))
	}
	shape := slices.Clone(x.shape)
	shape[axis] = 1
	return g.node(op, Float, shape, append([]Value{x}, extra...), integer("keepdims", 1))
}

// ReduceSum sums along an axis, which stays as size 1.
func (g *Graph) ReduceSum(x Value, axis int) Value {
	return g.reduce("ReduceSum", x, axis, g.Ints(axis))
}

// ReduceMean averages along an axis, which stays as size 1.
func (g *Graph) ReduceMean(x Value, axis int) Value {
	return g.reduce("ReduceMean", x, axis, g.Ints(axis))
}

// ReduceMax is the greatest along an axis, which stays as size 1.
func (g *Graph) ReduceMax(x Value, axis int) Value {
	return g.reduce("ReduceMax", x, axis, g.Ints(axis))
}

// ArgMax is the place of the greatest along an axis, the first of equals, as Int64; the axis stays as size 1.
func (g *Graph) ArgMax(x Value, axis int) Value {
	const op = "ArgMax"
	g.want(op, x, Float, -1)
	shape := slices.Clone(x.shape)
	shape[axis] = 1
	return g.node(op, Int64, shape, []Value{x}, integer("axis", axis), integer("keepdims", 1))
}

// Gather takes rows of table, R×…, by Int64 indices of any shape: indices…×….
func (g *Graph) Gather(table, indices Value) Value {
	const op = "Gather"
	g.want(op, indices, Int64, -1)
	shape := append(slices.Clone(indices.shape), table.shape[1:]...)
	return g.node(op, table.dtype, shape, []Value{table, indices}, integer("axis", 0))
}

// Pick takes one row of each batch element: x is n×R×…, indices Int64 n×1, the result n×….
func (g *Graph) Pick(x, indices Value) Value {
	const op = "GatherND"
	g.want(op, indices, Int64, 2)
	if len(x.shape) < 2 || x.shape[0] != indices.shape[0] || indices.shape[1] != 1 {
		g.failf(op, "%s by %s", g.describe(x.shape), g.describe(indices.shape))
	}
	shape := append([]int{x.shape[0]}, x.shape[2:]...)
	return g.node(op, x.dtype, shape, []Value{x, indices}, integer("batch_dims", 1))
}
