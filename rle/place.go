package rle

import "fmt"

// Place is the mask at x, y of a canvas of height×width pixels, on which nothing else is set. A mask that reaches over the
// canvas is an error that wraps [ErrSize], and one that is not valid is an error as of [Mask.Validate].
func (m Mask) Place(x, y, height, width int) (Mask, error) {
	if err := m.Validate(); err != nil {
		return Mask{}, fmt.Errorf("place: %w", err)
	}
	if _, err := pixels(height, width); err != nil {
		return Mask{}, fmt.Errorf("place: %w", err)
	}
	if x < 0 || y < 0 || m.Height > height-y || m.Width > width-x {
		return Mask{}, fmt.Errorf("place: %w: %d×%d at %d,%d of %d×%d", ErrSize, m.Height, m.Width, x, y, height, width)
	}
	if m.Height == height && m.Width == width {
		return m, nil
	}
	changes := make(border, 0, len(m.Runs)+2*m.Width)
	column, row := 0, 0 // where the run starts
	for i, run := range m.Runs {
		for left := int(run); left > 0; {
			n := min(left, m.Height-row)
			if i%2 == 1 {
				at := uint32((x+column)*height + y + row)
				changes.flip(at) // a run that goes on where the last one ended is one with it
				changes.flip(at + uint32(n))
			}
			left -= n
			if row += n; row == m.Height {
				column, row = column+1, 0
			}
		}
	}
	return Mask{Height: height, Width: width, Runs: changes.runs(uint32(height * width))}, nil
}
