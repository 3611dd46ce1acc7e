package modeltest

import (
	"errors"

	"maskstream/model"
	"maskstream/tensor"
)

// DecodeCandidates proposes the blob that DecodeMasks would answer with, for several candidates also a smaller and a larger one of
// the same middle, which it thinks less of. Nothing is gated: where there is no blob, all is background and it thinks nothing of it.
func (n *Network) DecodeCandidates(features *model.Features, prompts []model.Prompt) (*model.Candidates, error) {
	n.Calls.DecodeCandidates.Add(1)
	if err := errors.Join(n.fail("DecodeCandidates"), n.features(features), n.prompts(nil, prompts)); err != nil {
		return nil, err
	}
	sizes, ious := []float64{1}, []float32{0.95}
	if prompts[0].Multimask {
		sizes, ious = []float64{0.5, 1, 1.5}, []float32{0.5, 0.9, 0.6}
	}
	side := n.config.LowRes()
	logits, err := n.zeros(tensor.Float32, len(prompts), len(sizes), side, side)
	if err != nil {
		return nil, err
	}
	c := &model.Candidates{Logits: logits, PredictedIoU: make([]float32, len(prompts)*len(sizes))}
	blobs := blobsOf(features.HighRes0.Float32s()[:side*side], side)
	for i, prompt := range prompts {
		near := n.near(blobs, prompt, nil)
		for k, size := range sizes {
			at := i*len(sizes) + k
			one := logits.Float32s()[at*side*side:][:side*side]
			if len(near) == 0 {
				fill(one, -10)
				continue
			}
			c.PredictedIoU[at] = ious[k]
			b := near[0]
			blob{b.x, b.y, b.rx * size, b.ry * size}.draw(one, side, 40)
		}
	}
	return c, nil
}
