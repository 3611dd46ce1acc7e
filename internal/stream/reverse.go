package stream

import (
	"context"
	"errors"
	"slices"

	"maskstream/control"
	"maskstream/frames"
	"maskstream/memory"
	"maskstream/propagate"
	"maskstream/rle"
	"maskstream/tensor"
)

// reverse is a pass back over the frames that are kept, on a snapshot of the objects' memories, while the live track goes on.
type reverse struct {
	tracker *propagate.Tracker
	past    *frames.Past
	results int
}

func (r *reverse) close() {
	r.tracker.Close()
	r.past.Release()
}

// startReverse begins a pass over at most n frames for some objects, nil for all.
func (t *track) startReverse(objects []int, n int) error {
	name := t.stream.config.Name
	switch {
	case t.latest == nil:
		return ErrNoPicture
	case t.store == nil:
		return control.Errorf(control.NotSupported, "stream %s keeps no frames to go back over: set its history", name)
	case t.back != nil:
		return control.Errorf(control.Busy, "a reverse pass of stream %s is under way: wait for its reverse_done event", name)
	}
	for _, id := range objects {
		if !slices.Contains(t.tracker.Objects(), id) {
			return notTracked(id, name)
		}
	}
	snapshot := t.tracker.Snapshot(t.latest.Index, objects)
	if len(snapshot.Objects()) == 0 {
		snapshot.Close()
		return control.Errorf(control.Conflict, "no object of stream %s can be tracked back: prompt one first", name)
	}
	t.back = &reverse{tracker: snapshot, past: t.store.Past(n)}
	return nil
}

// goBack takes one step of the pass, or ends it.
func (t *track) goBack(ctx context.Context) error {
	if t.back.past.Len() == 0 {
		return t.endReverse(ctx, "")
	}
	frame, err := t.inRoom(t.back.past.Take)
	if err == nil {
		defer frame.Release()
		var result *propagate.Result
		if result, err = t.back.tracker.Step(frame, memory.Reverse); err == nil {
			t.back.results++ // a snapshot's objects are prompted, so each has a mask
			return t.publishPast(ctx, frame, result)
		}
	}
	t.stream.config.Log.Warn("reverse pass failed", "error", err)
	reason := "it failed: the log says more"
	if errors.Is(err, tensor.ErrExhausted) {
		reason = "out of memory"
	}
	return t.endReverse(ctx, reason)
}

// endReverse tells that the pass is done, and why where that is early.
func (t *track) endReverse(ctx context.Context, reason string) error {
	done := t.back.results
	t.back.close()
	t.back = nil
	return t.stream.results.Put(ctx, work{event: &rle.Event{Type: rle.ReverseDone, Frames: &done, Reason: reason}})
}

// leave takes an object out of the pass, which ends with its last one.
func (t *track) leave(ctx context.Context, id int) error {
	if t.back == nil || !t.back.tracker.Remove(id) || len(t.back.tracker.Objects()) > 0 {
		return nil
	}
	return t.endReverse(ctx, "its objects were removed")
}

// publishPast publishes what a frame that has gone by shows; it takes ownership of the result.
func (t *track) publishPast(ctx context.Context, frame *frames.Frame, result *propagate.Result) error {
	result.Objects = slices.DeleteFunc(result.Objects, func(o propagate.Object) bool { return o.Logits == nil })
	if len(result.Objects) == 0 {
		return nil
	}
	return t.stream.results.Put(ctx, work{result: result, picture: frame.Picture.Retain(), past: true})
}
