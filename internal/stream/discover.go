package stream

import (
	"context"
	"fmt"

	"maskstream/control"
	"maskstream/frames"
	"maskstream/model/amg"
	"maskstream/propagate"
	"maskstream/rle"
)

// Discover starts to track everything on the latest frame that is not tracked yet, and answers with all masks. options is a JSON
// object under the reference's names; empty for its defaults. The live track waits meanwhile.
func (s *Stream) Discover(ctx context.Context, options []byte) (*rle.Frame, error) {
	parsed := amg.Default()
	if len(options) > 0 {
		var err error
		if parsed, err = amg.ParseOptions(options); err != nil {
			return nil, toControl(err)
		}
	}
	return s.ask(ctx, control.Latest, nil, func(t *track, _ *frames.Frame) (*propagate.Result, error) { return t.discover(ctx, parsed) })
}

// discover ends early, with an error, where ctx does.
func (t *track) discover(ctx context.Context, options amg.Options) (*propagate.Result, error) {
	network, ok := t.stream.config.Network.(amg.Network)
	if !ok {
		return nil, control.Errorf(control.NotSupported, "the model of stream %s proposes no masks by itself", t.stream.config.Name)
	}
	if len(t.behind) > 0 {
		return nil, control.Errorf(control.Busy, "objects of stream %s are catching up, and might be taken for new ones: try again when they have", t.stream.config.Name)
	}
	generator, err := amg.New(network, options, t.scratch)
	if err != nil {
		return nil, err
	}
	found, err := generator.Discover(ctx, t.latest, t.masks())
	if err != nil {
		return nil, err
	}
	for i, record := range found {
		result, err := t.prompt(t.latest, Prompt{Prompt: propagate.Prompt{Mask: &record.Mask}})
		if err != nil {
			return nil, fmt.Errorf("object %d of %d that were found: %w", i+1, len(found), err)
		}
		result.Release()
	}
	return t.tracker.Look(t.latest.Index), nil
}

// masks are those of the objects on the latest frame, in the picture's size.
func (t *track) masks() []rle.Mask {
	width, height := t.latest.Picture.DisplaySize()
	result := t.tracker.Look(t.latest.Index)
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
