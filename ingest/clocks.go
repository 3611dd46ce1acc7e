package ingest

import "time"

// clock is what is known about a packet's time beside its own stamp.
type clock struct{ received, captured time.Time }

// clocks remembers the last packets by their time stamps, because a decoder gives pictures back later and in another order.
type clocks struct {
	stamps [64]int64
	values [64]clock
	n      int
}

func (c *clocks) add(stamp int64, v clock) {
	c.stamps[c.n%len(c.stamps)], c.values[c.n%len(c.values)] = stamp, v
	c.n++
}

func (c *clocks) find(stamp int64) (clock, bool) {
	for i := range min(c.n, len(c.stamps)) {
		if at := (c.n - 1 - i) % len(c.stamps); c.stamps[at] == stamp {
			return c.values[at], true
		}
	}
	return clock{}, false
}
