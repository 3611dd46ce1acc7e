package clip

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"maskstream/frames"
)

// journal is what was seen of every picture when it came first, so that it can be recognised after a seek.
type journal struct {
	seed    maphash.Seed
	entries []entry
	ordered bool // times grow: a picture can be found by its own
}

type entry struct {
	source, pts  time.Duration // the time that the source gave, and the numbered one
	sum          uint64
	epoch, frame int32
	rtp          uint32
}

func newJournal() *journal { return &journal{seed: maphash.MakeSeed(), ordered: true} }

// see notes the next picture, which number gives its epoch and frame.
func (j *journal) see(p *frames.Picture, number func(*frames.Picture)) {
	e := entry{source: p.Meta.PTS, sum: p.Sum(j.seed)}
	number(p)
	e.pts, e.epoch, e.frame, e.rtp = p.Meta.PTS, int32(p.Meta.Epoch), int32(p.Meta.Frame), p.Meta.RTP
	if n := len(j.entries); n > 0 && j.entries[n-1].source >= e.source {
		j.ordered = false
	}
	j.entries = append(j.entries, e)
}

// is says whether p is picture n.
func (j *journal) is(p *frames.Picture, n int) bool {
	return n < len(j.entries) && j.entries[n].source == p.Meta.PTS && j.entries[n].sum == p.Sum(j.seed)
}

// number gives p what picture n had the first time.
func (j *journal) number(p *frames.Picture, n int) {
	e := j.entries[n]
	p.Meta.PTS, p.Meta.Epoch, p.Meta.Frame, p.Meta.RTP = e.pts, int(e.epoch), int(e.frame), e.rtp
}

// find is the number of the picture, where it was seen.
func (j *journal) find(p *frames.Picture) (n int, found bool) {
	n, found = slices.BinarySearchFunc(j.entries, p.Meta.PTS, func(e entry, at time.Duration) int { return cmp.Compare(e.source, at) })
	return n, found && j.is(p, n)
}
