package memory

import (
	"errors"
	"fmt"

	"maskstream/memory/motion"
	"maskstream/tensor"
)

// Direction of a pass through time.
type Direction int

const (
	Forward Direction = 1
	Reverse Direction = -1
)

// Kind is the role of a frame for one object.
type Kind uint8

const (
	Recent       Kind = iota // tracked, or corrected where corrections do not condition
	Conditioning             // prompted
)

func (k Kind) String() string {
	if k == Conditioning {
		return "conditioning"
	}
	return "recent"
}

// Entry is what one frame left behind for one object. It owns one reference of each tensor.
type Entry struct {
	Features     *tensor.Tensor // hw×M bfloat16, nil where only the pointer is still needed
	Logits       *tensor.Tensor // 4h×4w float32, holes filled; nil where no correction can reach the frame any more
	Pointer      *tensor.Tensor // C float32
	ObjectScore  float32
	PredictedIoU float32
	Motion       motion.Track // with the frame; the zero value where motion is not looked at
}

// Release gives the tensors back. Nil is ignored.
func (e *Entry) Release() {
	if e == nil {
		return
	}
	e.Features.Release()
	e.Logits.Release()
	e.Pointer.Release()
}

// share is another entry with the same tensors.
func (e *Entry) share() *Entry {
	shared := *e
	for _, t := range []*tensor.Tensor{e.Features, e.Logits, e.Pointer} {
		if t != nil {
			t.Retain()
		}
	}
	return &shared
}

// store brings the large tensors to where they are kept; the pointer is small and stays where the network made it.
func (e *Entry) store(home, overflow *tensor.Pool) error {
	if home == nil {
		return nil
	}
	err := e.move(home, nil)
	if errors.Is(err, tensor.ErrExhausted) && overflow != nil {
		err = e.move(overflow, home) // what did get in stays there
	}
	if err != nil {
		return fmt.Errorf("storing a memory: %w", err)
	}
	return nil
}

// LivesIn says whether a large tensor is at home in pool.
func (e *Entry) LivesIn(pool *tensor.Pool) bool {
	return e.Features != nil && e.Features.Pool() == pool || e.Logits != nil && e.Logits.Pool() == pool
}

// MoveTo brings the large tensors home to pool. After an error, which wraps tensor.ErrExhausted where the pool is full, some may
// have moved.
func (e *Entry) MoveTo(pool *tensor.Pool) error { return e.move(pool, nil) }

// move brings the large tensors home to pool, but for those that are at home in but.
func (e *Entry) move(pool, but *tensor.Pool) error {
	for _, t := range []**tensor.Tensor{&e.Features, &e.Logits} {
		if *t == nil || but != nil && (*t).Pool() == but {
			continue
		}
		moved, err := (*t).To(pool)
		if err != nil {
			return err
		}
		(*t).Release()
		*t = moved
	}
	return nil
}

func (e *Entry) dropFeatures() {
	e.Features.Release()
	e.Features = nil
}

func (e *Entry) dropLogits() {
	e.Logits.Release()
	e.Logits = nil
}
