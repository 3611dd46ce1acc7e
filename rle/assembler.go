package rle

import (
	"fmt"
	"slices"
	"strings"
)

// What an [Assembler] holds at most where it was not told.
const (
	DefaultAssemblerBytes = 64 << 20
	DefaultAssemblerMasks = 64
)

// Assembler joins masks that came in parts ([EncodeBatch]). Parts may come in any order, repeatedly, and mixed with those of
// other masks; some may never come. What waits for the rest is bounded: where that is more than Bytes, or of more than Masks
// masks, the oldest are given up and counted. Not for several goroutines at once; the zero value is ready.
type Assembler struct {
	Bytes int // of counts that wait, and a little for each part; 0 for DefaultAssemblerBytes
	Masks int // that wait; 0 for DefaultAssemblerMasks

	waiting []*partial // oldest first
	bytes   int
	givenUp int64
}

// partial is a mask of which parts are missing.
type partial struct {
	key   partKey
	parts map[int]string // by index: a claimed number of parts allocates nothing
	bytes int
}

// partKey is what parts of one mask have in common and those of other masks do not.
type partKey struct {
	stream, run       string
	epoch, object, of int
	seq               int64
	height, width     int
	frame             int
	direction         Direction
}

// partBytes is what a part takes besides its string.
const partBytes = 64

// Add returns b as it is where it is no part, and the joined mask, as a batch of one, with its last missing part: true in both
// cases. Else false: b was kept, was there already, or is refused with an error that wraps [ErrPart]. What was joined is
// forgotten: a sender that repeats all its parts makes the mask a second time. The joined counts are as trustworthy as the
// sender; [Parse] judges them. Of b only strings are kept.
func (a *Assembler) Add(b Batch) (Batch, bool, error) {
	if b.Part == nil && (len(b.Masks) == 0 || b.Masks[0].CountsPart == nil) {
		return b, true, nil
	}
	index, part, err := checkPart(b)
	if err != nil {
		return Batch{}, false, err
	}
	mask := b.Masks[0]
	key := partKey{stream: b.Stream, run: b.Run, epoch: b.Epoch, object: b.Object, of: b.Part[1], seq: mask.Seq,
		height: b.Size[0], width: b.Size[1], frame: mask.Frame, direction: mask.Direction}
	set := a.find(key)
	if known, again := set.parts[index]; again {
		if known != part {
			return Batch{}, false, fmt.Errorf("%w: part %d of object %d, seq %d, came with other counts before", ErrPart, index, b.Object, mask.Seq)
		}
		return Batch{}, false, nil
	}
	set.parts[index] = part
	set.bytes += len(part) + partBytes
	a.bytes += len(part) + partBytes
	if len(set.parts) < key.of {
		a.bound()
		return Batch{}, false, nil
	}
	a.forget(slices.Index(a.waiting, set))
	counts := set.join()
	mask.Counts, mask.CountsPart = &counts, nil
	b.Part, b.Masks = nil, []BatchMask{mask}
	return b, true, nil
}

// GivenUp counts the masks of which some parts were kept and then dropped to stay within the bounds.
func (a *Assembler) GivenUp() int64 { return a.givenUp }

// checkPart returns a part's index and string.
func checkPart(b Batch) (int, string, error) {
	switch {
	case b.Part == nil:
		return 0, "", fmt.Errorf("%w: counts_part without part", ErrPart)
	case len(b.Masks) != 1:
		return 0, "", fmt.Errorf("%w: part %v has %d masks, not one", ErrPart, *b.Part, len(b.Masks))
	case b.Masks[0].CountsPart == nil || b.Masks[0].Counts != nil:
		return 0, "", fmt.Errorf("%w: part %v has counts, or no counts_part", ErrPart, *b.Part)
	case b.Part[0] < 0 || b.Part[0] >= b.Part[1]:
		return 0, "", fmt.Errorf("%w: there is no part %v", ErrPart, *b.Part)
	}
	return b.Part[0], *b.Masks[0].CountsPart, nil
}

// find returns the mask that waits under key, a new one where there is none.
func (a *Assembler) find(key partKey) *partial {
	for _, set := range a.waiting {
		if set.key == key {
			return set
		}
	}
	set := &partial{key: key, parts: make(map[int]string)}
	a.waiting = append(a.waiting, set)
	return set
}

// bound gives up the oldest until the rest is within bounds.
func (a *Assembler) bound() {
	for len(a.waiting) > orDefault(a.Masks, DefaultAssemblerMasks) || a.bytes > orDefault(a.Bytes, DefaultAssemblerBytes) {
		a.forget(0)
		a.givenUp++
	}
}

func orDefault(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

func (a *Assembler) forget(at int) {
	a.bytes -= a.waiting[at].bytes
	a.waiting = slices.Delete(a.waiting, at, at+1)
}

func (p *partial) join() string {
	var counts strings.Builder
	for i := range p.key.of {
		counts.WriteString(p.parts[i])
	}
	return counts.String()
}
