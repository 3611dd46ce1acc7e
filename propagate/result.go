package propagate

import (
	"maskstream/memory"
	"maskstream/tensor"
)

// Result is what all objects of a tracker look like on one frame, in the order of their first prompt.
type Result struct {
	Frame    int
	Prompted bool // the answer to a prompt, not a step
	Pass     memory.Direction
	Objects  []Object
}

// Object is one object's mask. Logits and Pointer are nil where the object has no result on the frame.
type Object struct {
	ID           int
	Logits       *tensor.Tensor // 4h×4w float32, holes filled; one reference
	Pointer      *tensor.Tensor // C float32; one reference
	ObjectScore  float32        // logit, ≤ 0 where the object is absent
	PredictedIoU float32
}

// Release gives the tensors back. Nil is ignored.
func (r *Result) Release() {
	if r == nil {
		return
	}
	for _, o := range r.Objects {
		o.Logits.Release()
		o.Pointer.Release()
	}
}

func (r *Result) add(id int, e *memory.Entry) {
	o := Object{ID: id}
	if e != nil && e.Logits != nil {
		o.Logits, o.Pointer, o.ObjectScore, o.PredictedIoU = e.Logits.Retain(), e.Pointer.Retain(), e.ObjectScore, e.PredictedIoU
	}
	r.Objects = append(r.Objects, o)
}

// Trace says which memories one object attended to on one frame, all lists in ascending order of frames.
type Trace struct {
	Frame        int
	Object       int
	Pass         memory.Direction
	Conditioning []int
	Recent       []int
	Pointers     []int
	Tokens       int
}
