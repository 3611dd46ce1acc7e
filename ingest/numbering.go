package ingest

import (
	"sync/atomic"
	"time"

	"maskstream/frames"
)

// Jumps of a stream's time.
const (
	backwardJump = time.Second      // a larger step back is a new epoch, a smaller one is smoothed
	forwardJump  = 10 * time.Second // a larger step forward is counted; what follows still continues what went before
	smallestStep = time.Millisecond
)

// Numbering gives pictures their epochs, their frames within these, and times that grow within an epoch. The zero value is
// ready; it belongs to one goroutine.
type Numbering struct {
	epoch, frame  int
	began, next   string // why this epoch and the one to come began
	width, height int
	said, last    time.Duration // PTS of the last picture: the source's, and ours
	jumps         int64
}

// Begin makes the next picture the first of an epoch, where there was one before; reason says why.
func (n *Numbering) Begin(reason string) { n.next = reason }

// Jumps counts steps of time backward, and forward by more than ten seconds, within a connection.
func (n *Numbering) Jumps() int64 { return n.jumps }

// Number completes the picture's Meta. began says that it is the first of an epoch other than the first.
func (n *Numbering) Number(p *frames.Picture) (began bool) {
	w, h := p.DisplaySize()
	begun, step, back := n.frame > 0, p.Meta.PTS-n.said, n.last-p.Meta.PTS
	if begun && n.next == "" {
		if step < 0 || step > forwardJump {
			n.jumps++
		}
		switch {
		case w != n.width || h != n.height:
			n.next = "size"
		case back > backwardJump:
			n.next = "time"
		}
	}
	if began = n.next != "" && begun; began { // an epoch without a picture is not used up
		n.epoch++
		n.frame, n.began = 0, n.next
	}
	n.next, n.said = "", p.Meta.PTS
	if n.frame > 0 && p.Meta.PTS <= n.last {
		p.Meta.PTS = n.last + smallestStep
		p.Meta.RTP = rtpTime(p.Meta.PTS)
	}
	p.Meta.Epoch, p.Meta.Began, p.Meta.Frame = n.epoch, n.began, n.frame
	n.frame++
	n.width, n.height, n.last = w, h, p.Meta.PTS
	return began
}

// Counters count what is wrong with a stream, over all its connections. Safe for concurrent use.
type Counters struct{ DecodeErrors, TimestampJumps atomic.Int64 }
