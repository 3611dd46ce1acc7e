package amg

import (
	"math"
	"testing"

	"maskstream/frames"
	"maskstream/model"
	"maskstream/tensor"
)

// noise is a network that thinks at random, the same about the same prompt: maps with every kind of edge, holes and specks, some
// far beyond ±32, and any predicted IoU.
type noise struct {
	pool    *tensor.Pool
	low     int
	before  func(prompts []model.Prompt)
	encoded int
}

func (n *noise) Config() model.Config { return model.Config{ImageSize: 4 * n.low} }

func (n *noise) EncodeImage(*tensor.Tensor) (*model.Features, error) {
	n.encoded++
	var f model.Features
	for _, t := range []**tensor.Tensor{&f.Embedding, &f.HighRes0, &f.HighRes1} {
		var err error
		if *t, err = n.pool.New(tensor.Float32, 1); err != nil {
			return nil, err
		}
	}
	f.Embedding.Float32s()[0] = float32(n.encoded) // crops look different
	return &f, nil
}

func (n *noise) DecodeCandidates(f *model.Features, prompts []model.Prompt) (*model.Candidates, error) {
	if n.before != nil {
		n.before(prompts)
	}
	each := 1
	if prompts[0].Multimask {
		each = 3
	}
	logits, err := n.pool.New(tensor.Float32, len(prompts), each, n.low, n.low)
	if err != nil {
		return nil, err
	}
	c := &model.Candidates{Logits: logits, PredictedIoU: make([]float32, len(prompts)*each)}
	for i, p := range prompts {
		for k := range each {
			seed := float64(p.Points[0].X)*1.7 + float64(p.Points[0].Y)*0.13 + float64(k)*31 + float64(f.Embedding.Float32s()[0])
			if p.Logits != nil {
				seed += float64(p.Logits.Float32s()[5])
			}
			c.PredictedIoU[i*each+k] = float32(0.5 + 0.5*math.Sin(seed*91))
			n.draw(logits.Float32s()[(i*each+k)*n.low*n.low:][:n.low*n.low], seed)
		}
	}
	return c, nil
}

func (n *noise) draw(to []float32, seed float64) {
	side := float64(n.low)
	x, y, r := side*(0.5+0.4*math.Sin(seed*3)), side*(0.5+0.4*math.Sin(seed*7)), side*(0.1+0.2*math.Abs(math.Sin(seed)))
	if math.Sin(seed*13) > 0.9 {
		r = -10 * side // nothing
	}
	for at := range to {
		away := math.Hypot(float64(at%n.low)-x, float64(at/n.low)-y)
		to[at] = float32((r-away)*12 + 9*math.Sin(float64(at)*seed))
	}
}

// frame is a picture of noise; the network does not look at it.
func frame(t *testing.T, pool *tensor.Pool, size, width, height int) *frames.Frame {
	t.Helper()
	pixels, err := pool.New(tensor.Float32, 1, 3, size, size)
	if err != nil {
		t.Fatal(err)
	}
	p := &frames.Picture{Width: width, Height: height, Format: frames.RGB24, Planes: [3][]byte{make([]byte, 3*width*height)}, Strides: [3]int{3 * width}}
	return frames.NewFrame(pixels, p.Own(nil))
}

// options are the defaults with changes, on a coarse grid.
func options(change func(*Options)) Options {
	o := Default()
	points := 4
	o.PointsPerSide, o.PointsPerBatch, o.PredIoUThresh, o.StabilityScoreThresh = &points, 5, 0.3, 0.4
	if change != nil {
		change(&o)
	}
	return o
}
