package rtc

import "time"

// after says whether the RTP time stamp a is later than b, also where the clock has gone round in between.
func after(a, b uint32) bool { return int32(a-b) > 0 }

// The bounds of how long a picture waits for its masks.
const (
	leastHold = 700 * time.Millisecond
	mostHold  = 10 * time.Second
	mostHeld  = 512 // pictures
)

// hold keeps a viewer's pictures until their masks have gone ahead of them. A picture whose masks do not come goes without: after
// twice the time that masks took of late, within bounds.
type hold struct {
	pictures []*picture
	masked   uint32 // stamp of the newest masks
	started  bool   // there were masks
	lag      time.Duration
}

// add takes a picture; ready are those that may go now.
func (h *hold) add(p *picture) (ready []*picture) {
	if h.started && !after(p.rtp, h.masked) {
		return append(h.all(), p)
	}
	h.pictures = append(h.pictures, p)
	if len(h.pictures) > mostHeld {
		return h.take(1)
	}
	return nil
}

// masks says that the masks of a time have gone; ready are the pictures up to it. Those that were left out between two masks are among
// them: the ones after them may be made of them.
func (h *hold) masks(rtp uint32, now time.Time) (ready []*picture) {
	if h.started && !after(rtp, h.masked) {
		return nil // about a picture that has gone by
	}
	h.started, h.masked = true, rtp
	n := 0
	for n < len(h.pictures) && !after(h.pictures[n].rtp, rtp) {
		n++
	}
	if n > 0 {
		h.lag = max(now.Sub(h.pictures[n-1].came), h.lag*15/16)
	}
	return h.take(n)
}

func (h *hold) limit() time.Duration { return min(max(2*h.lag, leastHold), mostHold) }

// overdue are the pictures that have waited too long.
func (h *hold) overdue(now time.Time) []*picture {
	n := 0
	for n < len(h.pictures) && now.Sub(h.pictures[n].came) >= h.limit() {
		n++
	}
	return h.take(n)
}

// due is when the oldest picture will have waited too long; zero where none waits.
func (h *hold) due() time.Time {
	if len(h.pictures) == 0 {
		return time.Time{}
	}
	return h.pictures[0].came.Add(h.limit())
}

func (h *hold) take(n int) []*picture {
	ready := h.pictures[:n:n]
	h.pictures = h.pictures[n:]
	return ready
}

func (h *hold) all() []*picture { return h.take(len(h.pictures)) }
