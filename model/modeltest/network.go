package modeltest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"maskstream/model"
	"maskstream/tensor"
)

// Network is the fake. Set the functions before its first use.
type Network struct {
	Fail     func(verb string) error                                   // asked before every verb; its error is the verb's
	Attended func(attentions []model.Attention)                        // sees every AttendMemory; everything is borrowed
	Decoded  func(embedding *tensor.Tensor, prompts []model.Prompt)    // sees every DecodeMasks
	Encoded  func(logits *tensor.Tensor, scores []float32, bin []bool) // sees every EncodeMemory
	Calls    Calls

	config model.Config
	pool   *tensor.Pool
}

// Calls counts the calls of each verb, also those that failed.
type Calls struct {
	EncodeImage, AttendMemory, DecodeMasks, DecodeCandidates, EncodeMemory, Close atomic.Int64
}

var _ model.Network = (*Network)(nil)

// New returns a fake whose tensors live in a host pool. size is S, a multiple of 16; from 64 up there is room for a few dots.
func New(pool *tensor.Pool, size int) *Network {
	return &Network{pool: pool, config: model.Config{
		Name: "disc", ImageSize: size, EmbedDim: 32, MemoryDim: 8, NumMaskmem: 7, MaxObjPtrsInEncoder: 16, MaxCondFramesInAttn: -1,
		MemoryTemporalStride: 1, SigmoidScaleForMemEnc: 20, SigmoidBiasForMemEnc: -10, MultimaskMinPoints: 0, MultimaskMaxPoints: 1,
		MultimaskOutputInSAM: true, MultimaskForTracking: true, MultimaskTokenForPtr: true, HighResFeaturesInSAM: true,
		MaskInputAsOutput: true, DirectlyAddNoMemEmbed: true, NoObjEmbedSpatial: true, ObjPtrsInEncoder: true,
		ObjPtrTemporalEncoding: true, ProjectObjPtrTemporal: true, SignedObjPtrTemporal: true, OnlyPastObjPtrs: true,
		PredObjScores: true, PredObjScoresMLP: true, FixedNoObjPtr: true, MLPForObjPtrProj: true, IoUPredictionSigmoid: true,
	}}
}

// Config is SAM 2.1's but for the sizes.
func (n *Network) Config() model.Config { return n.config }

// Configure changes the configuration before the first use, to try other rules.
func (n *Network) Configure(change func(*model.Config)) { change(&n.config) }

// Close only counts.
func (n *Network) Close() error {
	n.Calls.Close.Add(1)
	return nil
}

// Channels of the embedding and of a memory token that carry something; the others are zero.
const (
	brightness  = iota // mean of the first colour
	whereabouts        // coverage of the memory that counts
	fingerprint        // of all memories and pointers
)

// EncodeImage averages the first colour down to the three resolutions.
func (n *Network) EncodeImage(pixels *tensor.Tensor) (*model.Features, error) {
	n.Calls.EncodeImage.Add(1)
	c := n.config
	h := c.Cells()
	if err := errors.Join(n.fail("EncodeImage"), want("pixels", pixels, tensor.Float32, 1, 3, c.ImageSize, c.ImageSize)); err != nil {
		return nil, err
	}
	var f model.Features
	var err error
	red := pixels.Float32s()[:c.ImageSize*c.ImageSize]
	for _, level := range []struct {
		to             **tensor.Tensor
		channels, side int
	}{{&f.Embedding, c.EmbedDim, h}, {&f.HighRes0, c.EmbedDim / 8, 4 * h}, {&f.HighRes1, c.EmbedDim / 4, 2 * h}} {
		if *level.to, err = n.zeros(tensor.Float32, 1, level.channels, level.side, level.side); err != nil {
			f.Release()
			return nil, err
		}
		shrink((*level.to).Float32s()[:level.side*level.side], level.side, red, c.ImageSize, func(v float32) float32 { return v })
	}
	return &f, nil
}

// AttendMemory takes the coverage of the nearest memory that shows the object: recent ones first, then the latest conditioning one.
func (n *Network) AttendMemory(features *model.Features, attentions []model.Attention) (*tensor.Tensor, error) {
	n.Calls.AttendMemory.Add(1)
	if err := errors.Join(n.fail("AttendMemory"), n.features(features), n.attentions(attentions)); err != nil {
		return nil, err
	}
	if n.Attended != nil {
		n.Attended(attentions)
	}
	c := n.config
	cells := c.Cells() * c.Cells()
	t, err := n.zeros(tensor.Float32, len(attentions), c.EmbedDim, c.Cells(), c.Cells())
	if err != nil {
		return nil, err
	}
	for i, a := range attentions {
		object := t.Float32s()[i*c.EmbedDim*cells:][:c.EmbedDim*cells]
		copy(object[brightness*cells:], features.Embedding.Float32s()[brightness*cells:][:cells])
		nearest, print := math.MaxInt, 0.0
		for _, m := range a.Memories {
			var total float64
			coverage := make([]float32, cells)
			for cell := range coverage {
				token := m.Features.BFloat16s()[cell*c.MemoryDim:][:c.MemoryDim]
				coverage[cell] = tensor.FromBFloat16(token[0])
				total += float64(coverage[cell]+tensor.FromBFloat16(token[1])) * float64(cell+1)
			}
			if m.Temporal <= nearest && slices.Max(coverage) >= covered {
				nearest = m.Temporal
				copy(object[whereabouts*cells:], coverage)
			}
			print += total * float64(m.Temporal+1)
		}
		for _, p := range a.Pointers {
			v := p.Vector.Float32s()
			print += float64(v[0]+2*v[1]+3*v[2]) * float64(p.Distance+20)
		}
		object[fingerprint*cells] = float32(math.Sin(print))
	}
	return t, nil
}

// EncodeMemory stores each cell's mean mask, as 0 and 1 where binarised, and nothing where the object is absent.
func (n *Network) EncodeMemory(features *model.Features, logits *tensor.Tensor, scores []float32, binarize []bool) (*tensor.Tensor, error) {
	n.Calls.EncodeMemory.Add(1)
	c := n.config
	count := len(scores)
	if err := errors.Join(n.fail("EncodeMemory"), n.features(features), want("logits", logits, tensor.Float32, count, c.LowRes(), c.LowRes())); err != nil {
		return nil, err
	}
	if count == 0 || len(binarize) != count {
		return nil, fmt.Errorf("modeltest: %d scores but %d binarize flags", count, len(binarize))
	}
	if n.Encoded != nil {
		n.Encoded(logits, scores, binarize)
	}
	side := c.Cells()
	t, err := n.zeros(tensor.BFloat16, count, side*side, c.MemoryDim)
	if err != nil {
		return nil, err
	}
	coverage := make([]float32, side*side)
	for i := range count {
		shrink(coverage, side, logits.Float32s()[i*c.LowRes()*c.LowRes():], c.LowRes(), func(v float32) float32 {
			switch {
			case !binarize[i]:
				return float32(1 / (1 + math.Exp(-float64(v))))
			case v > 0:
				return 1
			}
			return 0
		})
		tokens := t.BFloat16s()[i*side*side*c.MemoryDim:]
		for cell, v := range coverage {
			if scores[i] > 0 {
				tokens[cell*c.MemoryDim] = tensor.ToBFloat16(v)
			} else {
				tokens[cell*c.MemoryDim+1] = tensor.ToBFloat16(1) // the no-object embedding
			}
		}
	}
	return t, nil
}

func (n *Network) fail(verb string) error {
	if n.Fail == nil {
		return nil
	}
	return n.Fail(verb)
}

func (n *Network) zeros(dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	t, err := n.pool.New(dtype, shape...)
	if err != nil {
		return nil, err
	}
	clear(t.Bytes())
	return t, nil
}

// shrink averages a square map down to side×side.
func shrink(to []float32, side int, from []float32, width int, of func(float32) float32) {
	step := width / side
	for y := range side {
		for x := range side {
			var sum float32
			for dy := range step {
				for _, v := range from[(y*step+dy)*width+x*step:][:step] {
					sum += of(v)
				}
			}
			to[y*side+x] = sum / float32(step*step)
		}
	}
}
