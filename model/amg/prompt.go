package amg

import (
	"context"
	"errors"
	"fmt"
	"math"

	"maskstream/frames"
	"maskstream/model"
	"maskstream/rle"
)

// ErrPrompt says that a prompt makes no sense; the message says why.
var ErrPrompt = errors.New("wrong prompt")

// Prompt points at one object on a picture, in its pixels: points and a box, at least one of them.
type Prompt struct {
	Points [][2]float32
	Labels []int // 1 on the object, 0 beside it, one a point
	Box    *[4]float32
}

// Segment answers prompts instead of searching, one record each in their order (SAM2ImagePredictor): a single click takes the
// best of three candidates, anything clearer the single mask. No filter applies; of the options only those that say what a
// stable mask is. It borrows the frame. Errors wrap [ErrPrompt].
func (g *Generator) Segment(ctx context.Context, frame *frames.Frame, prompts []Prompt) ([]Record, error) {
	if len(prompts) == 0 {
		return []Record{}, nil
	}
	width, height := frame.Picture.DisplaySize()
	asked := make([]model.Prompt, len(prompts))
	for i, p := range prompts {
		var err error
		if asked[i], err = p.scaled(width, height, g.network.Config().ImageSize); err != nil {
			return nil, fmt.Errorf("prompt %d: %w", i, err)
		}
	}
	features, err := g.network.EncodeImage(frame.Pixels)
	if err != nil {
		return nil, fmt.Errorf("encoding the picture: %w", err)
	}
	defer features.Release()
	all := make([]Record, 0, len(prompts))
	for first := 0; first < len(asked); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		end := first + 1
		for end < len(asked) && len(asked[end].Points) == len(asked[first].Points) && asked[end].Multimask == asked[first].Multimask {
			end++
		}
		proposed, err := g.network.DecodeCandidates(features, asked[first:end])
		if err != nil {
			return nil, fmt.Errorf("prompts %d to %d: %w", first, end-1, err)
		}
		for i, p := range prompts[first:end] {
			all = append(all, g.answer(proposed, i, end-first, p, width, height))
		}
		proposed.Release()
		first = end
	}
	return all, nil
}

// answer is the best proposal for prompt i of n.
func (g *Generator) answer(proposed *model.Candidates, i, n int, p Prompt, width, height int) Record {
	each := len(proposed.PredictedIoU) / n
	at := i * each
	for k := at; k < (i+1)*each; k++ {
		if proposed.PredictedIoU[k] > proposed.PredictedIoU[at] {
			at = k
		}
	}
	low := g.network.Config().LowRes()
	logits := proposed.Logits.Float32s()[at*low*low:][:low*low]
	area := func(threshold float32) int64 {
		return g.encoder.AreaAbove(threshold, logits, low, low, height, width)
	}
	r := Record{Mask: g.encoder.FromLogitsAbove(g.options.MaskThreshold, logits, low, low, height, width), PredictedIoU: proposed.PredictedIoU[at],
		Points: p.Points, CropBox: box{0, 0, width, height}.xywh()}
	r.StabilityScore, _ = search{g, width, height}.stability(area)
	r.BBox = boxOf(r.Mask).xywh()
	return r
}

// scaled is the prompt for a square of side size, box corners first.
func (p Prompt) scaled(width, height, size int) (model.Prompt, error) {
	if len(p.Points) != len(p.Labels) {
		return model.Prompt{}, fmt.Errorf("%w: %d points but %d labels", ErrPrompt, len(p.Points), len(p.Labels))
	}
	points, labels := p.Points, p.Labels
	if b := p.Box; b != nil {
		points = append([][2]float32{{b[0], b[1]}, {b[2], b[3]}}, points...)
		labels = append([]int{int(model.BoxTopLeft), int(model.BoxBottomRight)}, labels...)
	}
	if len(points) == 0 {
		return model.Prompt{}, fmt.Errorf("%w: neither a point nor a box", ErrPrompt)
	}
	scaled := model.Prompt{Multimask: len(points) == 1}
	for i, at := range points {
		for _, v := range at {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return model.Prompt{}, fmt.Errorf("%w: coordinate %v is not a number", ErrPrompt, at)
			}
		}
		if i >= len(points)-len(p.Points) && labels[i] != int(model.Positive) && labels[i] != int(model.Negative) {
			return model.Prompt{}, fmt.Errorf("%w: label %d is neither 1 (on the object) nor 0 (beside it)", ErrPrompt, labels[i])
		}
		scaled.Points = append(scaled.Points, model.Point{X: at[0] / float32(width) * float32(size), Y: at[1] / float32(height) * float32(size), Label: model.Label(labels[i])})
	}
	return scaled, nil
}

// Masks are the records' masks.
func Masks(records []Record) []rle.Mask {
	masks := make([]rle.Mask, len(records))
	for i, r := range records {
		masks[i] = r.Mask
	}
	return masks
}
