package onnx

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a protobuf message.
type field struct {
	number protowire.Number
	bytes  []byte
	varint uint64
}

func parse(t *testing.T, message []byte) []field {
	t.Helper()
	var fields []field
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		message = message[n:]
		f := field{number: number}
		switch kind {
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		message = message[n:]
		fields = append(fields, f)
	}
	return fields
}

// all is the contents of every field of a number.
func all(fields []field, number protowire.Number) []string {
	var found []string
	for _, f := range fields {
		if f.number == number {
			found = append(found, string(f.bytes))
		}
	}
	return found
}

func TestAModelHoldsItsNodesWeightsAndEnds(t *testing.T) {
	model, err := Build("double", func(g *Graph) {
		n := g.Symbol("n")
		x := g.Input("x", Float, n, 2)
		g.Module("body.0")
		w := g.Const([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
		g.Output("y", g.Relu(g.MatMul(x, w)))
	})
	if err != nil {
		t.Fatal(err)
	}
	top := parse(t, model)
	if top[0].number != 1 || top[0].varint != irVersion {
		t.Errorf("the file begins with field %d = %d, not with its version", top[0].number, top[0].varint)
	}
	graph := parse(t, []byte(all(top, 7)[0]))
	var ops, names []string
	for _, n := range all(graph, 1) {
		node := parse(t, []byte(n))
		ops, names = append(ops, all(node, 4)...), append(names, all(node, 3)...)
	}
	if !slices.Equal(ops, []string{"MatMul", "Relu", "Identity"}) || names[0] != "body/0/MatMul_0" {
		t.Errorf("nodes %v named %v", ops, names)
	}
	weight := parse(t, []byte(all(graph, 5)[0]))
	if raw := all(weight, 9)[0]; len(raw) != 24 || raw[:4] != "\x00\x00\x80\x3f" {
		t.Errorf("the weight's data is %x", raw)
	}
	if !strings.Contains(all(graph, 11)[0], "n") || !slices.Equal(all(parse(t, []byte(all(graph, 12)[0])), 1), []string{"y"}) {
		t.Error("the input's symbol or the output's name is missing")
	}
}

func TestShapesAreWorkedOut(t *testing.T) {
	_, err := Build("shapes", func(g *Graph) {
		n, k := g.Symbol("n"), g.Symbol("k")
		picture := g.Input("picture", Float, n, 3, 8, 8)
		tokens := g.Input("tokens", Float, n, k, 4)
		index := g.Input("index", Int64, n, 1)
		weight := func(shape ...int) Value { return g.Const(make([]float32, product(shape)), shape...) }
		for name, c := range map[string]struct {
			got  Value
			want []int
		}{
			"broadcast":  {g.Add(tokens, weight(4)), []int{n, k, 4}},
			"stretch":    {g.Mul(g.Input("one", Float, 1, k, 1), tokens), []int{n, k, 4}},
			"matmul":     {g.MatMul(tokens, weight(4, 5)), []int{n, k, 5}},
			"batches":    {g.MatMul(weight(1, 7, 4), g.Transpose(tokens, 0, 2, 1)), []int{n, 7, k}},
			"conv":       {g.Conv(picture, weight(6, 3, 3, 3), weight(6), Window{3, 2, 1}, 1), []int{n, 6, 4, 4}},
			"depthwise":  {g.Conv(picture, weight(3, 1, 7, 7), weight(3), Window{7, 1, 3}, 3), []int{n, 3, 8, 8}},
			"resize":     {g.ResizeLinear(picture, 4), []int{n, 3, 32, 32}},
			"gather":     {g.Gather(weight(9, 2), index), []int{n, 1, 2}},
			"pick":       {g.Pick(tokens, index), []int{n, 4}},
			"argmax":     {g.ArgMax(tokens, 2), []int{n, k, 1}},
			"concat":     {g.Concat(2, tokens, tokens), []int{n, k, 8}},
			"slice":      {g.Slice(tokens, 1, 2, 5), []int{n, 3, 4}},
			"split":      {g.Split(tokens, 2, 1, 3)[1], []int{n, k, 3}},
			"pad":        {g.PadEnd(picture, 0, 0, 2, 1), []int{n, 3, 10, 9}},
			"expand":     {g.Expand(weight(1, 1, 4), tokens), []int{n, k, 4}},
			"where":      {g.Where(g.Greater(tokens, g.Scalar(0)), tokens, g.Scalar(1)), []int{n, k, 4}},
			"like":       {g.ReshapeLike(g.Reshape(tokens, g.Symbol("n·k"), 4), tokens, 4), []int{n, k, 4}},
			"same cells": {g.Reshape(picture, n, 192), []int{n, 192}},
		} {
			if !slices.Equal(c.got.Shape(), c.want) {
				t.Errorf("%s gives %s, want %s", name, g.describe(c.got.Shape()), g.describe(c.want))
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatDoesNotFitStopsTheBuild(t *testing.T) {
	for name, c := range map[string]struct {
		build func(g *Graph, x Value)
		op    string
	}{
		"other sizes":    {func(g *Graph, x Value) { g.Add(x, g.Const(make([]float32, 3), 3)) }, "Add"},
		"another symbol": {func(g *Graph, x Value) { g.Mul(x, g.Input("y", Float, g.Symbol("m"), 4, 4)) }, "Mul"},
		"another type":   {func(g *Graph, x Value) { g.Sub(x, g.Ints(1)) }, "Sub"},
		"inner sizes":    {func(g *Graph, x Value) { g.MatMul(x, g.Const(make([]float32, 6), 3, 2)) }, "MatMul"},
		"a bias too long": {func(g *Graph, x Value) {
			g.Gemm(g.Reshape(x, g.Symbol("r"), 4), g.Const(make([]float32, 8), 4, 2), g.Const(make([]float32, 3), 3))
		}, "Gemm"},
		"too few numbers":         {func(g *Graph, x Value) { g.Const(make([]float32, 3), 2, 2) }, "Const"},
		"another number of cells": {func(g *Graph, x Value) { g.Reshape(x, x.Dim(0), 15) }, "Reshape"},
		"two unknowns":            {func(g *Graph, x Value) { g.Reshape(x, g.Symbol("a"), g.Symbol("b"), 4) }, "Reshape"},
		"no permutation":          {func(g *Graph, x Value) { g.Transpose(x, 0, 0, 1) }, "Transpose"},
		"beyond the end":          {func(g *Graph, x Value) { g.Slice(x, 1, 2, 5) }, "Slice"},
		"parts of another sum":    {func(g *Graph, x Value) { g.Split(x, 1, 2, 3) }, "Split"},
		"an unknown size joined":  {func(g *Graph, x Value) { g.Concat(0, x, x) }, "Concat"},
		"unequal sides joined":    {func(g *Graph, x Value) { g.Concat(1, x, g.Slice(x, 2, 0, 3)) }, "Concat"},
		"a kernel of other depth": {func(g *Graph, x Value) {
			g.Conv(g.Reshape(x, x.Dim(0), 1, 4, 4), g.Const(make([]float32, 18), 1, 2, 3, 3), g.Scalar(0), Window{3, 1, 1}, 1)
		}, "Conv"},
		"no value":              {func(g *Graph, x Value) { g.Relu(Value{}) }, "Relu"},
		"a norm of other width": {func(g *Graph, x Value) { w := g.Const(make([]float32, 3), 3); g.LayerNorm(x, w, w, 1e-5) }, "LayerNormalization"},
		"rows without a number": {func(g *Graph, x Value) { g.InstanceNorm(g.Transpose(x, 1, 0, 2), 1e-5) }, "InstanceNormalization"},
	} {
		t.Run(name, func(t *testing.T) {
			model, err := Build("graph", func(g *Graph) {
				g.Module("here")
				c.build(g, g.Input("x", Float, g.Symbol("n"), 4, 4))
			})
			var stopped *Error
			if !errors.As(err, &stopped) || stopped.Op != c.op || stopped.Graph != "graph" || stopped.Module != "here" || model != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAnAuthorsErrorComesBack(t *testing.T) {
	missing := errors.New("no such weight")
	_, err := Build("graph", func(g *Graph) { g.Fail(missing) })
	if !errors.Is(err, missing) {
		t.Errorf("got %v", err)
	}
}
