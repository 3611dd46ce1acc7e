package ort

import (
	"fmt"

	"maskstream/model"
	"maskstream/tensor"
)

// AttendMemory implements [model.Network].
func (n *Network) AttendMemory(features *model.Features, attentions []model.Attention) (*tensor.Tensor, error) {
	if err := n.wantFeatures(features); err != nil {
		return nil, err
	}
	if err := n.wantAttentions(attentions); err != nil {
		return nil, err
	}
	count, c, side := len(attentions), n.config.EmbedDim, n.config.Cells()
	var scratch results
	defer scratch.release()
	current := scratch.new(n.pool, tensor.Float32, 1, side*side, c)
	queries := scratch.new(n.pool, tensor.Float32, 1, side*side, c)
	if scratch.err != nil {
		return nil, scratch.err
	}
	if err := n.memoryQueries.call([]array{whole(features.Embedding)}, []array{whole(current), whole(queries)}); err != nil {
		return nil, err
	}
	conditioned, err := n.pool.New(tensor.Float32, count, c, side, side)
	if err != nil {
		return nil, err
	}
	tokens := len(attentions[0].Memories)*n.config.MemoryTokens() + len(attentions[0].Pointers)*n.config.PointerTokens()
	step := perRun(side * side * tokens)
	for first := 0; first < count; first += step {
		end := min(first+step, count)
		err := n.attend([]array{whole(current), whole(queries)}, attentions[first:end], rows(conditioned, first, end))
		if err != nil {
			conditioned.Release()
			return nil, err
		}
	}
	return conditioned, nil
}

// perRun is how many objects share a run in which each has a largest intermediate result of the given length: as many as fit
// a processor's cache together, for more only take memory and wait for it.
func perRun(length int) int {
	const cache = 1 << 19 // float32s, 2 MiB
	return max(1, cache/length)
}

// attend runs memory attention for one batch. frame is what memoryQueries made.
func (n *Network) attend(frame []array, attentions []model.Attention, conditioned array) error {
	count, k, p := len(attentions), len(attentions[0].Memories), len(attentions[0].Pointers)
	var scratch results // what comes from many frames, side by side
	defer scratch.release()
	length, width, c := n.config.MemoryTokens(), n.config.MemoryDim, n.config.EmbedDim
	memory := scratch.new(n.pool, tensor.BFloat16, count, k, length, width)
	pointers := scratch.new(n.pool, tensor.Float32, count, p, c)
	if scratch.err != nil {
		return scratch.err
	}
	temporal, distances := make([]int64, 0, count*k), make([]float32, 0, count*p)
	for _, a := range attentions {
		for _, m := range a.Memories {
			if err := memory.Put(len(temporal)*length*width, m.Features); err != nil {
				return err
			}
			temporal = append(temporal, int64(m.Temporal))
		}
		for _, m := range a.Pointers {
			if err := pointers.Put(len(distances)*c, m.Vector); err != nil {
				return err
			}
			distances = append(distances, m.Distance)
		}
	}
	inputs := append(frame, whole(memory), integers(temporal, count, k), whole(pointers), floats(distances, count, p))
	return n.memoryAttention.call(inputs, []array{conditioned})
}

// wantAttentions refuses what is no batch: all must name as many memories and pointers as the first.
func (n *Network) wantAttentions(attentions []model.Attention) error {
	if len(attentions) == 0 {
		return fmt.Errorf("%w: no attentions", ErrArgument)
	}
	k, p := len(attentions[0].Memories), len(attentions[0].Pointers)
	if k+p == 0 {
		return fmt.Errorf("%w: an attention without a memory and without a pointer", ErrArgument)
	}
	for i, a := range attentions {
		if len(a.Memories) != k || len(a.Pointers) != p {
			return fmt.Errorf("%w: attention %d names %d memories and %d pointers, attention 0 %d and %d", ErrArgument, i, len(a.Memories), len(a.Pointers), k, p)
		}
		for _, m := range a.Memories {
			if err := want("memory", m.Features, tensor.BFloat16, n.config.MemoryTokens(), n.config.MemoryDim); err != nil {
				return err
			}
			if m.Temporal < 0 || m.Temporal >= n.config.NumMaskmem {
				return fmt.Errorf("%w: temporal row %d of %d", ErrArgument, m.Temporal, n.config.NumMaskmem)
			}
		}
		for _, m := range a.Pointers {
			if err := want("pointer", m.Vector, tensor.Float32, n.config.EmbedDim); err != nil {
				return err
			}
		}
	}
	return nil
}
