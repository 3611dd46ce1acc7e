package amg

import (
	"context"
	"fmt"
	"slices"

	"maskstream/frames"
	"maskstream/rle"
)

// SameObject is the IoU of two masks from which on they are taken for the same object.
const SameObject = 0.5

// Discover finds what is on a frame and none of the known masks: objects whose IoU with each of them, and with each other, lies
// below [SameObject]. Of several masks of one object the first is taken, which the network is surest of within a crop.
// Known masks have the picture's size, and are typically those of the objects tracked on this frame; an empty one, of an object
// that is occluded, is like nothing. The order is that of Generate, which says what a frame needs.
func (g *Generator) Discover(ctx context.Context, frame *frames.Frame, known []rle.Mask) ([]Record, error) {
	width, height := frame.Picture.DisplaySize()
	for i, k := range known {
		if k.Width != width || k.Height != height {
			return nil, fmt.Errorf("automatic masks: known mask %d: %w: %d×%d on a picture of %d×%d", i, rle.ErrSize, k.Width, k.Height, width, height)
		}
	}
	all, err := g.Generate(ctx, frame)
	if err != nil {
		return nil, err
	}
	known = slices.Clone(known)
	var found []Record
	for _, r := range all {
		isNew := true
		for _, k := range known {
			overlap, err := rle.IoU(r.Mask, k)
			if err != nil {
				return nil, fmt.Errorf("automatic masks: %w", err)
			}
			isNew = isNew && overlap < SameObject
		}
		if isNew {
			found, known = append(found, r), append(known, r.Mask)
		}
	}
	return found, nil
}
