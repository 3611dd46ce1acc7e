package rle

import (
	"fmt"
	"math"
	"math/bits"
)

// Encoder turns low-resolution mask logits into runs at the size of the picture:
//
//	torch.nn.functional.interpolate(logits, (height, width), mode="bilinear", align_corners=False) > 0
//
// in one pass that never has a picture, neither of floats nor of bits. Between two samples above 0 every interpolated value is
// above 0, and between two at or below 0 none is: only cells whose corners disagree need a look, and the corners are sign bits,
// 64 of a column in one word. Down a column a value between two samples is monotone, so where they disagree one border lies,
// found by bisection. The work grows with the length of the outline, not with the picture.
//
// The scratch memory is reused (a bit per logit, four bytes per run, and four per logit for objects that overlap), so an Encoder serves one
// goroutine at a time. The zero value is ready. Masks it returns are the caller's.
type Encoder struct {
	rows, columns axis
	threshold     float32   // what the logits are compared with, 0 but for FromLogitsAbove
	positive      []uint64  // for each low-resolution column, words: bit y%64 of word y/64 says whether logit y is above
	signs         []uint64  // the same for the output column at hand, between two low-resolution columns
	changes       border    // of the mask at hand
	lead          []float32 // by how much one object's logits exceed another's
}

// FromLogits encodes logits, lowH rows of lowW, at height×width. They are only read. NaN counts as not above 0, and so do the
// pixels it touches. It panics where sizes are not positive, the picture has 2³² pixels or more, or logits has another length
// than lowH·lowW.
func (e *Encoder) FromLogits(logits []float32, lowH, lowW, height, width int) Mask {
	return e.FromLogitsAbove(0, logits, lowH, lowW, height, width)
}

// FromLogitsAbove is FromLogits for interpolated logits above a threshold other than 0.
func (e *Encoder) FromLogitsAbove(threshold float32, logits []float32, lowH, lowW, height, width int) Mask {
	e.trace(threshold, logits, lowH, lowW, height, width)
	return Mask{Height: height, Width: width, Runs: e.changes.runs(uint32(height * width))}
}

// AreaAbove is the area of that mask, which is not made.
func (e *Encoder) AreaAbove(threshold float32, logits []float32, lowH, lowW, height, width int) int64 {
	e.trace(threshold, logits, lowH, lowW, height, width)
	var area int64
	for i := 0; i < len(e.changes); i += 2 {
		end := int64(height) * int64(width)
		if i+1 < len(e.changes) {
			end = int64(e.changes[i+1])
		}
		area += end - int64(e.changes[i])
	}
	return area
}

// trace follows the outline: it leaves the changes of the mask in e.changes.
func (e *Encoder) trace(threshold float32, logits []float32, lowH, lowW, height, width int) {
	total := mustPixels(height, width)
	if lowH <= 0 || lowW <= 0 || total == 0 || len(logits) != lowH*lowW {
		panic(fmt.Sprintf("rle: FromLogits: %d logits as %d×%d for %d×%d pixels", len(logits), lowH, lowW, height, width))
	}
	e.threshold = threshold
	e.rows.fit(lowH, height)
	e.columns.fit(lowW, width)
	e.packSigns(logits, lowH, lowW)
	e.changes = e.changes[:0]
	words := len(e.signs)
	for cell := range lowW {
		from, to := e.columns.first[cell], e.columns.first[cell+1]
		if from == to {
			continue
		}
		right := min(cell+1, lowW-1)
		a, b := e.positive[cell*words:][:words], e.positive[right*words:][:words]
		if none(a) && none(b) {
			if e.changes.inside() {
				e.changes.flip(uint32(from * height))
			}
			continue
		}
		for x := from; x < to; x++ {
			c := column{logits: logits, stride: lowW, left: cell, right: right, near: e.columns.near[x], far: e.columns.far[x]}
			e.encodeColumn(c, a, b, uint32(x*height))
		}
	}
}

func none(words []uint64) bool {
	var any uint64
	for _, word := range words {
		any |= word
	}
	return any == 0
}

// column is an output column: where it lies between two low-resolution columns.
type column struct {
	logits      []float32
	stride      int
	left, right int
	near, far   float32
}

// at interpolates sideways, in low-resolution row y.
func (c *column) at(y int) float32 {
	row := c.logits[y*c.stride:][:c.stride]
	return between(c.near, row[c.left], c.far, row[c.right])
}

// encodeColumn adds the changes of the output column c, whose first pixel is start in column-major order. a and b are the signs
// of the low-resolution columns at its two sides.
func (e *Encoder) encodeColumn(c column, a, b []uint64, start uint32) {
	signs := e.signs
	for i := range signs {
		word := a[i] & b[i]
		for unequal := a[i] ^ b[i]; unequal != 0; unequal &= unequal - 1 {
			if y := i*64 + bits.TrailingZeros64(unequal); c.at(y) > e.threshold {
				word |= unequal & -unequal
			}
		}
		signs[i] = word
	}
	if inside := signs[0]&1 == 1; inside != e.changes.inside() {
		e.changes.flip(start)
	}
	last := e.rows.low - 1
	for i, word := range signs {
		below := word >> 1
		if i+1 < len(signs) {
			below |= signs[i+1] << 63
		}
		unequal := word ^ below // bit k: rows k and k+1 disagree
		if rest := last - i*64; rest < 64 {
			unequal &= 1<<rest - 1 // there is nothing below the last row
		}
		for ; unequal != 0; unequal &= unequal - 1 {
			y := e.crossing(c, i*64+bits.TrailingZeros64(unequal), word&unequal&-unequal != 0)
			e.changes.flip(start + uint32(y))
		}
	}
}

// crossing returns the first output row of cell k, between low-resolution rows k and k+1 that disagree, which agrees with row
// k+1; behind the cell's last where none does. above says that row k is above the threshold.
func (e *Encoder) crossing(c column, k int, above bool) int {
	low, high := e.rows.first[k], e.rows.first[k+1]
	upper, lower := c.at(k), c.at(k+1)
	for low < high {
		middle := int(uint(low+high) / 2)
		if value := between(e.rows.near[middle], upper, e.rows.far[middle], lower); value > e.threshold == above {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// packSigns fills positive: rows of signs first, 64 by 64, which are then turned into columns.
func (e *Encoder) packSigns(logits []float32, lowH, lowW int) {
	words := (lowH + 63) / 64
	e.signs = resize(e.signs, words)
	e.positive = resize(e.positive, lowW*words)
	var block [64]uint64
	for word := range words {
		rows := min(64, lowH-word*64)
		for x := 0; x < lowW; x += 64 {
			columns := min(64, lowW-x)
			var any uint64
			for y := range rows {
				from := (word*64+y)*lowW + x
				if e.threshold == 0 {
					block[y] = rowSigns(logits[from : from+columns])
				} else {
					block[y] = rowSignsAbove(e.threshold, logits[from:from+columns])
				}
				any |= block[y]
			}
			clear(block[rows:])
			if any != 0 {
				transpose(&block)
			}
			for i, signs := range block[:columns] {
				e.positive[(x+i)*words+word] = signs
			}
		}
	}
}

// rowSigns returns which of at most 64 logits are above 0, the first in the lowest bit.
func rowSigns(logits []float32) uint64 {
	var signs uint64
	i := 0
	for ; i+8 <= len(logits); i += 8 {
		v := logits[i : i+8 : i+8]
		eight := sign(v[0]) | sign(v[1])<<1 | sign(v[2])<<2 | sign(v[3])<<3 | sign(v[4])<<4 | sign(v[5])<<5 | sign(v[6])<<6 | sign(v[7])<<7
		signs |= eight << (i & 63)
	}
	for ; i < len(logits); i++ {
		signs |= sign(logits[i]) << (i & 63)
	}
	return signs
}

// rowSignsAbove is rowSigns for another threshold: a difference of floats is above 0 exactly where the first is the larger one.
func rowSignsAbove(threshold float32, logits []float32) uint64 {
	var signs uint64
	for i, v := range logits {
		signs |= sign(v-threshold) << i
	}
	return signs
}

// sign is 1 where v is above 0, else 0. The bits of such a float are 1 to those of infinity, so one less, without a sign, is
// below those of infinity: no branch, which noise would mispredict.
func sign(v float32) uint64 {
	const infinity = 0x7f800000
	return (uint64(math.Float32bits(v)-1) - infinity) >> 63
}

// transpose swaps rows and columns of a 64×64 bit matrix, by halves of halves (Warren, Hacker's Delight, 7-3).
func transpose(m *[64]uint64) {
	mask := uint64(1<<32 - 1)
	for half := 32; half != 0; half >>= 1 {
		for row := 0; row < 64; row = (row + half + 1) &^ half {
			swap := (m[row]>>half ^ m[row|half]) & mask
			m[row] ^= swap << half
			m[row|half] ^= swap
		}
		mask ^= mask << (half >> 1)
	}
}
