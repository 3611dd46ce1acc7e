package ingest

import "time"

// rtpClock stamps pictures at 90 kHz, as the preview track counts: as far apart as their own times are. Where a new epoch starts those
// times anew, the clock goes on by as much as went by here; and it does not run ahead of the time here, as the times of a file do that
// is tracked faster than it plays: a viewer would wait for them. So a viewer's clock never goes back, and goes as it can follow.
type rtpClock struct {
	base  uint32
	last  uint32
	at    time.Time     // when the last picture was received
	ahead time.Duration // of the time here, since the first picture
}

const (
	smallestEpochStep = 40 * time.Millisecond  // between pictures of two epochs
	mostAhead         = 500 * time.Millisecond // as much comes at once when a camera is connected
	mostBehind        = 5 * time.Second        // what a network held up may be made up for
)

func (c *rtpClock) stamp(pts time.Duration, received time.Time, newEpoch bool) uint32 {
	stamp := c.base + rtpTime(pts)
	if !c.at.IsZero() {
		passed := received.Sub(c.at)
		step := time.Duration(int32(stamp-c.last)) * time.Second / 90_000
		if newEpoch {
			step = max(smallestEpochStep, passed)
		}
		c.ahead = max(-mostBehind, c.ahead+step-passed)
		tooFast := c.ahead > mostAhead
		if tooFast {
			step = max(step-(c.ahead-mostAhead), smallestStep)
			c.ahead = mostAhead
		}
		if newEpoch || tooFast {
			next := c.last + rtpTime(step)
			c.base += next - stamp
			stamp = next
		}
	}
	c.last, c.at = stamp, received
	return stamp
}
