package stream

import (
	"context"
	"maps"
	"slices"

	"maskstream/frames"
	"maskstream/memory"
)

// follower is an object that was prompted on a frame that had gone by and is tracked over the frames since then, until it has
// caught up with the newest one. Its masks on them are published as they come.
type follower struct {
	next  int  // index of the frame that it is tracked on next
	fresh bool // it has not been live yet and is not before it has caught up
}

// past takes one step of what there is to do in the past; false says that there is nothing. Objects that catch up go before the
// reverse pass.
func (t *track) past(ctx context.Context) (worked bool, err error) {
	switch {
	case len(t.behind) > 0:
		return true, t.catchUp(ctx)
	case t.back != nil:
		return true, t.goBack(ctx)
	}
	return false, nil
}

// live lists the objects that are tracked on the newest frame.
func (t *track) live() []int {
	return slices.DeleteFunc(t.tracker.Objects(), func(id int) bool { return t.behind[id] != nil && t.behind[id].fresh })
}

// follow notes that an object was prompted on the frame with that index, for the first time where it is fresh.
func (t *track) follow(id, index int, fresh bool) {
	f := t.behind[id]
	switch {
	case index >= t.latest.Index || t.store == nil: // without a history, an object that was found goes on from the next frame
		if f != nil {
			f.fresh = false // it is known where the object is now
		}
		return
	case f == nil:
		t.behind[id] = &follower{next: index + 1, fresh: fresh}
	case f.next > index:
		f.next = index + 1
	default:
		return
	}
	t.tracker.Hold(id, index)
}

// forget drops what was planned for an object.
func (t *track) forget(id int) {
	delete(t.behind, id)
	t.tracker.LetGo(id)
}

// catchUp tracks the objects that are furthest behind on one frame. Where that fails they are live again from the next frame on,
// without what lies between.
func (t *track) catchUp(ctx context.Context) error {
	next := t.latest.Index
	for _, f := range t.behind {
		next = min(next, f.next)
	}
	ids := slices.Sorted(maps.Keys(t.behind))
	frame, err := t.since(next)
	if err == nil {
		defer frame.Release()
		ids = slices.DeleteFunc(ids, func(id int) bool { return t.behind[id].next > frame.Index })
		err = t.step(ctx, frame, ids)
	}
	if err != nil && ctx.Err() == nil {
		t.stream.config.Log.Warn("objects do not catch up: they are tracked from the newest frame on", "objects", ids, "error", err)
		for _, id := range ids {
			t.forget(id)
		}
		return nil
	}
	return err
}

// since is the oldest frame that is kept from an index on, with a reference for the caller.
func (t *track) since(index int) (*frames.Frame, error) {
	if index >= t.latest.Index {
		return t.latest.Retain(), nil
	}
	return t.inRoom(func() (*frames.Frame, error) { return t.store.From(index) })
}

// step tracks some objects on a frame that has gone by, and publishes what it shows.
func (t *track) step(ctx context.Context, frame *frames.Frame, ids []int) error {
	result, err := t.tracker.StepOnly(frame, memory.Forward, ids)
	if err != nil {
		return err
	}
	for _, o := range result.Objects {
		f := t.behind[o.ID]
		f.next = frame.Index + 1
		t.tracker.Hold(o.ID, frame.Index)
		if f.next > t.latest.Index || o.Logits == nil { // without logits it has lost its prompts: there is nothing to follow
			t.forget(o.ID)
		}
	}
	return t.publishPast(ctx, frame, result)
}
