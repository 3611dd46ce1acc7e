package ort

import (
	"fmt"

	"maskstream/model"
	"maskstream/tensor"
)

// What the mask decoder proposes for each prompt, and when a single mask is not trusted (mask_decoder.py,
// dynamic_multimask_via_stability): where too little of what lies above −delta lies above delta.
const (
	proposals          = model.Proposals
	stabilityDelta     = 0.05
	stabilityThreshold = 0.98
)

// candidateBatch is how many prompts the decoder sees at once. Each has a whole embedding of its own inside the decoder, so that
// more of them cost memory and gain nothing.
const candidateBatch = 16

// DecodeCandidates proposes masks for prompts on an image without memory, all of one kind: each with several candidates
// (Multimask) or each with a single one. Every prompt must have as many points as the others; drawn masks are refused. The
// embedding is shared by all prompts. The result is the caller's.
func (n *Network) DecodeCandidates(features *model.Features, prompts []model.Prompt) (*model.Candidates, error) {
	if err := n.wantFeatures(features); err != nil {
		return nil, err
	}
	if err := n.wantPrompts(prompts); err != nil {
		return nil, err
	}
	for i, p := range prompts {
		if p.Mask != nil {
			return nil, fmt.Errorf("%w: prompt %d is a drawn mask, which needs no candidates", ErrArgument, i)
		}
		if p.Multimask != prompts[0].Multimask {
			return nil, fmt.Errorf("%w: prompt %d wants several candidates and prompt 0 does not, or the other way round", ErrArgument, i)
		}
	}
	each := 1
	if prompts[0].Multimask {
		each = proposals - 1
	}
	low := n.config.LowRes()
	logits, err := n.pool.New(tensor.Float32, len(prompts), each, low, low)
	if err != nil {
		return nil, err
	}
	c := &model.Candidates{Logits: logits, PredictedIoU: make([]float32, len(prompts)*each)}
	for first := 0; first < len(prompts); first += candidateBatch {
		if err := n.propose(features, prompts[first:min(first+candidateBatch, len(prompts))], c, first, each); err != nil {
			c.Release()
			return nil, err
		}
	}
	return c, nil
}

// propose runs the decoder on a batch of prompts and fills their rows of c, from first on, with the masks that count.
func (n *Network) propose(features *model.Features, batch []model.Prompt, c *model.Candidates, first, each int) error {
	low, count := n.config.LowRes(), len(batch)
	var scratch results
	defer scratch.release()
	d := n.describe(&scratch, batch, 1)
	all := scratch.new(n.pool, tensor.Float32, count, proposals, low, low)
	if scratch.err != nil {
		return scratch.err
	}
	ious := make([]float32, count*proposals)
	err := n.maskDecoder.fetch(n.inputs(features, whole(features.Embedding), d),
		[]string{"all_logits", "all_ious"}, []array{whole(all), floats(ious, count, proposals)})
	if err != nil {
		return err
	}
	pixels := low * low
	to, toIoU := c.Logits.Float32s()[first*each*pixels:], c.PredictedIoU[first*each:]
	for i := range count {
		masks, iou := all.Float32s()[i*proposals*pixels:][:proposals*pixels], ious[i*proposals:][:proposals]
		from := 1
		if each == 1 {
			from = chosen(masks[:pixels], iou)
		}
		copy(to[i*each*pixels:], masks[from*pixels:(from+each)*pixels])
		copy(toIoU[i*each:], iou[from:from+each])
	}
	return nil
}

// chosen is the single mask: mask 0, or the best of the others by predicted IoU where mask 0 is not stable.
func chosen(single []float32, ious []float32) int {
	inner, outer := 0, 0
	for _, v := range single {
		if v > stabilityDelta {
			inner++
		}
		if v > -stabilityDelta {
			outer++
		}
	}
	if outer == 0 || float32(inner)/float32(outer) >= stabilityThreshold {
		return 0
	}
	best := 1
	for i := 2; i < len(ious); i++ {
		if ious[i] > ious[best] {
			best = i
		}
	}
	return best
}
