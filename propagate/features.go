package propagate

import (
	"fmt"

	"maskstream/frames"
	"maskstream/model"
)

// picture names what a frame shows: its place among the processed frames, and which picture of which run it is.
type picture struct{ index, epoch, number int }

func pictureOf(f *frames.Frame) picture {
	return picture{index: f.Index, epoch: f.Picture.Meta.Epoch, number: f.Picture.Meta.Frame}
}

// encode returns the frame's features, borrowed until another frame is encoded. The last frame's are kept, so that a step and
// prompts on one frame share them.
func (t *Tracker) encode(frame *frames.Frame) (*model.Features, error) {
	t.at = frame.Index
	if t.cached != nil && t.cachedOf == pictureOf(frame) {
		return t.cached, nil
	}
	features, err := t.network.EncodeImage(frame.Pixels)
	if err != nil {
		return nil, fmt.Errorf("encoding frame %d: %w", frame.Index, err)
	}
	t.Spare()
	t.cached, t.cachedOf = features, pictureOf(frame)
	return features, nil
}

// Spare gives back what is kept of the last frame to be quick with the next prompt on it.
func (t *Tracker) Spare() {
	t.cached.Release()
	t.cached = nil
}
