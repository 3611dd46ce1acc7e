package clip

import (
	"errors"

	"maskstream/frames"
	"maskstream/tensor"
)

// convertInRoom converts a picture, and again as long as room can be made for the frame.
func (c *Clip) convertInRoom(picture *frames.Picture) (*frames.Frame, error) {
	for {
		frame, err := c.convert(picture)
		if err == nil {
			return frame, nil
		}
		if err = c.room(err); err != nil {
			return nil, err
		}
	}
}

// MakeRoom lets go of half of the kept frames, which can be read again, where err says that their pool is full. It returns nil where it
// has let some go, else err.
func (c *Clip) MakeRoom(err error) error {
	var full *tensor.Exhausted
	if !errors.As(err, &full) {
		return err
	}
	for _, f := range c.kept {
		if f.Pixels.Pool() == full.Pool {
			c.forget(c.wanted, len(c.kept)/2)
			return nil
		}
	}
	return err
}
