package rle

import (
	"slices"
	"time"
)

// Limits say when a batch ends; what is 0 sets no limit. A batch also ends with its epoch, and where the size changes.
type Limits struct {
	Count int           // masks of a batch; 0 and 1 send each frame at once
	Bytes int           // of JSON, to within a few bytes a mask; one mask that is larger is a batch by itself
	Age   time.Duration // from a batch's first mask
}

// Batcher collects one stream's frames of results into a batch per object. It has neither clock nor goroutine: its owner says
// what time it is, and asks again at [Batcher.NextDue]. Not for several goroutines at once; the zero value sends each frame at
// once. Batches that methods return are the caller's.
type Batcher struct {
	limits Limits
	open   []openBatch // by the time of their first mask
}

type openBatch struct {
	batch Batch
	bytes int
	since time.Time
}

// NewBatcher returns a Batcher with nothing in it.
func NewBatcher(limits Limits) *Batcher { return &Batcher{limits: limits} }

// Add takes the masks of frame, which it only reads, and returns the batches that end with it, or ended before it, in the order
// in which they should be sent.
func (b *Batcher) Add(frame *Frame, now time.Time) []Batch {
	var ended []Batch
	if len(b.open) > 0 && !continues(b.open[0].batch, frame) {
		ended = b.Flush()
	}
	for i := range frame.Objects {
		ended = b.add(ended, frame, &frame.Objects[i], now)
	}
	return append(ended, b.Due(now)...)
}

func continues(b Batch, frame *Frame) bool {
	return b.Epoch == frame.Epoch && b.Size == frame.Size && b.Run == frame.Run && b.Stream == frame.Stream
}

func (b *Batcher) add(ended []Batch, frame *Frame, object *Object, now time.Time) []Batch {
	mask := batchMask(frame, object)
	bytes := jsonBytes(mask)
	at := b.find(object.ID)
	if at >= 0 && b.limits.Bytes > 0 && b.open[at].bytes+bytes > b.limits.Bytes {
		ended = append(ended, b.end(at))
		at = -1
	}
	if at < 0 {
		at = len(b.open)
		b.open = append(b.open, openBatch{since: now, batch: Batch{
			V: 1, Stream: frame.Stream, Run: frame.Run, Epoch: frame.Epoch, Object: object.ID, Size: frame.Size}})
	}
	open := &b.open[at]
	open.batch.Masks = append(open.batch.Masks, mask)
	open.bytes += bytes
	if len(open.batch.Masks) >= b.limits.Count || b.limits.Bytes > 0 && open.bytes >= b.limits.Bytes {
		ended = append(ended, b.end(at))
	}
	return ended
}

func batchMask(frame *Frame, object *Object) BatchMask {
	counts := object.Segmentation.Counts // a copy, so that a batch does not hold on to the frame
	return BatchMask{Seq: frame.Seq, Frame: frame.Frame, PTS: frame.PTS, Direction: frame.Direction, State: object.State,
		Counts: &counts, Area: object.Area, BBox: object.BBox, ObjectScore: object.ObjectScore}
}

// jsonBytes is about what a mask takes in a message. The message's own fields are of the same order as one mask without counts.
func jsonBytes(m BatchMask) int {
	const besides = 160
	return besides + len(*m.Counts)
}

func (b *Batcher) find(object int) int {
	return slices.IndexFunc(b.open, func(o openBatch) bool { return o.batch.Object == object })
}

func (b *Batcher) end(at int) Batch {
	batch := b.open[at].batch
	b.open = slices.Delete(b.open, at, at+1)
	return batch
}

// Due ends the batches that have reached their age.
func (b *Batcher) Due(now time.Time) []Batch {
	var ended []Batch
	for b.limits.Age > 0 && len(b.open) > 0 && now.Sub(b.open[0].since) >= b.limits.Age {
		ended = append(ended, b.end(0))
	}
	return ended
}

// NextDue is when to call [Batcher.Due]; false where nothing waits for its age.
func (b *Batcher) NextDue() (time.Time, bool) {
	if b.limits.Age <= 0 || len(b.open) == 0 {
		return time.Time{}, false
	}
	return b.open[0].since.Add(b.limits.Age), true
}

// End ends the batch of one object, which was removed.
func (b *Batcher) End(object int) []Batch {
	if at := b.find(object); at >= 0 {
		return []Batch{b.end(at)}
	}
	return nil
}

// Flush ends all batches.
func (b *Batcher) Flush() []Batch {
	ended := make([]Batch, len(b.open))
	for i, open := range b.open {
		ended[i] = open.batch
	}
	b.open = nil
	return ended
}
