package propagate

import (
	"errors"
	"fmt"
	"math"

	"maskstream/model"
	"maskstream/rle"
)

// ErrPrompt says that a prompt makes no sense; the message says why.
var ErrPrompt = errors.New("invalid prompt")

// Prompt points at one object on one frame: clicks and a box, or a mask. Coordinates are pixels of a picture of Width×Height.
type Prompt struct {
	Points        [][2]float32
	Labels        []int // 1 on the object, 0 not, one a point
	Box           *[4]float32
	Mask          *rle.Mask
	KeepOldPoints bool // add to this frame's earlier points instead of replacing them; a mask replaces them in any case
	Width, Height int
}

// maxPoints bounds one object's points on one frame: the decoder's time and memory grow with them.
const maxPoints = 1000

func tooManyPoints(n int) error {
	return fmt.Errorf("%w: %d points on one frame, at most %d; clear the old ones", ErrPrompt, n, maxPoints)
}

// validate applies the rules of add_new_points_or_box and add_new_mask.
func (p Prompt) validate() error {
	switch {
	case p.Width <= 0 || p.Height <= 0:
		return fmt.Errorf("%w: the picture's size is %d×%d", ErrPrompt, p.Width, p.Height)
	case p.Mask != nil && (len(p.Points) > 0 || p.Box != nil):
		return fmt.Errorf("%w: a mask excludes points and a box", ErrPrompt)
	case p.Mask != nil:
		return validateMask(p.Mask)
	case len(p.Points) != len(p.Labels):
		return fmt.Errorf("%w: %d points but %d labels; each point needs a label, 1 on the object or 0 beside it", ErrPrompt, len(p.Points), len(p.Labels))
	case len(p.Points) > maxPoints:
		return tooManyPoints(len(p.Points))
	case len(p.Points) == 0 && p.Box == nil:
		return fmt.Errorf("%w: no points, no box and no mask; give at least one", ErrPrompt)
	case p.Box != nil && p.KeepOldPoints:
		return fmt.Errorf("%w: a box must come before any point, so it cannot be added to earlier points; leave clear_old_points true", ErrPrompt)
	}
	for _, l := range p.Labels {
		if l != int(model.Positive) && l != int(model.Negative) {
			return fmt.Errorf("%w: label %d is neither 1 (on the object) nor 0 (beside it)", ErrPrompt, l)
		}
	}
	for _, c := range p.corners() {
		if bad(c[0]) || bad(c[1]) {
			return fmt.Errorf("%w: coordinate (%v, %v) is not a number", ErrPrompt, c[0], c[1])
		}
	}
	return nil
}

// Inside refuses points outside of the picture, a box that does not touch it and a mask of another size: a network finds something
// there all the same.
func (p Prompt) Inside() error {
	w, h := float32(p.Width), float32(p.Height)
	for _, at := range p.Points {
		if at[0] < 0 || at[0] > w || at[1] < 0 || at[1] > h {
			return fmt.Errorf("%w: point %g,%g is outside the picture, which is %d×%d", ErrPrompt, at[0], at[1], p.Width, p.Height)
		}
	}
	if b := p.Box; b != nil && (b[2] <= 0 || b[0] >= w || b[3] <= 0 || b[1] >= h) {
		return fmt.Errorf("%w: box %g,%g,%g,%g is outside the picture, which is %d×%d", ErrPrompt, b[0], b[1], b[2], b[3], p.Width, p.Height)
	}
	if m := p.Mask; m != nil && (m.Width != p.Width || m.Height != p.Height) {
		return fmt.Errorf("%w: the mask is %d×%d, the picture %d×%d", ErrPrompt, m.Width, m.Height, p.Width, p.Height)
	}
	return nil
}

// maxSide bounds pictures and masks.
const maxSide = 1 << 14

func validateMask(m *rle.Mask) error {
	if m.Height < 1 || m.Width < 1 || m.Height > maxSide || m.Width > maxSide {
		return fmt.Errorf("%w: the mask is %d×%d; width and height must lie in 1…%d", ErrPrompt, m.Width, m.Height, maxSide)
	}
	if err := m.Validate(); err != nil {
		return fmt.Errorf("%w: the mask is damaged: %w", ErrPrompt, err)
	}
	return nil
}

func bad(f float32) bool { return math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) }

// corners lists box corners and points in the order in which they are prompted.
func (p Prompt) corners() [][2]float32 {
	if p.Box == nil {
		return p.Points
	}
	b := p.Box
	return append([][2]float32{{b[0], b[1]}, {b[2], b[3]}}, p.Points...)
}

// points scales to the model's square of side size; box corners come before clicks.
func (p Prompt) points(size int) []model.Point {
	labels := p.Labels
	if p.Box != nil {
		labels = append([]int{int(model.BoxTopLeft), int(model.BoxBottomRight)}, labels...)
	}
	points := make([]model.Point, len(labels))
	for i, c := range p.corners() {
		points[i] = model.Point{X: c[0] / float32(p.Width) * float32(size), Y: c[1] / float32(p.Height) * float32(size), Label: model.Label(labels[i])}
	}
	return points
}
