package ingest

import (
	"context"
	"math/rand/v2"
	"net"
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

// knockEvery is how often a source that nobody listened at is tried for a listener during a pause. That costs next to nothing,
// and the camera is back on the screen within seconds of its own return, however long it was away.
const knockEvery = time.Second

// wait ends after a pause, or earlier where the source had nobody who listened and now has.
func (t *target) wait(ctx context.Context, pause time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	silent := t.port != "" && !t.knock(ctx)
	for {
		timer := time.NewTimer(time.Duration(float64(knockEvery) * (0.8 + 0.4*rand.Float64())))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		switch {
		case t.port == "":
		case !t.knock(ctx):
			silent = true
		case silent:
			return
		}
	}
}

// knock says whether somebody listens at the source's port.
func (t *target) knock(ctx context.Context) bool {
	connection, err := (&net.Dialer{Timeout: knockEvery}).DialContext(ctx, "tcp", net.JoinHostPort(t.host, t.port))
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}
