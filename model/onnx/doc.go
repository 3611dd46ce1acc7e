// Package onnx builds ONNX models in plain Go: values with shapes, about 40 operators that check them, protobuf out.
//
// A graph is written like the diagram it stands for. Every [Value] knows its type and shape; an operator given shapes that do
// not fit stops the build there, with an [*Error] that names the module, the operator and the shapes, which [Build] returns.
// So graph code has no error paths, and everything outside of it has the usual ones.
//
//	bytes, err := onnx.Build("double", func(g *onnx.Graph) {
//		n := g.Symbol("n")                                   // a size known only at run time
//		x := g.Input("x", onnx.Float, n, 4)                  // n×4
//		w := g.Const([]float32{ /* 4·8 numbers */ }, 4, 8)
//		g.Output("y", g.Relu(g.MatMul(x, w)))                // n×8
//	})
//
// Sizes are ints: zero and above are known, negative ones are symbols. Two symbols are equal only when they are the same
// symbol; a product such as n·4 is a symbol of its own.
//
// Operators are those of ONNX opset 20 (onnx.ai) and are named as there. Two values of different graphs do not mix.
package onnx
