package modeltest

import (
	"errors"
	"fmt"
	"slices"

	"maskstream/model"
	"maskstream/tensor"
)

// want holds a tensor to its type and shape.
func want(name string, t *tensor.Tensor, dtype tensor.DType, shape ...int) error {
	if t == nil {
		return fmt.Errorf("modeltest: %s is missing", name)
	}
	if t.DType() != dtype || !slices.Equal(t.Shape(), shape) {
		return fmt.Errorf("modeltest: %s is %s%v, not %s%v", name, t.DType(), t.Shape(), dtype, shape)
	}
	t.Bytes() // panics where it has been given back already
	return nil
}

func (n *Network) features(f *model.Features) error {
	if f == nil {
		return errors.New("modeltest: no features")
	}
	c, h := n.config.EmbedDim, n.config.Cells()
	return errors.Join(want("embedding", f.Embedding, tensor.Float32, 1, c, h, h),
		want("high-res 0", f.HighRes0, tensor.Float32, 1, c/8, 4*h, 4*h), want("high-res 1", f.HighRes1, tensor.Float32, 1, c/4, 2*h, 2*h))
}

// attentions refuses empty and ragged batches.
func (n *Network) attentions(attentions []model.Attention) error {
	if len(attentions) == 0 {
		return errors.New("modeltest: an empty batch of attentions")
	}
	memories, pointers := len(attentions[0].Memories), len(attentions[0].Pointers)
	if memories+pointers == 0 {
		return errors.New("modeltest: neither a memory nor a pointer to attend to")
	}
	var errs []error
	tokens := n.config.MemoryTokens()
	for i, a := range attentions {
		if len(a.Memories) != memories || len(a.Pointers) != pointers {
			errs = append(errs, fmt.Errorf("modeltest: ragged batch: attention %d has %d memories and %d pointers, the first %d and %d", i, len(a.Memories), len(a.Pointers), memories, pointers))
		}
		for _, m := range a.Memories {
			errs = append(errs, want("memory", m.Features, tensor.BFloat16, tokens, n.config.MemoryDim))
			if m.Temporal < 0 || m.Temporal >= n.config.NumMaskmem {
				errs = append(errs, fmt.Errorf("modeltest: temporal position %d of %d", m.Temporal, n.config.NumMaskmem))
			}
		}
		for _, p := range a.Pointers {
			errs = append(errs, want("pointer", p.Vector, tensor.Float32, n.config.EmbedDim))
		}
	}
	return errors.Join(errs...)
}

// prompts refuses empty and ragged batches, and drawn masks together with anything else.
func (n *Network) prompts(embedding *tensor.Tensor, prompts []model.Prompt) error {
	if len(prompts) == 0 {
		return errors.New("modeltest: an empty batch of prompts")
	}
	s, h := n.config.ImageSize, n.config.Cells()
	var errs []error
	if embedding != nil {
		errs = append(errs, want("embedding", embedding, tensor.Float32, len(prompts), n.config.EmbedDim, h, h))
	}
	for i, p := range prompts {
		if len(p.Points) != len(prompts[0].Points) {
			errs = append(errs, fmt.Errorf("modeltest: ragged batch: prompt %d has %d points, the first %d", i, len(p.Points), len(prompts[0].Points)))
		}
		if p.Alternatives != prompts[0].Alternatives || p.Alternatives && p.Mask != nil {
			errs = append(errs, fmt.Errorf("modeltest: prompt %d and the first disagree on alternatives, or a drawn mask asks for them", i))
		}
		if p.Logits != nil {
			errs = append(errs, want("previous logits", p.Logits, tensor.Float32, 4*h, 4*h))
		}
		if p.Mask != nil {
			errs = append(errs, want("mask", p.Mask, tensor.Float32, s, s))
			if len(p.Points) > 0 || p.Logits != nil {
				errs = append(errs, errors.New("modeltest: a drawn mask excludes points and logits"))
			}
		}
	}
	return errors.Join(errs...)
}
