package modeltest

import (
	"cmp"
	"errors"
	"math"
	"slices"

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
// count. A drawn mask is its own answer. Alternatives are the blobs within reach from near to far, a little worse each.
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
	if prompts[0].Alternatives {
		if p.Alternatives, err = n.alternatives(len(prompts)); err != nil {
			p.Release()
			return nil, err
		}
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
		near := n.near(blobs, prompt, memory)
		if len(near) == 0 {
			fill(logits, model.NoObjectLogit)
			p.ObjectScores[i] = -5
			continue
		}
		height := 10.0
		if memory != nil {
			height += 0.01 * float64(memory[fingerprint*n.config.Cells()*n.config.Cells()])
		}
		n.disc(logits, pointer, near[0], height)
		p.PredictedIoU[i], p.ObjectScores[i] = 0.95, 5
		if prompt.Multimask {
			p.PredictedIoU[i] = 0.9
		}
		if p.Alternatives != nil {
			n.propose(p.Alternatives, i, near, height)
		}
	}
	return p, nil
}

// disc draws a blob and points at it.
func (n *Network) disc(logits, pointer []float32, b blob, height float64) {
	side := n.config.LowRes()
	b.draw(logits, side, height)
	pointer[0], pointer[1], pointer[2] = float32(b.x/float64(side)), float32(b.y/float64(side)), 1
}

// alternatives are empty masks that are predicted to be bad.
func (n *Network) alternatives(count int) (*model.Candidates, error) {
	a := &model.Candidates{PredictedIoU: make([]float32, count*model.Proposals)}
	var err error
	if a.Logits, err = n.zeros(tensor.Float32, count, model.Proposals, n.config.LowRes(), n.config.LowRes()); err != nil {
		return nil, err
	}
	if a.Pointers, err = n.zeros(tensor.Float32, count, model.Proposals, n.config.EmbedDim); err != nil {
		a.Release()
		return nil, err
	}
	fill(a.Logits.Float32s(), -10)
	fill(a.PredictedIoU, 0.1)
	return a, nil
}

// propose fills an object's alternatives: the nearest blob as the single mask and again as the first of the others.
func (n *Network) propose(a *model.Candidates, i int, near []blob, height float64) {
	for k := range model.Proposals {
		which := max(0, k-1)
		if which >= len(near) {
			return
		}
		at, pixels := i*model.Proposals+k, n.config.LowRes()*n.config.LowRes()
		n.disc(a.Logits.Float32s()[at*pixels:][:pixels], a.Pointers.Float32s()[at*n.config.EmbedDim:], near[which], height)
		a.PredictedIoU[at] = 0.9 - 0.02*float32(which)
		if k == 0 {
			a.PredictedIoU[at] = 0.95
		}
	}
}

// drawn is a mask as logits of ±10 and its centre as the pointer.
func (n *Network) drawn(logits, pointer, mask []float32) {
	side := n.config.LowRes()
	shrink(logits, side, mask, n.config.ImageSize, func(v float32) float32 { return 20*v - 10 })
	if x, y, ok := centre(logits, side, 0); ok {
		pointer[0], pointer[1], pointer[2] = float32(x/float64(side)), float32(y/float64(side)), 1
	}
}

// near finds the blobs that a prompt may mean, from near to far.
func (n *Network) near(blobs []blob, prompt model.Prompt, memory []float32) (found []blob) {
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
		return nil
	}
	reach := float64(side) / 5
	distance := func(b blob) float64 { return math.Hypot(b.x-x, b.y-y) }
	for _, b := range slices.Backward(blobs) { // of equally near ones the last counts as nearer
		if distance(b) > reach || b.x < box[0] || b.y < box[1] || b.x > box[2] || b.y > box[3] {
			continue
		}
		under := false
		for _, p := range negative {
			under = under || math.Hypot((p[0]-b.x)/(b.rx+1), (p[1]-b.y)/(b.ry+1)) <= 1
		}
		if !under {
			found = append(found, b)
		}
	}
	slices.SortStableFunc(found, func(a, b blob) int { return cmp.Compare(distance(a), distance(b)) })
	return found
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
