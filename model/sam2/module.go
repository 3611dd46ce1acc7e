package sam2

import (
	"strings"

	"maskstream/model/onnx"
)

// Weights is where a graph's numbers come from: model/checkpoint.
type Weights interface {
	// Take returns the named weight as float32 in row-major order, once; its shape is checked. The slice is the caller's.
	Take(name string, shape ...int) ([]float32, error)
	// Has says whether there is such a weight.
	Has(name string) bool
	// Unused lists what nobody took.
	Unused() []string
}

// module is one of the reference's modules being written into a graph: its weights' prefix and the graph.
type module struct {
	*onnx.Graph
	weights Weights
	path    string
}

// in is the submodule of a name, and labels the operators that follow with it.
func (m module) in(name string) module {
	m.path = strings.TrimPrefix(m.path+"."+name, ".")
	m.Module(m.path)
	return m
}

// here labels the operators that follow with this module again, after one of its submodules.
func (m module) here() module {
	m.Module(m.path)
	return m
}

// take reads a weight of this module.
func (m module) take(name string, shape ...int) []float32 {
	data, err := m.weights.Take(strings.TrimPrefix(m.path+"."+name, "."), shape...)
	if err != nil {
		m.Fail(err)
	}
	return data
}

// weight is a constant with the weight's own shape.
func (m module) weight(name string, shape ...int) onnx.Value {
	return m.Const(m.take(name, shape...), shape...)
}

// linear reads nn.Linear, or a 1×1 convolution, which is the same on channels that come last.
func (m module) linear(name string, in, out int) linear {
	return linear{transpose(m.take(name+".weight", out, in), out, in), m.take(name+".bias", out), in, out}
}

// pointwise reads a 1×1 nn.Conv2d as the linear layer it is.
func (m module) pointwise(name string, in, out int) linear {
	return linear{transpose(m.take(name+".weight", out, in, 1, 1), out, in), m.take(name+".bias", out), in, out}
}

// apply runs a linear layer over the last dimension of x.
func (m module) apply(l linear, x onnx.Value) onnx.Value {
	w, b := m.Const(l.weight, l.in, l.out), m.Const(l.bias, l.out)
	shape := x.Shape()
	switch {
	case len(shape) == 2:
		return m.Gemm(x, w, b)
	case unknown(shape[1:]) == 0: // one Gemm with its bias beats a product and a sum
		flat := m.Gemm(m.Reshape(x, m.rows(shape[:len(shape)-1]), l.in), w, b)
		return m.Reshape(flat, append(append([]int(nil), shape[:len(shape)-1]...), l.out)...)
	default:
		flat := m.Gemm(m.Reshape(x, m.rows(shape[:len(shape)-1]), l.in), w, b)
		return m.ReshapeLike(flat, x, l.out)
	}
}

// rows is the product of the given sizes, a new symbol where one of them is one.
func (m module) rows(shape []int) int {
	n := 1
	for _, d := range shape {
		if d < 0 {
			return m.Symbol("rows")
		}
		n *= d
	}
	return n
}

func unknown(shape []int) int {
	n := 0
	for _, d := range shape {
		if d < 0 {
			n++
		}
	}
	return n
}

// norm is nn.LayerNorm over the last dimension, or LayerNorm2d on channels that come last: for few rows, see normalised.
func (m module) norm(name string, x onnx.Value, epsilon float32) onnx.Value {
	c := x.Dim(-1)
	return m.LayerNorm(x, m.weight(name+".weight", c), m.weight(name+".bias", c), epsilon)
}

// normalised is the first half of norm on x …×c whose sizes but the first are known: each row brought to mean 0 and variance
// 1. The second half, weight and bias, is returned to be made part of the linear layer that follows ([linear.after]) or to be
// applied ([module.affine]). ONNX Runtime's LayerNormalization takes seven times as long as its InstanceNormalization, which
// does the same when every row counts as a channel.
func (m module) normalised(name string, x onnx.Value, epsilon float32) (onnx.Value, affine) {
	return m.standardised(x, epsilon), m.affineOf(name, x.Dim(-1))
}

// affineOf reads the second half of a normalisation over c channels.
func (m module) affineOf(name string, c int) affine {
	return affine{m.take(name+".weight", c), m.take(name+".bias", c)}
}

// standardised is the first half alone.
func (m module) standardised(x onnx.Value, epsilon float32) onnx.Value {
	shape, c := x.Shape(), x.Dim(-1)
	if len(shape) == 3 && unknown(shape[1:]) == 0 && (shape[0] < 0 || shape[0] == 1) {
		return m.InstanceNorm(x, epsilon)
	}
	n, rows := 1, shape[:len(shape)-1]
	if shape[0] < 0 {
		n, rows = shape[0], rows[1:]
	}
	flat := m.InstanceNorm(m.Reshape(x, n, m.rows(rows), c), epsilon)
	return m.Reshape(flat, shape...)
}

// affine scales and shifts the last dimension of x.
func (m module) affine(a affine, x onnx.Value) onnx.Value {
	return m.Add(m.Mul(x, m.Const(a.weight, len(a.weight))), m.Const(a.bias, len(a.bias)))
}

// conv is nn.Conv2d.
func (m module) conv(name string, x onnx.Value, out int, window onnx.Window, groups int) onnx.Value {
	weight := m.weight(name+".weight", out, x.Dim(1)/groups, window.Kernel, window.Kernel)
	return m.Conv(x, weight, m.weight(name+".bias", out), window, groups)
}

// mlp is sam2_utils.MLP: linear layers with an activation between them.
func (m module) mlp(x onnx.Value, activation func(onnx.Value) onnx.Value, sizes ...int) onnx.Value {
	return m.perceptron(m.layers(sizes...), activation, x)
}

// layers reads the linear layers of an MLP.
func (m module) layers(sizes ...int) []linear {
	all := make([]linear, len(sizes)-1)
	for i := range all {
		all[i] = m.linear("layers."+itoa(i), sizes[i], sizes[i+1])
	}
	return all
}

// perceptron applies linear layers with an activation between them.
func (m module) perceptron(layers []linear, activation func(onnx.Value) onnx.Value, x onnx.Value) onnx.Value {
	for i, l := range layers {
		if i > 0 {
			x = activation(x)
		}
		x = m.apply(l, x)
	}
	return x
}
