package amg

import (
	"context"
	"fmt"

	"maskstream/frames"
	"maskstream/model"
	"maskstream/rle"
	"maskstream/tensor"
)

// Network is what is asked of a model: an image encoder, called once a crop, and the mask decoder's own proposals, called once a
// batch of points. Everything handed in is borrowed, what comes back is ours. model/ort has it.
type Network interface {
	Config() model.Config
	EncodeImage(pixels *tensor.Tensor) (*model.Features, error)
	// DecodeCandidates gives three masks for each prompt with Multimask, else one; all prompts agree on that and on the number
	// of their points. Nothing is gated by the object score.
	DecodeCandidates(features *model.Features, prompts []model.Prompt) (*model.Candidates, error)
}

// Generator finds masks on frames. It keeps buffers from frame to frame; one goroutine at a time.
type Generator struct {
	Counts Counts // of all frames so far

	network Network
	options Options
	pool    *tensor.Pool

	converter *frames.Converter // of crops
	encoder   rle.Encoder
	chunks    rle.Chunks
	plain     bool // without the savings: see plain.go
}

// Counts is what has been done and what it was spared.
type Counts struct {
	Candidates   int // that the network proposed
	Refined      int // of these, that were put to the network once more
	Interpolated int // that were brought to their size in the picture
	Stable       int // of these, that became masks
	Moved        rle.Moves
}

// New returns a generator; errors wrap [ErrOptions]. It borrows the network. Crops and what refinement feeds back live in pool,
// the network's home.
func New(network Network, options Options, pool *tensor.Pool) (*Generator, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	return &Generator{network: network, options: options, pool: pool}, nil
}

// Generate finds everything on a frame, in the reference's order: by falling predicted IoU, or with crops small crops first. It
// borrows the frame. Crop layers need the picture's planes, which a frame out of a frames.Store may be without: that is an error.
func (g *Generator) Generate(ctx context.Context, frame *frames.Frame) ([]Record, error) {
	width, height := frame.Picture.DisplaySize()
	search := search{g, width, height}
	crops := g.options.crops(width, height)
	var found []candidate
	for _, c := range crops {
		in, err := search.crop(ctx, frame, c)
		if err != nil {
			return nil, fmt.Errorf("automatic masks: crop %v of %d×%d: %w", c.box, width, height, err)
		}
		found = append(found, in...)
	}
	g.Counts.Moved = g.chunks.Moved
	if len(crops) > 1 {
		found = best(found, g.options.CropNMSThresh, func(c candidate) float32 { return 1 / float32(c.crop.width()*c.crop.height()) })
	}
	return records(found), nil
}

// candidate is a mask that may stay.
type candidate struct {
	logits []float32 // low-resolution, until it is a mask; borrowed
	iou    float32
	point  [2]float32 // where it was pointed at: in the crop, then in the picture

	stability float32
	mask      rle.Mask // of the picture
	box       box      // in the picture
	crop      crop
}

// best are the candidates without duplicates, by falling score.
func best(found []candidate, threshold float64, score func(candidate) float32) []candidate {
	boxes, scores := make([]box, len(found)), make([]float32, len(found))
	for i, c := range found {
		boxes[i], scores[i] = c.box, score(c)
	}
	kept := make([]candidate, 0, len(found))
	for _, i := range suppress(boxes, scores, threshold) {
		kept = append(kept, found[i])
	}
	return kept
}
