package stream

import (
	"cmp"
	"context"
	"time"

	"maskstream/rle"
	"maskstream/sink"
)

// encoding is the state of the encode goroutine.
type encoding struct {
	Encoder
	stream *Stream

	states map[int]rle.State // of every object, as last published
	epoch  int
	events int64
}

// publish encodes one piece of work and takes ownership of it.
func (e *encoding) publish(ctx context.Context, w work) error {
	defer w.release()
	if w.event != nil {
		if w.event.Type == rle.ObjectRemoved {
			e.forget(*w.event.Object)
			delete(e.states, *w.event.Object)
			e.stream.meter.removed(*w.event.Object)
		}
		return e.event(ctx, *w.event)
	}
	started := time.Now()
	width, height := w.picture.DisplaySize()
	item := sink.Item{}
	if w.past { // nobody draws over a picture that is gone
		item.Result = e.EncodePast(w.result, w.picture.Meta, height, width)
	} else {
		item.Result, item.Picture = e.Encode(w.result, w.picture.Meta, height, width), w.picture.Retain()
	}
	frame := item.Result
	e.stream.meter.took(Encode, started)
	if err := e.changes(ctx, frame, w.picture.Meta.Began); err != nil {
		item.Release()
		return err
	}
	err := e.stream.config.Out.Publish(ctx, item)
	if w.answer != nil {
		w.answer <- frame
	}
	if frame.Past {
		e.stream.meter.pastPublished(frame)
	} else {
		e.stream.meter.framePublished(frame, w.picture.Meta, time.Now())
	}
	return err
}

// changes publishes what happened to the epoch, and why that began, and to each object since the last frame. Of a frame that had gone by, only the
// answer to an object's first prompt is news.
func (e *encoding) changes(ctx context.Context, f *rle.Frame, began string) error {
	if f.Past && f.Direction != rle.Prompted {
		return nil
	}
	if f.Epoch != e.epoch && !f.Past {
		e.epoch = f.Epoch
		if err := e.event(ctx, rle.Event{Type: rle.EpochBegan, Epoch: &f.Epoch, Reason: began}); err != nil {
			return err
		}
	}
	for _, o := range f.Objects {
		before, known := e.states[o.ID]
		if f.Past && known {
			continue
		}
		e.states[o.ID] = o.State
		var kind rle.EventType
		switch {
		case !known:
			kind = rle.ObjectAdded
		case o.State == rle.Lost && before != rle.Lost:
			kind = rle.ObjectLost
		case o.State == rle.Tracked && before == rle.Lost:
			kind = rle.ObjectFound
		default:
			continue
		}
		if err := e.event(ctx, rle.Event{Type: kind, Object: &o.ID}); err != nil {
			return err
		}
	}
	return nil
}

// lastWord is how long the news of a stream's end may wait for a sink.
const lastWord = time.Second

// stopped publishes that the stream was told to end, or cannot go on, and why. Where no sink takes that, it ends all the same.
func (e *encoding) stopped(ctx, told context.Context) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	why := context.Cause(ctx)
	event := rle.Event{Type: rle.StreamDown, Code: codeOf(why), Reason: reasonOf(why)}
	if told.Err() != nil {
		event.Code, event.Reason = "", cmp.Or(reasonOf(context.Cause(told)), "the stream was told to end")
	}
	if err := e.event(last, event); err != nil {
		e.stream.config.Log.Debug("nobody hears of the stream's end", "stream", e.Stream, "error", err)
	}
}

func (e *encoding) event(ctx context.Context, event rle.Event) error {
	event.V, event.Stream, event.Run, event.N, event.Time = 1, e.Stream, e.Run, e.events, time.Now().UTC()
	e.events++
	return e.stream.config.Out.Publish(ctx, sink.Item{Event: &event})
}
