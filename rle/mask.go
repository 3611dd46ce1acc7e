// Package rle holds COCO run-length masks, the arithmetic on their runs, and the messages they travel in. It imports nothing
// of this module, so that a subscriber written in Go needs nothing else:
//
//	var batch rle.Batch
//	json.Unmarshal(message.Data, &batch)
//	batch, whole, err := assembler.Add(batch) // an Assembler joins masks that came in parts; most come whole
//	mask, err := rle.Parse(batch.Size[0], batch.Size[1], *batch.Masks[0].Counts)
//	mask.Area(); mask.Box(); mask.Decode(pixels)
//
// The idea: a mask is its borders. A picture of two million pixels with a person in it has a few hundred runs, so a mask is
// born as runs ([Encoder] makes them from low-resolution logits without ever having a picture), every question about it is
// arithmetic on runs, and pixels appear only where somebody asks for them ([Mask.Decode]).
package rle

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Sentinels to branch on; the errors that wrap them say where and what.
var (
	ErrSize   = errors.New("impossible or unequal mask size")
	ErrCounts = errors.New("not the runs of a mask")
	ErrLimit  = errors.New("message does not fit the limit")
	ErrPart   = errors.New("not a part of a mask")
)

// Mask is a binary mask of Height×Width pixels as runs in column-major order, alternating 0 and 1 and starting with zeros
// (the first run may be 0 long). The runs add up to Height·Width. Canonical masks have no other empty run.
type Mask struct {
	Height, Width int
	Runs          []uint32
}

// Empty is the mask of height×width pixels with none set. It panics where [Mask.Validate] would refuse the size.
func Empty(height, width int) Mask {
	return Mask{Height: height, Width: width, Runs: []uint32{mustPixels(height, width)}}
}

// Validate returns nil where the runs add up to Height·Width, else an error that wraps [ErrSize] or [ErrCounts]. Masks of this
// package's making are valid; the methods of one that is not give wrong answers, but end and do not panic.
func (m Mask) Validate() error {
	total, err := pixels(m.Height, m.Width)
	if err != nil {
		return err
	}
	var sum uint64
	for _, run := range m.Runs {
		sum += uint64(run)
	}
	if sum != uint64(total) {
		return fmt.Errorf("%w: runs add up to %d pixels where %d×%d has %d", ErrCounts, sum, m.Height, m.Width, total)
	}
	return nil
}

// EachColumn calls set with every stretch of set pixels within a column, rows y0 to y1−1, in the order of the runs.
func (m Mask) EachColumn(set func(x, y0, y1 int)) {
	if m.Height <= 0 {
		return
	}
	at, area := 0, m.Height*m.Width
	for i, run := range m.Runs {
		end := min(at+int(run), area)
		for i%2 == 1 && at < end {
			x, y := at/m.Height, at%m.Height
			n := min(end-at, m.Height-y)
			set(x, y, y+n)
			at += n
		}
		at = end
	}
}

// pixels is height·width. As in pycocotools a mask has less than 2³² pixels, so that every run and every position fits a uint32.
func pixels(height, width int) (uint32, error) {
	if height < 0 || width < 0 {
		return 0, fmt.Errorf("%w: %d×%d is negative", ErrSize, height, width)
	}
	if uint64(height) > math.MaxUint32 || uint64(width) > math.MaxUint32 || uint64(height)*uint64(width) > math.MaxUint32 {
		return 0, fmt.Errorf("%w: %d×%d has more than 2³²−1 pixels", ErrSize, height, width)
	}
	return uint32(height) * uint32(width), nil
}

func mustPixels(height, width int) uint32 {
	total, err := pixels(height, width)
	if err != nil {
		panic("rle: " + err.Error())
	}
	return total
}

// border collects the positions, ascending in column-major order, at which a mask changes between 0 and 1.
type border []uint32

// flip records a change at position; a second one at the same place undoes the first.
func (b *border) flip(position uint32) {
	if last := len(*b) - 1; last >= 0 && (*b)[last] == position {
		*b = (*b)[:last]
		return
	}
	*b = append(*b, position)
}

// inside says whether pixels behind the last change are set.
func (b border) inside() bool { return len(b)%2 == 1 }

// runs returns the distances between the changes of a mask with total pixels, in a slice of exactly their number.
func (b border) runs(total uint32) []uint32 {
	runs := make([]uint32, b.count(total))
	b.put(runs, total)
	return runs
}

// count is the number of runs; a change behind the last pixel is none.
func (b border) count(total uint32) int {
	if last := len(b) - 1; last >= 0 && b[last] == total {
		return len(b)
	}
	return len(b) + 1
}

// put writes the runs, of which there are count.
func (b border) put(runs []uint32, total uint32) {
	var from uint32
	last := len(runs) - 1
	for i, position := range b[:last] {
		runs[i] = position - from
		from = position
	}
	runs[last] = total - from
}

// pairs is how many neighbouring pixels, in column-major order, differ.
func (b border) pairs(total uint32) int {
	n := b.count(total) - 1
	if n > 0 && b[0] == 0 {
		n--
	}
	return n
}

// Equal says whether two masks have the same size and the same pixels, canonical or not.
func Equal(a, b Mask) bool {
	if a.Height != b.Height || a.Width != b.Width {
		return false
	}
	if slices.Equal(a.Runs, b.Runs) {
		return true
	}
	for _, pixel := range overlay(a.Runs, b.Runs) {
		if pixel == onlyA || pixel == onlyB {
			return false
		}
	}
	return true
}
