package ingest

import "time"

// rtpClock stamps pictures at 90 kHz, as the preview track counts: by their own times within an epoch, and on from where it was, by
// as much as went by here, where a new epoch starts those times anew. A viewer's clock never goes back.
type rtpClock struct {
	base, last uint32
	lastAt     time.Time // received
}

// smallestEpochStep is between pictures of two epochs, at least: 1/25 s.
const smallestEpochStep = 3600

func (c *rtpClock) stamp(pts time.Duration, received time.Time, newEpoch bool) uint32 {
	stamp := c.base + rtpTime(pts)
	if newEpoch && !c.lastAt.IsZero() {
		next := c.last + max(smallestEpochStep, rtpTime(received.Sub(c.lastAt)))
		c.base += next - stamp
		stamp = next
	}
	c.last, c.lastAt = stamp, received
	return stamp
}
