package memory

import (
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

// moveTo brings the large tensors home to pool; the pointer is small and stays where the network made it.
func (e *Entry) moveTo(pool *tensor.Pool) error {
	for _, t := range []**tensor.Tensor{&e.Features, &e.Logits} {
		if *t == nil {
			continue
		}
		moved, err := (*t).To(pool)
		if err != nil {
			return fmt.Errorf("storing a memory: %w", err)
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
