package stream

import (
	"time"

	"maskstream/frames"
	"maskstream/memory"
	"maskstream/propagate"
	"maskstream/rle"
)

// Encoder turns results of the tracker into frames of results: logits become runs here, once. It belongs to one goroutine and
// gives every message of its stream its number.
type Encoder struct {
	Stream     string        // name
	Run        string        // 8 hex digits
	NonOverlap bool          // each pixel belongs to one object at most
	LostAfter  time.Duration // an object absent for longer is lost

	masks rle.Encoder
	seq   int64

	epoch  int
	index  int // of the last frame, among the processed ones
	pts    time.Duration
	clock  time.Duration         // time of the stream that has gone by, over all epochs
	absent map[int]time.Duration // clock at which an object was first missed
}

// Encode says what a result looks like at height×width pixels. It borrows the result.
func (e *Encoder) Encode(r *propagate.Result, meta frames.Meta, height, width int) *rle.Frame {
	e.advance(r, meta)
	return e.encode(r, meta, height, width, e.state)
}

// EncodePast is Encode for a frame that had gone by: it says nothing about how objects are doing now, so none is lost or found.
func (e *Encoder) EncodePast(r *propagate.Result, meta frames.Meta, height, width int) *rle.Frame {
	f := e.encode(r, meta, height, width, func(_ int, seen bool) rle.State {
		if seen {
			return rle.Tracked
		}
		return rle.Occluded
	})
	f.Past = true
	return f
}

func (e *Encoder) encode(r *propagate.Result, meta frames.Meta, height, width int, state func(id int, seen bool) rle.State) *rle.Frame {
	f := &rle.Frame{V: 1, Stream: e.Stream, Run: e.Run, Epoch: meta.Epoch, Seq: e.seq, Frame: meta.Frame, PTS: meta.PTS.Nanoseconds(),
		Received: meta.Received.UTC(), RTP: meta.RTP, Size: [2]int{height, width}, Direction: direction(r), Objects: make([]rle.Object, len(r.Objects))}
	e.seq++
	if !meta.Captured.IsZero() {
		captured := meta.Captured.UTC()
		f.Captured = &captured
	}
	for i, mask := range e.runs(r, height, width) {
		o := r.Objects[i]
		f.Objects[i] = rle.Object{ID: o.ID, State: rle.Occluded, Segmentation: mask.COCO(), Area: mask.Area(), BBox: mask.Box()}
		if o.Logits != nil { // else nobody looked for it, which says nothing about how long it has been away
			f.Objects[i].State = state(o.ID, mask.Area() > 0)
			f.Objects[i].ObjectScore, f.Objects[i].PredictedIoU = &o.ObjectScore, &o.PredictedIoU
		}
	}
	return f
}

// runs are the objects' masks; an object without a result on the frame has an empty one.
func (e *Encoder) runs(r *propagate.Result, height, width int) []rle.Mask {
	maps := make([][]float32, len(r.Objects))
	var lowH, lowW int
	for i, o := range r.Objects {
		if o.Logits != nil {
			maps[i] = o.Logits.Float32s()
			lowH, lowW = o.Logits.Shape()[0], o.Logits.Shape()[1]
		}
	}
	if e.NonOverlap && lowH > 0 {
		return e.masks.FromLogitsNonOverlapping(maps, lowH, lowW, height, width)
	}
	masks := make([]rle.Mask, len(maps))
	for i, logits := range maps {
		if logits == nil {
			masks[i] = rle.Empty(height, width)
		} else {
			masks[i] = e.masks.FromLogits(logits, lowH, lowW, height, width)
		}
	}
	return masks
}

// advance moves the clock on by the time between a frame and the next one of its pass, in whichever direction. A jump elsewhere,
// to a prompt or to where another pass begins, takes no time, and how long objects were absent where it came from says nothing
// there.
func (e *Encoder) advance(r *propagate.Result, meta frames.Meta) {
	switch r.Frame - e.index {
	case 0:
	case int(r.Pass):
		if meta.Epoch == e.epoch {
			e.clock += max(0, time.Duration(r.Pass)*(meta.PTS-e.pts))
		}
	default:
		clear(e.absent)
	}
	e.index, e.epoch, e.pts = r.Frame, meta.Epoch, meta.PTS
}

func (e *Encoder) state(id int, seen bool) rle.State {
	if e.absent == nil {
		e.absent = map[int]time.Duration{}
	}
	if seen {
		delete(e.absent, id)
		return rle.Tracked
	}
	since, ok := e.absent[id]
	if !ok {
		e.absent[id] = e.clock
		return rle.Occluded
	}
	if e.LostAfter > 0 && e.clock-since > e.LostAfter {
		return rle.Lost
	}
	return rle.Occluded
}

// forget drops what was noted about an object.
func (e *Encoder) forget(id int) { delete(e.absent, id) }

func direction(r *propagate.Result) rle.Direction {
	switch {
	case r.Prompted:
		return rle.Prompted
	case r.Pass == memory.Reverse:
		return rle.Reverse
	}
	return rle.Forward
}
