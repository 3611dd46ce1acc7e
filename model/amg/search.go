package amg

import (
	"context"
	"image"

	"maskstream/frames"
	"maskstream/model"
	"maskstream/tensor"
)

// search is one picture being searched.
type search struct {
	*Generator
	width, height int // of the picture
}

// crop searches one crop: its own image embedding, its own grid (_process_crop).
func (s search) crop(ctx context.Context, frame *frames.Frame, c crop) ([]candidate, error) {
	pixels, err := s.pixels(frame, c)
	if err != nil {
		return nil, err
	}
	defer pixels.Release()
	features, err := s.network.EncodeImage(pixels)
	if err != nil {
		return nil, err
	}
	defer features.Release()
	process := s.batch
	if s.plain {
		process = s.plainBatch
	}
	var found []candidate
	for points := s.options.points(c); len(points) > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(s.options.PointsPerBatch, len(points))
		in, err := process(features, c, points[:n])
		if err != nil {
			return nil, err
		}
		found = append(found, in...)
		points = points[n:]
	}
	return best(found, s.options.BoxNMSThresh, func(c candidate) float32 { return c.iou }), nil
}

// pixels is the crop at the model's size; the whole picture has been converted already.
func (s search) pixels(frame *frames.Frame, c crop) (*tensor.Tensor, error) {
	if c.layer == 0 {
		return frame.Pixels.Retain(), nil
	}
	part, err := frames.Cut(frame.Picture, image.Rect(c.box[0], c.box[1], c.box[2], c.box[3]))
	if err != nil {
		return nil, err
	}
	defer part.Release()
	if s.converter == nil {
		s.converter = frames.NewConverter(s.network.Config().ImageSize, s.pool)
	}
	converted, err := s.converter.Convert(part)
	if err != nil {
		return nil, err
	}
	defer converted.Release()
	return converted.Pixels.Retain(), nil
}

// batch turns points into the candidates that pass the filters, in the points' order (_process_batch). The low-resolution logits
// are gone when it returns; without refinement they are never copied.
func (s search) batch(features *model.Features, c crop, points [][2]float32) ([]candidate, error) {
	proposed, err := s.network.DecodeCandidates(features, s.prompts(c, points, s.options.MultimaskOutput))
	if err != nil {
		return nil, err
	}
	defer proposed.Release()
	all := s.candidates(proposed, c, points)
	s.Counts.Candidates += len(all)
	if !s.options.UseM2M {
		return s.masks(s.sure(all), c), nil
	}
	var found []candidate
	for len(all) > 0 {
		n := min(s.options.PointsPerBatch, len(all))
		refined, err := s.refine(features, c, all[:n])
		if err != nil {
			return nil, err
		}
		found = append(found, refined...)
		all = all[n:]
	}
	return found, nil
}

// prompts are single clicks, brought from the crop to the model's square.
func (s search) prompts(c crop, points [][2]float32, multimask bool) []model.Prompt {
	size := float32(s.network.Config().ImageSize)
	prompts := make([]model.Prompt, len(points))
	for i, p := range points {
		at := model.Point{X: p[0] / float32(c.width()) * size, Y: p[1] / float32(c.height()) * size, Label: model.Positive}
		prompts[i] = model.Prompt{Points: []model.Point{at}, Multimask: multimask}
	}
	return prompts
}

// candidates lists proposals, which they borrow.
func (s search) candidates(proposed *model.Candidates, c crop, points [][2]float32) []candidate {
	pixels := s.network.Config().LowRes() * s.network.Config().LowRes()
	each := len(proposed.PredictedIoU) / len(points)
	all := make([]candidate, len(proposed.PredictedIoU))
	for i := range all {
		all[i] = candidate{logits: proposed.Logits.Float32s()[i*pixels:][:pixels], iou: proposed.PredictedIoU[i], point: points[i/each], crop: c}
	}
	return all
}

// sure are the candidates of which the network thinks well enough. It comes before anything is interpolated.
func (s search) sure(all []candidate) []candidate {
	if s.options.PredIoUThresh <= 0 {
		return all
	}
	var kept []candidate
	for _, c := range all {
		if c.iou > s.options.PredIoUThresh {
			kept = append(kept, c)
		}
	}
	return kept
}

// refine asks once more for each candidate, with its logits as a prompt beside its point (refine_with_m2m), and gives the
// masks of the answers. Only here are logits clamped.
func (s search) refine(features *model.Features, c crop, all []candidate) ([]candidate, error) {
	points := make([][2]float32, len(all))
	for i, c := range all {
		points[i] = c.point
	}
	prompts := s.prompts(c, points, false)
	fed, err := s.feed(all)
	if err != nil {
		return nil, err
	}
	for i := range prompts {
		prompts[i].Logits = fed.Index(i)
	}
	refined, err := s.network.DecodeCandidates(features, prompts)
	for _, p := range prompts {
		p.Logits.Release()
	}
	fed.Release()
	if err != nil {
		return nil, err
	}
	defer refined.Release()
	s.Counts.Refined += len(all)
	return s.masks(s.sure(s.candidates(refined, c, points)), c), nil
}

// feed is the candidates' logits as they are fed back, n×4h×4w within ±32.
func (s search) feed(all []candidate) (*tensor.Tensor, error) {
	const limit = 32
	low := s.network.Config().LowRes()
	fed, err := s.pool.New(tensor.Float32, len(all), low, low)
	if err != nil {
		return nil, err
	}
	to := fed.Float32s()
	for _, c := range all {
		for i, v := range c.logits {
			to[i] = min(max(v, -limit), limit)
		}
		to = to[len(c.logits):]
	}
	return fed, nil
}
