package stream

import (
	"context"
	"errors"
	"net/http"

	"maskstream/control"
	"maskstream/propagate"
	"maskstream/rle"
)

// Prompt points at an object on the latest frame and answers with all masks on it.
func (s *Stream) Prompt(ctx context.Context, request control.PromptRequest) (*rle.Frame, error) {
	p := Prompt{Object: request.Object, Prompt: propagate.Prompt{Labels: request.Labels, Mask: request.Mask, KeepOldPoints: !request.ClearOldPoints}}
	for _, point := range request.Points {
		p.Points = append(p.Points, [2]float32{float32(point[0]), float32(point[1])})
	}
	if b := request.Box; b != nil {
		p.Box = &[4]float32{float32(b[0]), float32(b[1]), float32(b[2]), float32(b[3])}
	}
	return s.ask(ctx, request.Frame, func(t *track) (*propagate.Result, error) { return t.prompt(p) })
}

// Clear takes an object's prompts on the latest frame back.
func (s *Stream) Clear(ctx context.Context, object int, frame control.FrameRef) (*rle.Frame, error) {
	return s.ask(ctx, frame, func(t *track) (*propagate.Result, error) { return t.tracker.Clear(t.latest.Index, object) })
}

// Remove forgets an object.
func (s *Stream) Remove(ctx context.Context, object int) error {
	return s.tell(ctx, func(ctx context.Context, t *track) error {
		if !t.tracker.Remove(object) {
			return control.Errorf(control.NotFound, "object %d is not tracked: GET /api/streams/%s lists those that are", object, s.config.Name)
		}
		return t.removed(ctx, object)
	})
}

// Reset forgets all objects.
func (s *Stream) Reset(ctx context.Context) error {
	return s.tell(ctx, func(ctx context.Context, t *track) error {
		ids := t.tracker.Objects()
		t.tracker.Reset()
		return t.removed(ctx, ids...)
	})
}

// Preview shows the picture with masks drawn in.
func (s *Stream) Preview() http.Handler { return s.config.Preview }

// removed tells the sinks that objects are gone.
func (t *track) removed(ctx context.Context, ids ...int) error {
	for _, id := range ids {
		if err := t.stream.results.Put(ctx, work{event: &rle.Event{Type: rle.ObjectRemoved, Object: &id}}); err != nil {
			return err
		}
	}
	return nil
}

// ask lets the track goroutine look at the latest frame and waits for the result to come out of the encoder.
func (s *Stream) ask(ctx context.Context, frame control.FrameRef, look func(*track) (*propagate.Result, error)) (*rle.Frame, error) {
	reply := make(chan *rle.Frame, 1)
	err := s.tell(ctx, func(ctx context.Context, t *track) error {
		if t.latest == nil {
			return ErrNoPicture
		}
		if newest := t.latest.Picture.Meta.Frame; frame != control.Latest && int(frame) != newest {
			return control.Errorf(control.NotFound, "frame %d has gone by, the newest is %d: prompt \"latest\"", frame, newest)
		}
		result, err := look(t)
		if err != nil {
			return err
		}
		return t.answer(ctx, result, reply)
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

// tell runs command on the track goroutine, between frames, and waits for it until ctx ends. What was begun is finished and
// published all the same: command gets the stream's context.
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

// toControl gives the errors that a client can do something about their code.
func toControl(err error) error {
	code := control.Code("")
	switch {
	case err == nil:
		return nil
	case errors.Is(err, propagate.ErrPrompt):
		code = control.BadRequest
	case errors.Is(err, propagate.ErrUnknownObject):
		code = control.NotFound
	case errors.Is(err, propagate.ErrUnprompted), errors.Is(err, ErrIDUsed), errors.Is(err, ErrIDsSpent):
		code = control.Conflict
	case errors.Is(err, ErrNoPicture), errors.Is(err, ErrEnded):
		code = control.Unavailable
	default:
		return err
	}
	return control.Errorf(code, "%v", err)
}
