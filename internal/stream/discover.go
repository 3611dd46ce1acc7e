package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"maskstream/control"
	"maskstream/frames"
	"maskstream/model"
	"maskstream/model/amg"
	"maskstream/propagate"
	"maskstream/rle"
)

// Discover starts to track everything on the latest frame that is not tracked yet, and answers with all masks on it. options is a
// JSON object under the reference's names; empty for its defaults. The live track goes on meanwhile, at half its rate at worst;
// what was found catches up from the frame that was looked at.
func (s *Stream) Discover(ctx context.Context, options []byte) (*rle.Frame, error) {
	parsed := amg.Default()
	if len(options) > 0 {
		var err error
		if parsed, err = amg.ParseOptions(options); err != nil {
			return nil, toControl(err)
		}
	}
	return s.ask(ctx, control.Latest, nil, func(running context.Context, t *track, frame *frames.Frame) (*propagate.Result, error) {
		switch {
		case t.searching:
			return nil, control.Errorf(control.Busy, "stream %s is being searched for objects already", s.config.Name)
		case len(t.behind) > 0:
			return nil, control.Errorf(control.Busy, "objects of stream %s are catching up, and might be taken for new ones: try again when they have", s.config.Name)
		}
		t.searching = true
		defer func() { t.searching = false }()
		return t.discover(ctx, running, frame, parsed, func() error { return t.breathe(running) })
	})
}

// breathing lets the live track go on between the batches of a search.
type breathing struct {
	amg.Network
	breathe func() error
}

// DecodeCandidates implements amg.Network.
func (b breathing) DecodeCandidates(features *model.Features, prompts []model.Prompt) (*model.Candidates, error) {
	if err := b.breathe(); err != nil {
		return nil, err
	}
	return b.Network.DecodeCandidates(features, prompts)
}

// breathe takes what waits, commands and frames, for as long as the search has had the network since the last time. An error is the
// stream's own, and ends it.
func (t *track) breathe(ctx context.Context) error {
	started := time.Now()
	share := started.Sub(t.breath)
	defer func() { t.breath = time.Now() }()
	for ctx.Err() == nil && time.Since(started) < share {
		select {
		case command := <-t.stream.commands:
			command(ctx, t)
			continue
		default:
		}
		frame, ok, _ := t.stream.frames.TryTake()
		if !ok {
			return nil
		}
		if t.failed = t.frame(ctx, frame); t.failed != nil {
			return t.failed
		}
	}
	return ctx.Err()
}

// discover searches a frame, starts to track what is new there, and says how many that are; running is the stream's own context. It ends
// early, with an error, where ctx does. breathe is called between its batches.
func (t *track) discover(ctx, running context.Context, frame *frames.Frame, options amg.Options, breathe func() error) (*propagate.Result, error) {
	found, err := t.search(ctx, frame, options, breathe)
	if err == nil {
		err = t.adopt(frame, found)
	}
	done := rle.Event{Type: rle.SearchDone, Found: new(int)}
	switch {
	case err != nil:
		done.Reason = toldReason(err)
	case len(found) == 0:
		done.Reason = "nothing new passes the filters; lower pred_iou_thresh or stability_score_thresh"
	default:
		*done.Found = len(found)
	}
	said := []any{"frame", frame.Picture.Meta.Frame, "found", *done.Found}
	if done.Reason != "" {
		said = append(said, "reason", done.Reason)
	}
	if err != nil {
		said = append(said, "error", err)
	}
	t.stream.config.Log.Info("the picture was searched", said...)
	if told := t.stream.results.Put(running, work{event: &done}); err == nil {
		err = told
	}
	if err != nil {
		return nil, err
	}
	return t.tracker.Look(frame.Index), nil
}

// toldReason is why a search failed, for subscribers: what is not their concern stays in the log.
func toldReason(err error) string {
	var told *control.Error
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "nobody waited for the answer any more"
	}
	if errors.As(toControl(err), &told) {
		return told.Message
	}
	return "it failed: the log says more"
}

func (t *track) search(ctx context.Context, frame *frames.Frame, options amg.Options, breathe func() error) ([]amg.Record, error) {
	network, ok := t.stream.config.Network.(amg.Network)
	if !ok {
		return nil, control.Errorf(control.NotSupported, "the model of stream %s proposes no masks by itself", t.stream.config.Name)
	}
	generator, err := amg.New(breathing{network, breathe}, options, t.scratch)
	if err != nil {
		return nil, err
	}
	t.breath = time.Now()
	return generator.Discover(ctx, frame, t.masks(frame))
}

// adopt starts to track all that was found, or none of it.
func (t *track) adopt(frame *frames.Frame, found []amg.Record) error {
	if err := t.admit(len(found)); err != nil {
		return fmt.Errorf("none of the %d objects that were found is tracked: %w", len(found), err)
	}
	before := t.tracker.Objects()
	for i, record := range found {
		result, err := t.prompt(frame, Prompt{Prompt: propagate.Prompt{Mask: &record.Mask}})
		if err == nil {
			result.Release()
			continue
		}
		for _, id := range t.tracker.Objects() {
			if !slices.Contains(before, id) {
				t.tracker.Remove(id)
				t.forget(id)
			}
		}
		return fmt.Errorf("object %d of %d that were found, of which none is tracked: %w", i+1, len(found), err)
	}
	return nil
}

// masks are those of the objects on a frame, in the picture's size.
func (t *track) masks(frame *frames.Frame) []rle.Mask {
	width, height := frame.Picture.DisplaySize()
	result := t.tracker.Look(frame.Index)
	defer result.Release()
	var encoder rle.Encoder
	var masks []rle.Mask
	for _, o := range result.Objects {
		if o.Logits != nil {
			low := o.Logits.Shape()
			masks = append(masks, encoder.FromLogits(o.Logits.Float32s(), low[0], low[1], height, width))
		}
	}
	return masks
}
