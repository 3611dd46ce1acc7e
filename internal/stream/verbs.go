package stream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"maskstream/control"
	"maskstream/frames"
	"maskstream/model/amg"
	"maskstream/propagate"
	"maskstream/rle"
	"maskstream/tensor"
)

// Prompt points at an object on the latest frame, or on one that has gone by and is still kept, and answers with all masks on it. After
// a frame that has gone by the object catches up: see docs/time-travel.md.
func (s *Stream) Prompt(ctx context.Context, request control.PromptRequest) (*rle.Frame, error) {
	p := Prompt{Object: request.Object, Prompt: propagate.Prompt{Labels: request.Labels, Mask: request.Mask, KeepOldPoints: !request.ClearOldPoints}}
	for _, point := range request.Points {
		p.Points = append(p.Points, [2]float32{float32(point[0]), float32(point[1])})
	}
	if b := request.Box; b != nil {
		p.Box = &[4]float32{float32(b[0]), float32(b[1]), float32(b[2]), float32(b[3])}
	}
	return s.ask(ctx, request.Frame, request.Epoch, func(_ context.Context, t *track, f *frames.Frame) (*propagate.Result, error) {
		return t.prompt(f, p)
	})
}

// Clear takes an object's prompts on one frame back. What was tracked by them stays.
func (s *Stream) Clear(ctx context.Context, object int, frame control.FrameRef) (*rle.Frame, error) {
	return s.ask(ctx, frame, nil, func(_ context.Context, t *track, f *frames.Frame) (*propagate.Result, error) {
		return t.tracker.Clear(f.Index, object)
	})
}

// Remove forgets an object.
func (s *Stream) Remove(ctx context.Context, object int) error {
	return s.tell(ctx, func(ctx context.Context, t *track) error {
		if !t.tracker.Remove(object) {
			return notTracked(object, s.config.Name)
		}
		return t.removed(ctx, object)
	})
}

// Reset forgets all objects, and gives back all the memory that it can: it may be asked for because there is none.
func (s *Stream) Reset(ctx context.Context) error {
	return s.tell(ctx, func(ctx context.Context, t *track) error {
		ids := t.tracker.Objects()
		t.tracker.Reset()
		t.tracker.Spare()
		return t.removed(ctx, ids...)
	})
}

// Reverse begins a pass back over the frames that are kept.
func (s *Stream) Reverse(ctx context.Context, request control.ReverseRequest) error {
	return s.tell(ctx, func(_ context.Context, t *track) error { return t.startReverse(request.Objects, request.Frames) })
}

// Preview shows the picture with masks drawn in.
func (s *Stream) Preview() http.Handler { return s.config.Preview }

// removed tells the passes and the sinks that objects are gone.
func (t *track) removed(ctx context.Context, ids ...int) error {
	for _, id := range ids {
		t.forget(id)
		if err := t.stream.results.Put(ctx, work{event: &rle.Event{Type: rle.ObjectRemoved, Object: &id}}); err != nil {
			return err
		}
		if err := t.leave(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// ask lets the track goroutine look at a frame and waits for the result to come out of the encoder.
func (s *Stream) ask(ctx context.Context, ref control.FrameRef, epoch *int, look func(context.Context, *track, *frames.Frame) (*propagate.Result, error)) (*rle.Frame, error) {
	reply := make(chan *rle.Frame, 1)
	err := s.tell(ctx, func(ctx context.Context, t *track) error {
		frame, err := t.find(ref, epoch)
		if err != nil {
			return err
		}
		defer frame.Release()
		result, err := look(ctx, t, frame)
		if err != nil {
			return err
		}
		return t.answer(ctx, frame, result, reply)
	})
	if err != nil {
		return nil, err
	}
	select {
	case f := <-reply:
		return f, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.done:
		return nil, toControl(ErrEnded)
	}
}

// find is the frame that a request means, with a reference for the caller. Numbers are those of the current epoch: what came before
// a reconnect or a jump of time may show another place.
func (t *track) find(ref control.FrameRef, epoch *int) (*frames.Frame, error) {
	if t.latest == nil {
		return nil, ErrNoPicture
	}
	newest := t.latest.Picture.Meta
	number := int(ref)
	switch {
	case epoch != nil && *epoch != newest.Epoch:
		return nil, control.Errorf(control.NotFound, "the frame is of epoch %d, and the stream is in epoch %d: frames of other epochs cannot be prompted", *epoch, newest.Epoch)
	case ref == control.Latest || number == newest.Frame:
		return t.latest.Retain(), nil
	case number > newest.Frame:
		return nil, control.Errorf(control.NotFound, "frame %d has not come: the newest of epoch %d is %d, and frames of earlier epochs cannot be prompted", number, newest.Epoch, newest.Frame)
	case t.store == nil:
		return nil, control.Errorf(control.NotFound, `frame %d has gone by, the newest is %d: prompt "latest", or let the stream keep a history`, number, newest.Frame)
	}
	frame, err := t.inRoom(func() (*frames.Frame, error) { return t.store.Picture(newest.Epoch, number) })
	if errors.Is(err, frames.ErrGone) {
		near := strings.Trim(strings.ReplaceAll(fmt.Sprint(t.store.Near(newest.Epoch, number)), " ", " and "), "[]")
		return nil, control.Errorf(control.NotFound, "frame %d is not kept (it was left out, or has gone by too long ago): nearest are %s", number, near)
	}
	return frame, err
}

// tell runs command on the track goroutine, between frames, and waits for it. The command's context is the stream's: what it has
// begun it finishes, also where the client has gone.
func (s *Stream) tell(ctx context.Context, command func(context.Context, *track) error) error {
	reply := make(chan error, 1)
	select {
	case s.commands <- func(ctx context.Context, t *track) { reply <- command(ctx, t) }:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return toControl(ErrEnded)
	}
	select {
	case err := <-reply:
		return toControl(err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func notTracked(object int, stream string) error {
	return control.Errorf(control.NotFound, "object %d is not tracked: GET /api/streams/%s lists those that are", object, stream)
}

// toControl gives the errors that a client can do something about their code.
func toControl(err error) error {
	code := control.Code("")
	switch {
	case err == nil:
		return nil
	case errors.Is(err, propagate.ErrPrompt), errors.Is(err, amg.ErrOptions):
		code = control.BadRequest
	case errors.Is(err, propagate.ErrUnknownObject):
		code = control.NotFound
	case errors.Is(err, propagate.ErrUnprompted), errors.Is(err, ErrIDUsed), errors.Is(err, ErrIDsSpent), errors.Is(err, ErrTooMany):
		code = control.Conflict
	case errors.Is(err, ErrNoPicture), errors.Is(err, ErrEnded), errors.Is(err, tensor.ErrExhausted):
		code = control.Unavailable
	default:
		return err
	}
	return control.Errorf(code, "%v", err)
}
