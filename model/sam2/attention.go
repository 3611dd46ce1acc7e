package sam2

import (
	"math"

	"maskstream/model/onnx"
)

// Attention over many queries runs in blocks, so that the scores of a 64×64 grid do not take hundreds of megabytes.
const (
	unblockedQueries = 1024
	queryBlock       = 512
)

// attend is softmax(q·kᵀ)·v: q …×t×d (already scaled), kT …×d×s, v …×s×e give …×t×e.
func (m module) attend(q, kT, v onnx.Value) onnx.Value {
	t, axis := q.Dim(-2), len(q.Shape())-2
	if t <= unblockedQueries {
		return m.MatMul(m.Softmax(m.MatMul(q, kT)), v)
	}
	var blocks []onnx.Value
	for start := 0; start < t; start += queryBlock {
		block := m.Slice(q, axis, start, min(start+queryBlock, t))
		blocks = append(blocks, m.MatMul(m.Softmax(m.MatMul(block, kT)), v))
	}
	return m.Concat(axis, blocks...)
}

// attentionScale is what queries of a head of dim channels are multiplied by.
func attentionScale(dim int) float64 { return 1 / math.Sqrt(float64(dim)) }
