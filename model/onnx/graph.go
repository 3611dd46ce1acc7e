package onnx

import (
	"fmt"
	"slices"
	"strings"
)

// Type is the type of a value's elements, with ONNX's numbers (TensorProto.DataType).
type Type int

const (
	Float    Type = 1
	Int64    Type = 7
	Bool     Type = 9
	BFloat16 Type = 16
)

// Value is one tensor of a graph under construction. It is immutable and may be used any number of times.
type Value struct {
	name  string
	dtype Type
	shape []int
}

// Shape is the size of each dimension, symbols negative. It must not be changed.
func (v Value) Shape() []int { return v.shape }

// Dim is the size of dimension i; a negative i counts from the end.
func (v Value) Dim(i int) int {
	if i < 0 {
		i += len(v.shape)
	}
	return v.shape[i]
}

// Graph is a model under construction. Only [Build] makes one.
type Graph struct {
	name    string
	module  string
	symbols []string // symbol −1 is symbols[0]

	nodes   [][]byte // encoded
	weights []chunk
	inputs  []Value
	outputs []Value
	count   int // of names given
}

// Build runs f on an empty graph and returns the finished model, or the error that stopped f.
func Build(name string, f func(g *Graph)) (model []byte, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			model, err = nil, r
		default:
			panic(r)
		}
	}()
	g := &Graph{name: name}
	f(g)
	return g.encode(), nil
}

// Module names the part of the model that the following operators belong to: in errors, and in the node names that a
// profile shows.
func (g *Graph) Module(path string) { g.module = path }

// Symbol returns a size that is known only when the model runs.
func (g *Graph) Symbol(name string) int {
	g.symbols = append(g.symbols, name)
	return -len(g.symbols)
}

// Input declares a tensor that the caller hands in.
func (g *Graph) Input(name string, dtype Type, shape ...int) Value {
	v := Value{name: name, dtype: dtype, shape: slices.Clone(shape)}
	g.inputs = append(g.inputs, v)
	return v
}

// Output declares that x is handed out under a name.
func (g *Graph) Output(name string, x Value) {
	out := Value{name: name, dtype: x.dtype, shape: x.shape}
	g.emit("Identity", []Value{x}, []Value{out})
	g.outputs = append(g.outputs, out)
}

// Const puts numbers into the model, row-major; it copies them when the build ends, so they must not change until then.
func (g *Graph) Const(data []float32, shape ...int) Value {
	if n := product(shape); n != len(data) {
		g.failf("Const", "%d numbers for shape %v", len(data), shape)
	}
	v := Value{name: g.fresh("w"), dtype: Float, shape: slices.Clone(shape)}
	g.weights = append(g.weights, encodeFloats(v.name, data, shape))
	return v
}

// Scalar is a constant without dimensions, which fits beside every shape.
func (g *Graph) Scalar(x float32) Value { return g.Const([]float32{x}) }

// Ints is a one-dimensional int64 constant.
func (g *Graph) Ints(data ...int) Value {
	v := Value{name: g.fresh("i"), dtype: Int64, shape: []int{len(data)}}
	g.weights = append(g.weights, encodeInts(v.name, data))
	return v
}

// Assume returns x with a shape of the author's choice, for what only the caller of the model can know: that a size which
// broadcasts is 1 or n, say. It costs nothing at run time and is not checked there.
func (g *Graph) Assume(x Value, shape ...int) Value {
	if len(shape) != len(x.shape) {
		g.failf("Assume", "%s taken for %s", g.describe(x.shape), g.describe(shape))
	}
	return Value{name: x.name, dtype: x.dtype, shape: slices.Clone(shape)}
}

func (g *Graph) fresh(prefix string) string {
	g.count++
	return fmt.Sprintf("%s%d", prefix, g.count)
}

// node adds an operator with one output.
func (g *Graph) node(op string, dtype Type, shape []int, inputs []Value, attributes ...attribute) Value {
	out := Value{name: g.fresh("v"), dtype: dtype, shape: shape}
	g.emit(op, inputs, []Value{out}, attributes...)
	return out
}

func (g *Graph) emit(op string, inputs, outputs []Value, attributes ...attribute) {
	domain := ""
	if i := strings.LastIndexByte(op, '.'); i >= 0 {
		domain, op = op[:i], op[i+1:]
	}
	name := fmt.Sprintf("%s/%s_%d", strings.ReplaceAll(g.module, ".", "/"), op, len(g.nodes))
	g.nodes = append(g.nodes, encodeNode(name, domain, op, inputs, outputs, attributes))
}

// want stops the build unless x has the type and, where rank is not negative, that many dimensions.
func (g *Graph) want(op string, x Value, dtype Type, rank int) {
	if x.name == "" {
		g.failf(op, "given a Value that no operator made")
	}
	if x.dtype != dtype {
		g.failf(op, "given type %d, wants %d", x.dtype, dtype)
	}
	if rank >= 0 && len(x.shape) != rank {
		g.failf(op, "given %s, wants %d dimensions", g.describe(x.shape), rank)
	}
}
