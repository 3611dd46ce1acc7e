package ort

import (
	"fmt"
	"slices"

	"maskstream/model"
	"maskstream/tensor"
)

// DecodeMasks implements [model.Network]. Drawn masks see another embedding than other prompts, so neighbours of the same
// kind run as one batch.
func (n *Network) DecodeMasks(features *model.Features, embedding *tensor.Tensor, prompts []model.Prompt) (*model.Prediction, error) {
	if err := n.wantFeatures(features); err != nil {
		return nil, err
	}
	count, c, side, low := len(prompts), n.config.EmbedDim, n.config.Cells(), n.config.LowRes()
	if embedding != nil {
		if err := want("conditioned embedding", embedding, tensor.Float32, count, c, side, side); err != nil {
			return nil, err
		}
	}
	if err := n.wantPrompts(prompts); err != nil {
		return nil, err
	}
	var made results
	defer made.release()
	p := &model.Prediction{
		Logits:       made.new(n.pool, tensor.Float32, count, low, low),
		Pointers:     made.new(n.pool, tensor.Float32, count, c),
		PredictedIoU: make([]float32, count),
		ObjectScores: make([]float32, count),
	}
	if prompts[0].Alternatives {
		p.Alternatives = n.newAlternatives(&made, count)
	}
	if made.err != nil {
		return nil, made.err
	}
	for first := 0; first < count; {
		drawn, end := prompts[first].Mask != nil, first+1
		for end < count && (prompts[end].Mask != nil) == drawn {
			end++
		}
		decode := n.decodePrompts
		if drawn {
			decode = n.decodeDrawn
		}
		if err := decode(features, embedding, prompts, p, first, end); err != nil {
			return nil, err
		}
		first = end
	}
	made.keep()
	return p, nil
}

// newAlternatives has room for every mask that is proposed for n prompts.
func (n *Network) newAlternatives(made *results, count int) *model.Candidates {
	return &model.Candidates{
		Logits:       made.new(n.pool, tensor.Float32, count, proposals, n.config.LowRes(), n.config.LowRes()),
		Pointers:     made.new(n.pool, tensor.Float32, count, proposals, n.config.EmbedDim),
		PredictedIoU: make([]float32, count*proposals),
	}
}

// decodePrompts fills rows first to before end of p for prompts without drawn masks.
func (n *Network) decodePrompts(features *model.Features, embedding *tensor.Tensor, prompts []model.Prompt, p *model.Prediction, first, end int) error {
	batch := prompts[first:end]
	image, noMemory := whole(features.Embedding), float32(1)
	if embedding != nil {
		image, noMemory = rows(embedding, first, end), 0
	}
	var scratch results
	defer scratch.release()
	d := n.describe(&scratch, batch, noMemory)
	if scratch.err != nil {
		return scratch.err
	}
	ious, scores, logits, pointers := p.PredictedIoU[first:end], p.ObjectScores[first:end], rows(p.Logits, first, end), rows(p.Pointers, first, end)
	a := p.Alternatives
	if a == nil {
		return n.decode(features, image, d, ious, scores, logits, pointers)
	}
	return n.maskDecoder.fetch(n.inputs(features, image, d), // no mask was drawn, so the batch is whole
		[]string{"logits", "pointers", "ious", "scores", "all_logits", "all_pointers", "all_ious"},
		[]array{logits, pointers, floats(ious, end), floats(scores, end), whole(a.Logits), whole(a.Pointers), floats(a.PredictedIoU, end, proposals)})
}

// describe is the input for prompts without drawn masks; scratch owns what it needs, and has the error.
func (n *Network) describe(scratch *results, batch []model.Prompt, noMemory float32) decoding {
	d := n.newDecoding(len(batch), noMemory)
	n.point(scratch, &d, batch)
	low, logits := n.config.LowRes(), 0
	for i, prompt := range batch {
		if prompt.Logits != nil {
			logits++
			d.denseRow[i] = int64(logits)
		}
		d.multimask[i] = flag(prompt.Multimask)
	}
	if logits == 0 {
		return d
	}
	dense := scratch.new(n.pool, tensor.Float32, logits, low, low)
	if scratch.err != nil {
		return d
	}
	left := dense.Float32s()
	for _, prompt := range batch {
		if prompt.Logits != nil {
			left = left[copy(left, prompt.Logits.Float32s()):]
		}
	}
	d.dense = whole(dense)
	return d
}

// point sets the points of d: packed, brought to where the network is, and padded there, since a prompt without any has one
// padding point.
func (n *Network) point(scratch *results, d *decoding, batch []model.Prompt) {
	if scratch.err != nil {
		return
	}
	coordinates, labels := make([][]float32, len(batch)), make([][]int64, len(batch))
	for i, prompt := range batch {
		for _, p := range prompt.Points {
			coordinates[i] = append(coordinates[i], p.X, p.Y)
			labels[i] = append(labels[i], int64(p.Label))
		}
	}
	packed, err := tensor.Collate(n.pool, tensor.RowsOf(2, coordinates), tensor.RowsOf(1, labels))
	if err != nil {
		scratch.err = err
		return
	}
	defer packed.Release()
	at := scratch.take(tensor.Pad[float32](packed, 0, 1, 0, 0))
	meaning := scratch.take(tensor.Pad(packed, 1, 1, int64(model.Padding)))
	if scratch.err != nil {
		return
	}
	d.coordinates = whole(at)
	d.labels = integers(meaning.Int64s(), meaning.Shape()[:2]...)
}

// decodeDrawn fills rows first to before end of p for drawn masks: the decoder only makes their pointers.
func (n *Network) decodeDrawn(features *model.Features, _ *tensor.Tensor, prompts []model.Prompt, p *model.Prediction, first, end int) error {
	count, size, low := end-first, n.config.ImageSize, n.config.LowRes()
	var scratch results
	defer scratch.release()
	masks := scratch.new(n.pool, tensor.Float32, count, size, size)
	dense := scratch.new(n.pool, tensor.Float32, count, low, low)
	unused := scratch.new(n.pool, tensor.Float32, count, low, low)
	if scratch.err != nil {
		return scratch.err
	}
	left := masks.Float32s()
	for _, prompt := range prompts[first:end] {
		left = left[copy(left, prompt.Mask.Float32s()):]
	}
	d := n.newDecoding(count, 0)
	err := n.maskPrompt.call([]array{whole(masks)}, []array{whole(dense), rows(p.Logits, first, end), floats(d.visible, count)})
	if err != nil {
		return err
	}
	d.dense = whole(dense)
	for i := range d.denseRow {
		d.denseRow[i] = int64(1 + i)
	}
	ignored := make([]float32, 2*count)
	err = n.decode(features, whole(features.Embedding), d, ignored[:count], ignored[count:], whole(unused), rows(p.Pointers, first, end))
	if err != nil {
		return err
	}
	for i, visible := range d.visible { // the mask is the answer, whatever the decoder thinks of it
		p.PredictedIoU[first+i], p.ObjectScores[first+i] = 1, 20*visible-10
	}
	return nil
}

// decoding is the mask decoder's input beside the picture; see sam2.Graphs.
type decoding struct {
	coordinates array
	labels      array
	dense       array
	denseRow    []int64
	noMemory    float32 // 1: no memory took part
	multimask   []float32
	visible     []float32
}

// newDecoding is the input for one padding point a prompt and nothing else.
func (n *Network) newDecoding(count int, noMemory float32) decoding {
	return decoding{
		coordinates: floats(make([]float32, 2*count), count, 1, 2),
		labels:      integers(slices.Repeat([]int64{int64(model.Padding)}, count), count, 1),
		dense:       floats(nil, 0, n.config.LowRes(), n.config.LowRes()),
		denseRow:    make([]int64, count),
		noMemory:    noMemory,
		multimask:   make([]float32, count),
		visible:     slices.Repeat([]float32{1}, count),
	}
}

func (n *Network) decode(features *model.Features, image array, d decoding, ious, scores []float32, logits, pointers array) error {
	count := len(ious)
	return n.maskDecoder.call(n.inputs(features, image, d),
		[]array{logits, pointers, floats(ious, count), floats(scores, count)})
}

// inputs are the mask decoder's, in the order in which its session names them.
func (n *Network) inputs(features *model.Features, image array, d decoding) []array {
	count := len(d.visible)
	return []array{
		image, floats([]float32{d.noMemory}, 1), whole(features.HighRes0), whole(features.HighRes1),
		d.coordinates, d.labels,
		d.dense, integers(d.denseRow, count), floats(d.multimask, count), floats(d.visible, count),
	}
}

// wantPrompts refuses prompts that are no batch or contradict themselves.
func (n *Network) wantPrompts(prompts []model.Prompt) error {
	if len(prompts) == 0 {
		return fmt.Errorf("%w: no prompts", ErrArgument)
	}
	size, low := n.config.ImageSize, n.config.LowRes()
	for i, p := range prompts {
		if len(p.Points) != len(prompts[0].Points) {
			return fmt.Errorf("%w: prompt %d has %d points, prompt 0 has %d", ErrArgument, i, len(p.Points), len(prompts[0].Points))
		}
		for _, point := range p.Points {
			if point.Label < model.Padding || point.Label > model.BoxBottomRight {
				return fmt.Errorf("%w: prompt %d has a point with label %d", ErrArgument, i, point.Label)
			}
		}
		if p.Alternatives != prompts[0].Alternatives || p.Alternatives && p.Mask != nil {
			return fmt.Errorf("%w: prompt %d and the first disagree on alternatives, or a drawn mask asks for them", ErrArgument, i)
		}
		if p.Logits != nil {
			if err := want("previous logits", p.Logits, tensor.Float32, low, low); err != nil {
				return err
			}
		}
		if p.Mask == nil {
			continue
		}
		if len(p.Points) > 0 || p.Logits != nil {
			return fmt.Errorf("%w: prompt %d has a mask and points or logits", ErrArgument, i)
		}
		if err := want("mask", p.Mask, tensor.Float32, size, size); err != nil {
			return err
		}
	}
	return nil
}
