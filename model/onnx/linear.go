package onnx

import "slices"

// MatMul multiplies matrices in the last two dimensions, a …×m×k by b …×k×n; the dimensions before broadcast.
func (g *Graph) MatMul(a, b Value) Value {
	const op = "MatMul"
	g.want(op, a, Float, -1)
	g.want(op, b, Float, -1)
	if len(a.shape) < 2 || len(b.shape) < 2 || a.Dim(-1) != b.Dim(-2) {
		g.failf(op, "%s by %s", g.describe(a.shape), g.describe(b.shape))
	}
	shape := g.broadcast(op, a.shape[:len(a.shape)-2], b.shape[:len(b.shape)-2])
	return g.node(op, Float, append(shape, a.Dim(-2), b.Dim(-1)), []Value{a, b})
}

// Gemm is x·w + bias for x m×k, w k×n and bias n: the cheapest way to apply a linear layer.
func (g *Graph) Gemm(x, w, bias Value) Value {
	const op = "Gemm"
	g.want(op, x, Float, 2)
	g.want(op, w, Float, 2)
	g.want(op, bias, Float, 1)
	if x.shape[1] != w.shape[0] || w.shape[1] != bias.shape[0] {
		g.failf(op, "%s by %s plus %s", g.describe(x.shape), g.describe(w.shape), g.describe(bias.shape))
	}
	return g.node(op, Float, []int{x.shape[0], w.shape[1]}, []Value{x, w, bias})
}

// Window is how a kernel moves over a picture: the same in both directions.
type Window struct{ Kernel, Stride, Pad int }

func (w Window) over(size int) int {
	if size < 0 {
		return size
	}
	return (size+2*w.Pad-w.Kernel)/w.Stride + 1
}

func (w Window) attributes() []attribute {
	return []attribute{ints("kernel_shape", w.Kernel, w.Kernel), ints("strides", w.Stride, w.Stride), ints("pads", w.Pad, w.Pad, w.Pad, w.Pad)}
}

// Conv convolves x n×c×h×w with weight o×c/groups×kernel×kernel and adds bias o.
func (g *Graph) Conv(x, weight, bias Value, window Window, groups int) Value {
	const op = "Conv"
	g.want(op, x, Float, 4)
	g.want(op, weight, Float, 4)
	g.want(op, bias, Float, 1)
	o, k := weight.shape[0], window.Kernel
	if !slices.Equal(weight.shape, []int{o, x.shape[1] / groups, k, k}) || bias.shape[0] != o || o%groups != 0 || x.shape[1]%groups != 0 {
		g.failf(op, "%s by %s plus %s in %d groups, kernel %d", g.describe(x.shape), g.describe(weight.shape), g.describe(bias.shape), groups, k)
	}
	shape := []int{x.shape[0], o, window.over(x.shape[2]), window.over(x.shape[3])}
	return g.node(op, Float, shape, []Value{x, weight, bias}, append(window.attributes(), integer("group", groups))...)
}

// ResizeLinear enlarges x n×c×h×w by a factor in both directions, as torch's bilinear with align_corners=False.
func (g *Graph) ResizeLinear(x Value, factor int) Value {
	const op = "Resize"
	g.want(op, x, Float, 4)
	if x.shape[2] < 0 || x.shape[3] < 0 {
		g.failf(op, "%s has no known size", g.describe(x.shape))
	}
	shape := []int{x.shape[0], x.shape[1], x.shape[2] * factor, x.shape[3] * factor}
	scales := g.Const([]float32{1, 1, float32(factor), float32(factor)}, 4)
	return g.node(op, Float, shape, []Value{x, {}, scales}, text("mode", "linear"), text("coordinate_transformation_mode", "half_pixel"))
}
