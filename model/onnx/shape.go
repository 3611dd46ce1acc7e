package onnx

import (
	"fmt"
	"slices"
	"strings"
)

// product multiplies known sizes; a symbol gives −1.
func product(shape []int) int {
	n := 1
	for _, d := range shape {
		if d < 0 {
			return -1
		}
		n *= d
	}
	return n
}

// factors splits a shape into the product of its known sizes and its symbols in order.
func factors(shape []int) (known int, symbols []int) {
	known = 1
	for _, d := range shape {
		if d < 0 {
			symbols = append(symbols, d)
		} else {
			known *= d
		}
	}
	slices.Sort(symbols)
	return known, symbols
}

func (g *Graph) describe(shape []int) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = g.dimension(d)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

func (g *Graph) dimension(d int) string {
	if d < 0 {
		return g.symbols[-d-1]
	}
	return fmt.Sprint(d)
}

// broadcast is the common shape of a and b by numpy's rule: sizes are compared from the end, and a 1 stretches.
func (g *Graph) broadcast(op string, a, b []int) []int {
	long, short := a, b
	if len(a) < len(b) {
		long, short = b, a
	}
	out := slices.Clone(long)
	skip := len(long) - len(short)
	for i, d := range short {
		switch {
		case out[skip+i] == d || d == 1:
		case out[skip+i] == 1:
			out[skip+i] = d
		default:
			g.failf(op, "%s and %s do not go together", g.describe(a), g.describe(b))
		}
	}
	return out
}

// Reshape gives x the new shape without moving anything. At most one symbol of the new shape may stand in a place where x
// has another size; it is computed at run time and then means the product of what is left.
func (g *Graph) Reshape(x Value, shape ...int) Value {
	const op = "Reshape"
	target, inferred := make([]int, len(shape)), 0
	for i, d := range shape {
		switch {
		case d >= 0:
			target[i] = d
		case i < len(x.shape) && x.shape[i] == d:
			target[i] = 0 // "as the input"
		default:
			target[i] = -1
			inferred++
		}
	}
	fromKnown, fromSymbols := factors(x.shape)
	toKnown, toSymbols := factors(shape)
	fits := inferred <= 1
	if inferred == 0 || slices.Equal(fromSymbols, toSymbols) {
		fits = fits && fromKnown == toKnown && slices.Equal(fromSymbols, toSymbols)
	}
	if !fits || fromKnown != 0 && toKnown == 0 || slices.Contains(shape, 0) {
		g.failf(op, "%s does not become %s", g.describe(x.shape), g.describe(shape))
	}
	return g.node(op, x.dtype, slices.Clone(shape), []Value{x, g.Ints(target...)})
}

// ReshapeLike gives x, rows×c, the dimensions of like but the last, and after them c.
func (g *Graph) ReshapeLike(x, like Value, c int) Value {
	const op = "ReshapeLike"
	if len(x.shape) != 2 || x.shape[1] != c {
		g.failf(op, "%s with %d columns", g.describe(x.shape), c)
	}
	outer := len(like.shape) - 1
	extent := g.node("Shape", Int64, []int{outer}, []Value{like}, integer("start", 0), integer("end", outer))
	extent = g.node("Concat", Int64, []int{outer + 1}, []Value{extent, g.Ints(c)}, integer("axis", 0))
	return g.node("Reshape", x.dtype, append(slices.Clone(like.shape[:outer]), c), []Value{x, extent}, integer("allowzero", 1))
}

// Transpose orders the dimensions of x: dimension i of the result is dimension order[i] of x.
func (g *Graph) Transpose(x Value, order ...int) Value {
	const op = "Transpose"
	if len(order) != len(x.shape) {
		g.failf(op, "order %v for %s", order, g.describe(x.shape))
	}
	shape, seen := make([]int, len(order)), make([]bool, len(order))
	for i, d := range order {
		if d < 0 || d >= len(order) || seen[d] {
			g.failf(op, "order %v is no permutation", order)
		}
		shape[i], seen[d] = x.shape[d], true
	}
	return g.node(op, x.dtype, shape, []Value{x}, ints("perm", order...))
}

// Concat joins values along an axis on which every size is known.
func (g *Graph) Concat(axis int, xs ...Value) Value {
	size := 0
	for _, x := range xs {
		if axis >= len(x.shape) || x.shape[axis] < 0 {
			g.failf("Concat", "%s along %d needs ConcatTo", g.describe(x.shape), axis)
		}
		size += x.shape[axis]
	}
	return g.ConcatTo(axis, size, xs...)
}

// ConcatTo joins values along an axis to a size that the author names, a symbol where one of theirs is.
func (g *Graph) ConcatTo(axis, size int, xs ...Value) Value {
	const op = "Concat"
	shape := slices.Clone(xs[0].shape)
	for _, x := range xs {
		g.want(op, x, xs[0].dtype, len(shape))
		for i, d := range x.shape {
			if i != axis && d != shape[i] {
				g.failf(op, "%s beside %s along %d", g.describe(x.shape), g.describe(xs[0].shape), axis)
			}
		}
	}
	shape[axis] = size
	return g.node(op, xs[0].dtype, shape, xs, integer("axis", axis))
}

// Slice takes elements from start to before end along an axis.
func (g *Graph) Slice(x Value, axis, start, end int) Value {
	const op = "Slice"
	if axis >= len(x.shape) || start < 0 || end < start || x.shape[axis] >= 0 && end > x.shape[axis] {
		g.failf(op, "%d:%d along %d of %s", start, end, axis, g.describe(x.shape))
	}
	shape := slices.Clone(x.shape)
	shape[axis] = end - start
	return g.node(op, x.dtype, shape, []Value{x, g.Ints(start), g.Ints(end), g.Ints(axis)})
}

// Split cuts x along an axis into parts of the given sizes.
func (g *Graph) Split(x Value, axis int, sizes ...int) []Value {
	const op = "Split"
	total := 0
	parts := make([]Value, len(sizes))
	for i, size := range sizes {
		shape := slices.Clone(x.shape)
		shape[axis] = size
		parts[i] = Value{name: g.fresh("v"), dtype: x.dtype, shape: shape}
		total += size
	}
	if total != x.shape[axis] {
		g.failf(op, "%v along %d of %s", sizes, axis, g.describe(x.shape))
	}
	g.emit(op, []Value{x, g.Ints(sizes...)}, parts, integer("axis", axis))
	return parts
}

// PadEnd appends zeros: by[i] of them at the end of dimension i.
func (g *Graph) PadEnd(x Value, by ...int) Value {
	const op = "Pad"
	if len(by) != len(x.shape) {
		g.failf(op, "%v for %s", by, g.describe(x.shape))
	}
	shape := slices.Clone(x.shape)
	for i, n := range by {
		if n != 0 && shape[i] < 0 {
			g.failf(op, "%v for %s", by, g.describe(x.shape))
		}
		if n != 0 {
			shape[i] += n
		}
	}
	return g.node(op, x.dtype, shape, []Value{x, g.Ints(append(make([]int, len(by)), by...)...)}, text("mode", "constant"))
}

// Expand stretches the dimensions of size 1 of x to those of like, which has as many.
func (g *Graph) Expand(x, like Value) Value {
	const op = "Expand"
	shape := g.broadcast(op, x.shape, like.shape)
	extent := g.node("Shape", Int64, []int{len(like.shape)}, []Value{like})
	return g.node(op, x.dtype, shape, []Value{x, extent})
}
