package ingest

import (
	"math/rand/v2"
	"time"
)

// backoff is the pauses between attempts: each 1.7 times the one before, up to a limit, and ±20 % so that cameras that went
// off together do not come back together.
type backoff struct {
	first, most time.Duration
	current     time.Duration
}

func (b *backoff) next() time.Duration {
	if b.current == 0 {
		b.current = b.first
	}
	wait := time.Duration(float64(b.current) * (0.8 + 0.4*rand.Float64()))
	b.current = min(time.Duration(float64(b.current)*1.7), b.most)
	return wait
}

func (b *backoff) reset() { b.current = 0 }
