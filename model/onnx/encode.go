package onnx

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"maskstream/internal/garbage"
)

// Versions of the format that the models say they are of.
const (
	irVersion    = 9
	opsetVersion = 20
)

// chunk is an encoded field of the graph. Large ones are kept apart until the end, so that they are copied once.
type chunk struct {
	head []byte
	data []float32 // nil, or the raw data that ends the field
}

func (c chunk) size() int { return len(c.head) + 4*len(c.data) }

func (c chunk) append(b []byte) []byte {
	b = append(b, c.head...)
	for _, f := range c.data {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

// attribute is an encoded AttributeProto.
type attribute []byte

func integer(name string, i int) attribute {
	b := bytesField(nil, 1, []byte(name))
	b = varintField(b, 3, uint64(i))
	return varintField(b, 20, 2)
}

func ints(name string, values ...int) attribute {
	b := bytesField(nil, 1, []byte(name))
	for _, i := range values {
		b = varintField(b, 8, uint64(i))
	}
	return varintField(b, 20, 7)
}

func float(name string, f float32) attribute {
	b := bytesField(nil, 1, []byte(name))
	b = protowire.AppendTag(b, 2, protowire.Fixed32Type)
	b = protowire.AppendFixed32(b, math.Float32bits(f))
	return varintField(b, 20, 1)
}

func text(name, s string) attribute {
	b := bytesField(nil, 1, []byte(name))
	b = bytesField(b, 4, []byte(s))
	return varintField(b, 20, 3)
}

func encodeNode(name, domain, op string, inputs, outputs []Value, attributes []attribute) []byte {
	var b []byte
	for _, v := range inputs {
		b = bytesField(b, 1, []byte(v.name))
	}
	for _, v := range outputs {
		b = bytesField(b, 2, []byte(v.name))
	}
	b = bytesField(b, 3, []byte(name))
	b = bytesField(b, 4, []byte(op))
	for _, a := range attributes {
		b = bytesField(b, 5, a)
	}
	if domain != "" {
		b = bytesField(b, 7, []byte(domain))
	}
	return b
}

// encodeFloats is an initializer field of the graph.
func encodeFloats(name string, data []float32, shape []int) chunk {
	var tensor []byte
	for _, d := range shape {
		tensor = varintField(tensor, 1, uint64(d))
	}
	tensor = varintField(tensor, 2, uint64(Float))
	tensor = bytesField(tensor, 8, []byte(name))
	tensor = protowire.AppendTag(tensor, 9, protowire.BytesType)
	tensor = protowire.AppendVarint(tensor, uint64(4*len(data)))
	head := protowire.AppendTag(nil, 5, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(tensor)+4*len(data)))
	return chunk{append(head, tensor...), data}
}

func encodeInts(name string, data []int) chunk {
	tensor := varintField(nil, 1, uint64(len(data)))
	tensor = varintField(tensor, 2, uint64(Int64))
	for _, i := range data {
		tensor = varintField(tensor, 7, uint64(i))
	}
	return chunk{head: bytesField(nil, 5, bytesField(tensor, 8, []byte(name)))}
}

// encode is the ModelProto.
func (g *Graph) encode() []byte {
	var graph []byte
	for _, n := range g.nodes {
		graph = bytesField(graph, 1, n)
	}
	graph = bytesField(graph, 2, []byte(g.name))
	for _, v := range g.inputs {
		graph = bytesField(graph, 11, g.encodeInfo(v))
	}
	for _, v := range g.outputs {
		graph = bytesField(graph, 12, g.encodeInfo(v))
	}
	size := len(graph)
	for _, w := range g.weights {
		size += w.size()
	}
	head := varintField(nil, 1, irVersion)
	head = bytesField(head, 2, []byte("maskstream"))
	head = bytesField(head, 8, varintField(nil, 2, opsetVersion))
	head = bytesField(head, 8, varintField(bytesField(nil, 1, []byte(microsoft)), 2, 1))
	head = protowire.AppendTag(head, 7, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(size))

	garbage.Return(size) // what was read on the way to these weights goes before they are copied
	model := make([]byte, 0, len(head)+size)
	model = append(model, head...)
	model = append(model, graph...)
	for _, w := range g.weights {
		model = w.append(model)
	}
	return model
}

// encodeInfo is the ValueInfoProto of an input or output.
func (g *Graph) encodeInfo(v Value) []byte {
	var shape []byte
	for _, d := range v.shape {
		if d < 0 {
			shape = bytesField(shape, 1, bytesField(nil, 2, []byte(g.dimension(d))))
		} else {
			shape = bytesField(shape, 1, varintField(nil, 1, uint64(d)))
		}
	}
	tensor := varintField(nil, 1, uint64(v.dtype))
	tensor = bytesField(tensor, 2, shape)
	return bytesField(bytesField(nil, 1, []byte(v.name)), 2, bytesField(nil, 1, tensor))
}

func bytesField(b []byte, field protowire.Number, data []byte) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendBytes(b, data)
}

func varintField(b []byte, field protowire.Number, i uint64) []byte {
	b = protowire.AppendTag(b, field, protowire.VarintType)
	return protowire.AppendVarint(b, i)
}
