package checkpoint

import (
	"fmt"
	"slices"

	"maskstream/internal/nearest"
)

// Weights is a view of a checkpoint that counts use, so that every weight is used exactly once or reported. It is for one
// goroutine.
type Weights struct {
	checkpoint *Checkpoint
	taken      map[string]bool
}

// NewWeights returns a view in which nothing is taken yet. It borrows c.
func NewWeights(c *Checkpoint) *Weights {
	return &Weights{checkpoint: c, taken: map[string]bool{}}
}

// Take reads the tensor as float32 in row-major order, which must have exactly the given shape (none for a scalar). The slice
// is the caller's. Errors: ErrMissing with the nearest name, ErrShape with both shapes, ErrTaken the second time, ErrDType,
// ErrDamaged, also where a number is not finite.
func (w *Weights) Take(name string, shape ...int) ([]float32, error) {
	got, ok := w.checkpoint.Shape(name)
	switch {
	case !ok:
		return nil, w.checkpoint.missing(name)
	case !slices.Equal(got, shape):
		return nil, fmt.Errorf("checkpoint %s: tensor %q: %w: it is %v, the network wants %v; is it another model's configuration?",
			w.checkpoint.name, name, ErrShape, got, shape)
	case w.taken[name]:
		return nil, fmt.Errorf("checkpoint %s: tensor %q: %w", w.checkpoint.name, name, ErrTaken)
	}
	values, err := w.checkpoint.Float32s(name)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		if v-v != 0 { // of NaN and the infinities alone
			return nil, fmt.Errorf("checkpoint %s: tensor %q: %w: element %d is %v, weights are finite numbers; was its training broken off? download it again",
				w.checkpoint.name, name, ErrDamaged, i, v)
		}
	}
	w.taken[name] = true
	return values, nil
}

// Has tells whether the checkpoint has such a tensor, taken or not.
func (w *Weights) Has(name string) bool {
	_, ok := w.checkpoint.Shape(name)
	return ok
}

// Unused are the names nobody took, sorted.
func (w *Weights) Unused() []string {
	var names []string
	for _, name := range w.checkpoint.names {
		if !w.taken[name] {
			names = append(names, name)
		}
	}
	return names
}

func (c *Checkpoint) missing(name string) error {
	hint := ""
	if near := nearest.Name(name, c.names); near != "" {
		hint = fmt.Sprintf("; the nearest is %q", near)
	}
	return fmt.Errorf("checkpoint %s: %w: %q%s", c.name, ErrMissing, name, hint)
}
