package rle

import (
	"fmt"
	"math"
)

// The compressed string, as pycocotools' rleToString writes it: each run from the fourth on as its difference to the run two
// before it (the last of the same colour), as signed groups of five bits, lowest first, each with 0x20 where another follows,
// plus '0'. So every character lies between '0' and 'o'.
const (
	groupBits  = 5
	groupMask  = 1<<groupBits - 1
	groupSign  = 1 << (groupBits - 1)
	groupMore  = 1 << groupBits
	groupBase  = '0'
	groupLimit = 7 // groups of a run: a signed difference of two 32-bit numbers has 33 bits
)

// Parse reads a compressed counts string as pycocotools writes it. It is strict: an error, which wraps [ErrSize] or [ErrCounts],
// says at which byte the string stops being the runs of a height×width mask. What it accepts, [Mask.Counts] writes again byte
// by byte. Memory is bounded by four bytes per byte of counts, whatever the size claims.
func Parse(height, width int, counts string) (Mask, error) {
	total, err := pixels(height, width)
	if err != nil {
		return Mask{}, err
	}
	number := 0
	for i := range len(counts) {
		if (counts[i]-groupBase)&groupMore == 0 {
			number++
		}
	}
	runs := make([]uint32, 0, number)
	left := int64(total)
	for at := 0; at < len(counts); {
		value, next, err := parseNumber(counts, at)
		if err != nil {
			return Mask{}, fmt.Errorf("run %d: %w", len(runs), err)
		}
		if i := len(runs); i > 2 {
			value += int64(runs[i-2])
		}
		if value < 0 || value > math.MaxUint32 {
			return Mask{}, fmt.Errorf("%w: run %d at byte %d is %d pixels long", ErrCounts, len(runs), at, value)
		}
		if value > left {
			return Mask{}, fmt.Errorf("%w: run %d at byte %d is %d pixels long where %d×%d has %d left",
				ErrCounts, len(runs), at, value, height, width, left)
		}
		left -= value
		runs = append(runs, uint32(value))
		at = next
	}
	if left != 0 {
		return Mask{}, fmt.Errorf("%w: %d runs in %d bytes end %d pixels before those of %d×%d", ErrCounts, len(runs), len(counts), left, height, width)
	}
	return Mask{Height: height, Width: width, Runs: runs}, nil
}

// parseNumber reads the signed number that starts at byte at, and returns where the next one starts.
func parseNumber(counts string, at int) (value int64, next int, err error) {
	var before byte
	for group := range groupLimit {
		if at+group == len(counts) {
			return 0, 0, fmt.Errorf("%w: the number at byte %d is cut off at the end", ErrCounts, at)
		}
		bits := counts[at+group] - groupBase
		if bits >= 2*groupMore {
			return 0, 0, fmt.Errorf("%w: byte %d is %q, not between '0' and 'o'", ErrCounts, at+group, counts[at+group])
		}
		value |= int64(bits&groupMask) << (groupBits * group)
		if bits&groupMore != 0 {
			before = bits
			continue
		}
		// The one group too many of a number that could be written shorter: all sign, and the sign was known before.
		if group > 0 && (bits == 0 && before&groupSign == 0 || bits == groupMask && before&groupSign != 0) {
			return 0, 0, fmt.Errorf("%w: the number at byte %d is longer than it need be", ErrCounts, at)
		}
		if bits&groupSign != 0 {
			value -= 1 << (groupBits * (group + 1))
		}
		return value, at + group + 1, nil
	}
	return 0, 0, fmt.Errorf("%w: the number at byte %d has more than %d groups", ErrCounts, at, groupLimit)
}

// Counts is the compressed string, byte by byte what pycocotools writes for the same runs.
func (m Mask) Counts() string {
	return string(m.AppendCounts(make([]byte, 0, 2*len(m.Runs)+groupLimit)))
}

// AppendCounts appends the compressed string to dst.
func (m Mask) AppendCounts(dst []byte) []byte {
	for i, run := range m.Runs {
		value := int64(run)
		if i > 2 {
			value -= int64(m.Runs[i-2])
		}
		for value < -groupSign || value >= groupSign {
			dst = append(dst, byte(value&groupMask|groupMore)+groupBase)
			value >>= groupBits
		}
		dst = append(dst, byte(value&groupMask)+groupBase)
	}
	return dst
}

// COCO is the mask as pycocotools reads it.
func (m Mask) COCO() COCO { return COCO{Size: [2]int{m.Height, m.Width}, Counts: m.Counts()} }

// ParseCOCO is [Parse] of a COCO object.
func ParseCOCO(c COCO) (Mask, error) { return Parse(c.Size[0], c.Size[1], c.Counts) }
