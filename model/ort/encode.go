package ort

import (
	"fmt"

	"maskstream/model"
	"maskstream/tensor"
)

// EncodeImage implements [model.Network].
func (n *Network) EncodeImage(pixels *tensor.Tensor) (*model.Features, error) {
	size, side, c := n.config.ImageSize, n.config.Cells(), n.config.EmbedDim
	if err := want("pixels", pixels, tensor.Float32, 1, 3, size, size); err != nil {
		return nil, err
	}
	home, err := pixels.To(n.pool)
	if err != nil {
		return nil, err
	}
	defer home.Release()
	var made results
	defer made.release()
	f := &model.Features{
		Embedding: made.new(n.pool, tensor.Float32, 1, c, side, side),
		HighRes0:  made.new(n.pool, tensor.Float32, 1, c/8, 4*side, 4*side),
		HighRes1:  made.new(n.pool, tensor.Float32, 1, c/4, 2*side, 2*side),
	}
	if made.err != nil {
		return nil, made.err
	}
	err = n.imageEncoder.call([]array{whole(home)}, []array{whole(f.Embedding), whole(f.HighRes0), whole(f.HighRes1)})
	if err != nil {
		return nil, err
	}
	made.keep()
	return f, nil
}

// EncodeMemory implements [model.Network].
func (n *Network) EncodeMemory(features *model.Features, logits *tensor.Tensor, scores []float32, binarize []bool) (*tensor.Tensor, error) {
	count, low := len(scores), n.config.LowRes()
	if err := n.wantFeatures(features); err != nil {
		return nil, err
	}
	if len(binarize) != count || count == 0 {
		return nil, fmt.Errorf("%w: %d scores and %d choices to binarise", ErrArgument, count, len(binarize))
	}
	if err := want("logits", logits, tensor.Float32, count, low, low); err != nil {
		return nil, err
	}
	hard := make([]float32, count)
	for i, b := range binarize {
		hard[i] = flag(b)
	}
	memory, err := n.pool.New(tensor.BFloat16, count, n.config.MemoryTokens(), n.config.MemoryDim)
	if err != nil {
		return nil, err
	}
	step := perRun(4 * n.config.ImageSize * n.config.ImageSize) // 16 channels of half the side
	for first := 0; first < count; first += step {
		end := min(first+step, count)
		err := n.memoryEncoder.call(
			[]array{whole(features.Embedding), rows(logits, first, end), floats(scores[first:end], end-first), floats(hard[first:end], end-first)},
			[]array{rows(memory, first, end)})
		if err != nil {
			memory.Release()
			return nil, err
		}
	}
	return memory, nil
}

func flag(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

// results are tensors that are released together unless they are kept, and the first error in making them.
type results struct {
	tensors []*tensor.Tensor
	err     error
}

func (r *results) new(pool *tensor.Pool, dtype tensor.DType, shape ...int) *tensor.Tensor {
	if r.err != nil {
		return nil
	}
	t, err := pool.New(dtype, shape...)
	if err != nil {
		r.err = err
		return nil
	}
	r.tensors = append(r.tensors, t)
	return t
}

// take owns a tensor that was made elsewhere, or has the error in making it.
func (r *results) take(t *tensor.Tensor, err error) *tensor.Tensor {
	if err != nil {
		if r.err == nil {
			r.err = err
		}
		return nil
	}
	r.tensors = append(r.tensors, t)
	return t
}

func (r *results) keep() { r.tensors = nil }

func (r *results) release() {
	for _, t := range r.tensors {
		t.Release()
	}
}
