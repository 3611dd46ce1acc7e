package rle

import (
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Pixels lie in rows and runs go down columns. Neither direction of the way walks the picture in columns: both work on the
// places where a pixel differs from the one above it, and those are few.

// FromBits makes the runs of a bitmap: height·width bytes, row after row, non-zero is set. rowMajor is only read. It panics
// where the length does not fit.
func FromBits(height, width int, rowMajor []byte) Mask {
	total := mustPixels(height, width)
	if uint64(len(rowMajor)) != uint64(total) {
		panic(fmt.Sprintf("rle: FromBits: %d bytes for %d×%d pixels", len(rowMajor), height, width))
	}
	if total == 0 {
		return Empty(height, width)
	}
	changes := make([]change, 0, 1024)
	// Above the top of a column lies, in the order of runs, the bottom of the column before it.
	top, bottom := rowMajor[:width], rowMajor[int(total)-width:]
	above := false
	for x := range top {
		if set := top[x] != 0; set != above {
			changes = append(changes, change{x: uint32(x)})
		}
		above = bottom[x] != 0
	}
	for y := 1; y < height; y++ {
		changes = appendChanges(changes, uint32(y), rowMajor[(y-1)*width:y*width], rowMajor[y*width:(y+1)*width])
	}
	return Mask{Height: height, Width: width, Runs: byColumn(changes, height, width).runs(total)}
}

// change is a pixel that differs from the one before it in its column.
type change struct{ x, y uint32 }

// appendChanges compares two neighbouring rows: stretches of equal bytes are passed over at the speed of bytes.Equal, others are
// looked at word by word, eight pixels at a time.
func appendChanges(changes []change, y uint32, above, row []byte) []change {
	const stretch = 128
	for from := 0; from < len(row); from += stretch {
		to := min(from+stretch, len(row))
		if bytes.Equal(above[from:to], row[from:to]) {
			continue
		}
		x := from
		for ; x+8 <= to; x += 8 {
			if a, b := word(above[x:]), word(row[x:]); a != b {
				changes = appendWord(changes, uint32(x), y, setBytes(a)^setBytes(b))
			}
		}
		for ; x < to; x++ {
			if (above[x] != 0) != (row[x] != 0) {
				changes = append(changes, change{x: uint32(x), y: y})
			}
		}
	}
	return changes
}

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

const highBits = 0x8080808080808080

// setBytes has the high bit of every byte of w that is not zero.
func setBytes(w uint64) uint64 {
	return ((w &^ highBits) + (highBits - 0x0101010101010101) | w) & highBits
}

// appendWord appends the pixels whose bytes in differing, pixel x lowest, are not zero.
func appendWord(changes []change, x, y uint32, differing uint64) []change {
	for ; differing != 0; differing &= differing - 1 {
		changes = append(changes, change{x: x + uint32(bits.TrailingZeros64(differing))/8, y: y})
	}
	return changes
}

// byColumn sorts changes, which come row after row, by counting those of each column.
func byColumn(changes []change, height, width int) border {
	next := make([]uint32, width+1)
	for _, c := range changes {
		next[c.x+1]++
	}
	for x := range width {
		next[x+1] += next[x]
	}
	sorted := make(border, len(changes))
	for _, c := range changes {
		sorted[next[c.x]] = c.x*uint32(height) + c.y
		next[c.x]++
	}
	return sorted
}

// Decode fills dst, which must be Height·Width bytes long, row after row with 0 and 1. An error wraps [ErrSize] or [ErrCounts]
// and leaves dst as it was.
func (m Mask) Decode(dst []byte) error {
	if err := m.Validate(); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	if len(dst) != m.Height*m.Width {
		return fmt.Errorf("decode: %w: %d bytes for %d×%d pixels", ErrSize, len(dst), m.Height, m.Width)
	}
	if len(dst) == 0 {
		return nil
	}
	clear(dst)
	// First only the changes, then each row is the one above it, changed: a pass over whole rows, which is fast.
	x, y := 0, 0
	for i, run := range m.Runs {
		if run == 0 {
			continue
		}
		set := byte(i % 2)
		dst[y*m.Width+x] ^= set
		y += int(run)
		for ; y >= m.Height; y -= m.Height {
			x++
			if y > m.Height { // the run goes on at the top of the next column
				dst[x] = set
			}
		}
		if y > 0 {
			dst[y*m.Width+x] ^= set
		}
	}
	for at := m.Width; at < len(dst); at += m.Width {
		row := dst[at : at+m.Width]
		subtle.XORBytes(row, row, dst[at-m.Width:at])
	}
	return nil
}
