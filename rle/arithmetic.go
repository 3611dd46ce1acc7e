package rle

import (
	"fmt"
	"iter"
)

// Area is the number of set pixels.
func (m Mask) Area() int64 {
	var area int64
	for i := 1; i < len(m.Runs); i += 2 {
		area += int64(m.Runs[i])
	}
	return area
}

// Box is the smallest x, y, width, height around the set pixels, as pycocotools.mask.toBbox; all 0 where none is set.
func (m Mask) Box() [4]int {
	if m.Height <= 0 {
		return [4]int{}
	}
	left, top, right, bottom := m.Width, m.Height, -1, -1
	x, y := 0, 0 // where the run starts
	for i, run := range m.Runs {
		if run == 0 {
			continue
		}
		column := x // where it started
		end := y + int(run) - 1
		if end >= m.Height {
			x += end / m.Height
			end %= m.Height
		}
		if i%2 == 1 {
			if x > column { // over the bottom of one column and the top of the next
				y, bottom = 0, m.Height-1
			}
			left, top, right, bottom = min(left, column), min(top, y), max(right, x), max(bottom, end)
		}
		if y = end + 1; y == m.Height {
			x, y = x+1, 0
		}
	}
	if right < 0 {
		return [4]int{}
	}
	return [4]int{left, top, right - left + 1, bottom - top + 1}
}

// IoU is the area of the intersection over that of the union, as pycocotools.mask.iou for objects that are no crowd: 0 where
// both are empty. Masks of unequal size are an error that wraps [ErrSize].
func IoU(a, b Mask) (float64, error) {
	if err := sameSize(a, b); err != nil {
		return 0, fmt.Errorf("IoU: %w", err)
	}
	var common, all int64
	for length, pixel := range overlay(a.Runs, b.Runs) {
		if pixel != neither {
			all += int64(length)
		}
		if pixel == both {
			common += int64(length)
		}
	}
	if all == 0 {
		return 0, nil
	}
	return float64(common) / float64(all), nil
}

// Op is a way to merge masks.
type Op uint8

const (
	Union        Op = 1<<onlyA | 1<<onlyB | 1<<both // pixels set in any
	Intersection Op = 1 << both                     // pixels set in all
	difference   Op = 1 << onlyA                    // pixels set in the first and not in the second
)

// Merge combines masks of one size, as pycocotools.mask.merge, into a canonical mask with runs of its own. None at all, or
// masks of unequal size, are an error that wraps [ErrSize].
func Merge(op Op, masks ...Mask) (Mask, error) {
	if len(masks) == 0 {
		return Mask{}, fmt.Errorf("merge: %w: no mask to take the size from", ErrSize)
	}
	merged := masks[0]
	for _, mask := range masks[1:] {
		if err := sameSize(merged, mask); err != nil {
			return Mask{}, fmt.Errorf("merge: %w", err)
		}
		merged = combine(op, merged, mask)
	}
	if len(masks) == 1 {
		merged = combine(op, merged, merged)
	}
	return merged, nil
}

func sameSize(a, b Mask) error {
	if a.Height != b.Height || a.Width != b.Width {
		return fmt.Errorf("%w: %d×%d and %d×%d", ErrSize, a.Height, a.Width, b.Height, b.Width)
	}
	return nil
}

// combine returns the pixels of two masks of one size that op names.
func combine(op Op, a, b Mask) Mask {
	changes := make(border, 0, len(a.Runs)+len(b.Runs))
	var position uint32
	for length, pixel := range overlay(a.Runs, b.Runs) {
		if set := op>>pixel&1 == 1; set != changes.inside() {
			changes.flip(position)
		}
		position += length
	}
	return Mask{Height: a.Height, Width: a.Width, Runs: changes.runs(position)}
}

// What two masks say about the same pixels.
const (
	neither uint8 = iota
	onlyA
	onlyB
	both
)

// overlay walks two masks of one size at once and yields the stretches, none empty, in which neither changes.
func overlay(a, b []uint32) iter.Seq2[uint32, uint8] {
	return func(yield func(length uint32, pixel uint8) bool) {
		if len(a) == 0 || len(b) == 0 {
			return
		}
		i, j := 0, 0
		leftA, leftB := a[0], b[0]
		for {
			length := min(leftA, leftB)
			if length > 0 && !yield(length, uint8(i&1|j&1<<1)) {
				return
			}
			if leftA -= length; leftA == 0 {
				if i++; i == len(a) {
					return
				}
				leftA = a[i]
			}
			if leftB -= length; leftB == 0 {
				if j++; j == len(b) {
					return
				}
				leftB = b[j]
			}
		}
	}
}
