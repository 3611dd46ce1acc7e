package amg

import (
	"maskstream/model"
	"maskstream/rle"
	"maskstream/tensor"
)

// NewPlain returns a generator that takes the reference's way step by step, without any saving: low-resolution logits are kept
// to the end of their batch, every candidate is interpolated before any is dropped, all at once on full-size float canvases, and
// each mask becomes bytes first and runs then. It finds the same masks and is what the savings are measured against and held to.
func NewPlain(network Network, options Options, pool *tensor.Pool) (*Generator, error) {
	g, err := New(network, options, pool)
	if err != nil {
		return nil, err
	}
	g.plain = true
	return g, nil
}

// plainBatch is batch without savings.
func (s search) plainBatch(features *model.Features, c crop, points [][2]float32) ([]candidate, error) {
	proposed, err := s.network.DecodeCandidates(features, s.prompts(c, points, s.options.MultimaskOutput))
	if err != nil {
		return nil, err
	}
	defer proposed.Release()
	all := s.candidates(proposed, c, points)
	s.Counts.Candidates += len(all)
	kept, err := s.feed(all)
	if err != nil {
		return nil, err
	}
	defer kept.Release()
	canvas, err := s.canvases(proposed.Logits, len(all), c)
	if err != nil {
		return nil, err
	}
	if !s.options.UseM2M {
		defer canvas.Release()
		return s.plainMasks(all, canvas, c), nil
	}
	canvas.Release()
	var found []candidate
	for first := 0; first < len(all); first += s.options.PointsPerBatch {
		batch := all[first:min(first+s.options.PointsPerBatch, len(all))]
		again := make([][2]float32, len(batch))
		for i, one := range batch {
			again[i] = one.point
		}
		prompts := s.prompts(c, again, false)
		for i := range prompts {
			prompts[i].Logits = kept.Index(first + i)
		}
		refined, err := s.network.DecodeCandidates(features, prompts)
		for _, p := range prompts {
			p.Logits.Release()
		}
		if err != nil {
			return nil, err
		}
		s.Counts.Refined += len(batch)
		canvas, err := s.canvases(refined.Logits, len(batch), c)
		if err == nil {
			found = append(found, s.plainMasks(s.candidates(refined, c, again), canvas, c)...)
			canvas.Release()
		}
		refined.Release()
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// plainMasks filters candidates by what is on their canvases, n×height×width.
func (s search) plainMasks(all []candidate, canvas *tensor.Tensor, c crop) []candidate {
	pixels := c.height() * c.width()
	var kept []candidate
	var masks []rle.Mask
	bits := make([]byte, pixels)
	for i, one := range all {
		values := canvas.Float32s()[i*pixels:][:pixels]
		if s.options.PredIoUThresh > 0 && !(one.iou > s.options.PredIoUThresh) {
			continue
		}
		area := func(threshold float32) (n int64) {
			for _, v := range values {
				if v > threshold {
					n++
				}
			}
			return n
		}
		ok := false
		if one.stability, ok = s.stability(area); !ok {
			continue
		}
		clear(bits)
		for at, v := range values {
			if v > s.options.MaskThreshold {
				bits[at] = 1
			}
		}
		kept, masks = append(kept, one), append(masks, rle.FromBits(c.height(), c.width(), bits))
	}
	s.Counts.Stable += len(kept)
	return s.whole(kept, masks)
}

// canvases interpolates n maps to the crop's size, all at once: n×height×width.
func (s search) canvases(logits *tensor.Tensor, n int, c crop) (*tensor.Tensor, error) {
	low := s.network.Config().LowRes()
	canvas, err := s.pool.New(tensor.Float32, n, c.height(), c.width())
	if err != nil {
		return nil, err
	}
	s.Counts.Interpolated += n
	cleaned := make([]float32, low*low)
	for i := range n {
		copy(cleaned, logits.Float32s()[i*low*low:])
		if area := s.options.MinMaskRegionArea; area > 0 {
			clean(cleaned, low, area)
		}
		Interpolate(canvas.Float32s()[i*c.height()*c.width():][:c.height()*c.width()], cleaned, low, low, c.height(), c.width())
	}
	return canvas, nil
}

// Interpolate fills dst, height×width, from a map of lowH×lowW as torch.nn.functional.interpolate(mode="bilinear",
// align_corners=False) does, each product rounded by itself. It is the full-size canvas that rle.Encoder does without.
func Interpolate(dst, logits []float32, lowH, lowW, height, width int) {
	columns := samples(lowW, width)
	upper, lower := make([]float32, width), make([]float32, width) // the rows around the row at hand, at full width
	above, below := -1, -1                                         // which rows these are
	for y, at := range samples(lowH, height) {
		if above != at.first {
			if below == at.first {
				upper, lower, below = lower, upper, -1
			} else {
				widen(upper, logits[at.first*lowW:][:lowW], columns)
			}
			above = at.first
		}
		if below != at.next {
			widen(lower, logits[at.next*lowW:][:lowW], columns)
			below = at.next
		}
		row, a, b := dst[y*width:][:width], upper[:width], lower[:width]
		for x := range row {
			row[x] = float32(at.near*a[x]) + float32(at.far*b[x])
		}
	}
}

func widen(dst, row []float32, columns []sample) {
	for x, c := range columns {
		dst[x] = float32(c.near*row[c.first]) + float32(c.far*row[c.next])
	}
}

// sample is an output pixel between two samples.
type sample struct {
	first, next int
	near, far   float32
}

func samples(low, full int) []sample {
	all := make([]sample, full)
	scale := float32(low) / float32(full)
	for i := range all {
		at := max(float32(scale*(float32(i)+0.5))-0.5, 0)
		first := min(int(at), low-1)
		far := min(at-float32(first), 1)
		all[i] = sample{first, min(first+1, low-1), 1 - far, far}
	}
	return all
}
