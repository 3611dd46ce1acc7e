package rle

// The bounds of a chunk.
const (
	// ChunkMasks is how many masks are made at a time: what they need meanwhile does not grow with their number.
	ChunkMasks = 32
	// SparsePairs is the mean number of boundary pairs a mask up to which the masks of a chunk leave together. A pair is a mask's
	// number and a position, 16 bytes: 256 KiB a mask.
	SparsePairs = 16384
)

// Sparse says whether so many masks with so many boundary pairs in all leave in one piece: more than one mask, and no more than
// SparsePairs a mask on average. One mask alone, or a dense batch, leaves mask by mask.
func Sparse(masks, pairs int) bool { return masks > 1 && pairs <= masks*SparsePairs }

// Chunks encodes any number of logit maps of one size, in chunks of ChunkMasks: the borders of a chunk's masks are collected in
// one buffer, which is used again for the next chunk, and leave it as runs in one piece where [Sparse] says so. Masks, their
// runs and their order are those of [Encoder.FromLogitsAbove]. The zero value is ready and serves one goroutine at a time.
//
// Masks of one piece share memory: who keeps a few of many for long clones their runs.
type Chunks struct {
	Moved Moves // so far

	encoder Encoder
	borders []uint32 // the changes of the chunk's masks, one mask after the other
	ends    []int    // where each mask's changes end in borders
}

// Moves counts how masks have left their chunks.
type Moves struct {
	Masks  int // all
	Copies int // pieces of memory in which they left
	Sparse int // chunks that left in one piece
	Dense  int // chunks of several masks that left mask by mask
}

// Encode makes one mask a map; sizes as for [Encoder.FromLogits].
func (c *Chunks) Encode(threshold float32, maps [][]float32, lowH, lowW, height, width int) []Mask {
	masks := make([]Mask, 0, len(maps))
	for len(maps) > 0 {
		chunk := maps[:min(ChunkMasks, len(maps))]
		maps = maps[len(chunk):]
		masks = c.encode(masks, threshold, chunk, lowH, lowW, height, width)
	}
	return masks
}

// encode appends the masks of one chunk. As soon as it cannot be sparse any more, what has been collected leaves, and the rest
// leaves as it comes, so that the buffer has a bound.
func (c *Chunks) encode(masks []Mask, threshold float32, chunk [][]float32, lowH, lowW, height, width int) []Mask {
	c.borders, c.ends = c.borders[:0], c.ends[:0]
	total := uint32(height * width)
	pairs, sparse := 0, len(chunk) > 1
	for _, logits := range chunk {
		c.encoder.trace(threshold, logits, lowH, lowW, height, width)
		pairs += c.encoder.changes.pairs(total)
		c.borders = append(c.borders, c.encoder.changes...)
		c.ends = append(c.ends, len(c.borders))
		if sparse = sparse && Sparse(len(chunk), pairs); !sparse {
			masks = c.leave(masks, nil, height, width)
		}
	}
	c.Moved.Masks += len(chunk)
	switch {
	case sparse:
		c.Moved.Sparse++
		c.Moved.Copies++
		masks = c.leave(masks, make([]uint32, len(c.borders)+len(c.ends)), height, width)
	case len(chunk) > 1:
		c.Moved.Dense++
	}
	return masks
}

// leave turns the collected borders into masks: their runs lie in piece, or in memory of their own each where that is nil.
func (c *Chunks) leave(masks []Mask, piece []uint32, height, width int) []Mask {
	total, from := uint32(height*width), 0
	for _, end := range c.ends {
		changes := border(c.borders[from:end])
		from = end
		var runs []uint32
		if piece != nil {
			n := changes.count(total)
			runs, piece = piece[:n:n], piece[n:]
			changes.put(runs, total)
		} else {
			runs = changes.runs(total)
			c.Moved.Copies++
		}
		masks = append(masks, Mask{Height: height, Width: width, Runs: runs})
	}
	c.borders, c.ends = c.borders[:0], c.ends[:0]
	return masks
}
