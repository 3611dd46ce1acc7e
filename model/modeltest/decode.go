package modeltest

import (
	"errors"
	"math"

	"maskstream/model"
	"maskstream/tensor"
)

// covered is the share of a cell from which it counts as the object's.
const covered = 0.05

// blob is a bright spot of the low-resolution map: its centre and half its extent.
type blob struct{ x, y, rx, ry float64 }

// draw makes logits of a blob: height in the middle, 0 on its outline, −height far away.
func (b blob) draw(logits []float32, side int, height float64) {
	for at := range logits {
		dx, dy := (float64(at%side)+0.5-b.x)/b.rx, (float64(at/side)+0.5-b.y)/b.ry
		logits[at] = float32(max(height*(1-math.Hypot(dx, dy)), -height))
	}
}

// DecodeMasks answers each prompt with the bright blob nearest to the positive points, to the middle of the box, to where the
// memory saw the object, or to the previous logits, whichever comes first. Blobs outside the box or under a negative point do not
// count. A drawn mask is its own answer.
func (n *Network) DecodeMasks(features *model.Features, embedding *tensor.Tensor, prompts []model.Prompt) (*model.Prediction, error) {
	n.Calls.DecodeMasks.Add(1)
	if err := errors.Join(n.fail("DecodeMasks"), n.features(features), n.prompts(embedding, prompts)); err != nil {
		return nil, err
	}
	if n.Decoded != nil {
		n.Decoded(embedding, prompts)
	}
	side := n.config.LowRes()
	p := &model.Prediction{PredictedIoU: make([]float32, len(prompts)), ObjectScores: make([]float32, len(prompts))}
	var err error
	if p.Logits, err = n.zeros(tensor.Float32, len(prompts), side, side); err != nil {
		return nil, err
	}
	if p.Pointers, err = n.zeros(tensor.Float32, len(prompts), n.config.EmbedDim); err != nil {
		p.Release()
		return nil, err
	}
	blobs := blobsOf(features.HighRes0.Float32s()[:side*side], side)
	for i, prompt := range prompts {
		logits := p.Logits.Float32s()[i*side*side:][:side*side]
		pointer := p.Pointers.Float32s()[i*n.config.EmbedDim:]
		if prompt.Mask != nil {
			n.drawn(logits, pointer, prompt.Mask.Float32s())
			p.PredictedIoU[i], p.ObjectScores[i] = 1, 20*pointer[2]-10
			continue
		}
		var memory []float32
		if embedding != nil {
			memory = embedding.Float32s()[i*embedding.Len()/len(prompts):]
		}
		b, ok := n.nearest(blobs, prompt, memory)
		if !ok {
			fill(logits, model.NoObjectLogit)
			p.ObjectScores[i] = -5
			continue
		}
		height := 10.0
		if memory != nil {
			height += 0.01 * float64(memory[fingerprint*n.config.Cells()*n.config.Cells()])
		}
		b.draw(logits, side, height)
		pointer[0], pointer[1], pointer[2] = float32(b.x/float64(side)), float32(b.y/float64(side)), 1
		p.PredictedIoU[i], p.ObjectScores[i] = 0.95, 5
		if prompt.Multimask {
			p.PredictedIoU[i] = 0.9
		}
	}
	return p, nil
}

// drawn is a mask as logits of ±10 and its centre as the pointer.
func (n *Network) drawn(logits, pointer, mask []float32) {
	side := n.config.LowRes()
	shrink(logits, side, mask, n.config.ImageSize, func(v float32) float32 { return 20*v - 10 })
	if x, y, ok := centre(logits, side, 0); ok {
		pointer[0], pointer[1], pointer[2] = float32(x/float64(side)), float32(y/float64(side)), 1
	}
}

// nearest finds the blob that a prompt means.
func (n *Network) nearest(blobs []blob, prompt model.Prompt, memory []float32) (found blob, ok bool) {
	side := n.config.LowRes()
	var clicks, x, y float64
	var negative [][2]float64
	box := [4]float64{0, 0, float64(side), float64(side)}
	boxed := false
	for _, p := range prompt.Points {
		px, py := float64(p.X)/4, float64(p.Y)/4
		switch p.Label {
		case model.Positive:
			clicks, x, y = clicks+1, x+px, y+py
		case model.Negative:
			negative = append(negative, [2]float64{px, py})
		case model.BoxTopLeft:
			box[0], box[1], boxed = px, py, true
		case model.BoxBottomRight:
			box[2], box[3] = px, py
		}
	}
	known := true
	switch {
	case clicks > 0:
		x, y = x/clicks, y/clicks
	case boxed:
		x, y = (box[0]+box[2])/2, (box[1]+box[3])/2
	case memory != nil:
		cells := n.config.Cells()
		x, y, known = centre(memory[whereabouts*cells*cells:][:cells*cells], cells, covered)
		x, y = 4*x, 4*y
	case prompt.Logits != nil:
		x, y, known = centre(prompt.Logits.Float32s(), side, 0)
	default:
		known = false
	}
	if !known {
		return blob{}, false
	}
	reach := float64(side) / 5
	for _, b := range blobs {
		d := math.Hypot(b.x-x, b.y-y)
		if d > reach || b.x < box[0] || b.y < box[1] || b.x > box[2] || b.y > box[3] {
			continue
		}
		under := false
		for _, p := range negative {
			under = under || math.Hypot((p[0]-b.x)/(b.rx+1), (p[1]-b.y)/(b.ry+1)) <= 1
		}
		if !under {
			found, ok, reach = b, true, d
		}
	}
	return found, ok
}

// centre is the weighted middle of what is above least in a square map.
func centre(of []float32, side int, least float32) (x, y float64, ok bool) {
	var total float64
	for at, v := range of {
		if v > least {
			total += float64(v)
			x += float64(v) * (float64(at%side) + 0.5)
			y += float64(v) * (float64(at/side) + 0.5)
		}
	}
	return x / total, y / total, total > 0
}

// blobsOf finds the connected bright spots of a square map.
func blobsOf(of []float32, side int) []blob {
	var blobs []blob
	seen := make([]bool, len(of))
	for start, v := range of {
		if v <= 0 || seen[start] {
			continue
		}
		seen[start] = true
		x0, x1, y0, y1 := side, 0, side, 0
		for stack := []int{start}; len(stack) > 0; {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			x, y := at%side, at/side
			x0, x1, y0, y1 = min(x0, x), max(x1, x+1), min(y0, y), max(y1, y+1)
			for _, to := range [][2]int{{x - 1, y}, {x + 1, y}, {x, y - 1}, {x, y + 1}} {
				if to[0] < 0 || to[1] < 0 || to[0] >= side || to[1] >= side {
					continue
				}
				if next := to[1]*side + to[0]; of[next] > 0 && !seen[next] {
					seen[next] = true
					stack = append(stack, next)
				}
			}
		}
		blobs = append(blobs, blob{float64(x0+x1) / 2, float64(y0+y1) / 2, float64(x1-x0) / 2, float64(y1-y0) / 2})
	}
	return blobs
}

func fill(s []float32, v float32) {
	for i := range s {
		s[i] = v
	}
}
