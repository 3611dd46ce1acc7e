package clip

import (
	"context"
	"time"
)

// Seeker is a Reader that can go elsewhere: to a picture at or before pts, more or less exactly.
type Seeker interface {
	Seek(ctx context.Context, pts time.Duration) error
}

// Where a seek ends up is only known by what comes then.
const (
	seekTries  = 4  // each further back
	seekPasses = 64 // pictures that are not as they were, because what they refer to was not decoded
)

// seek brings the reader to picture target or one before it, and says whether it did. Every picture is held to how it was the
// first time: a container, or a stream whose pictures refer to others across a key frame, may lead elsewhere.
func (c *Clip) seek(ctx context.Context, target int) (bool, error) {
	seeker, can := c.reader.(Seeker)
	if !can || c.journal == nil || !c.journal.ordered || c.inexact || target >= len(c.journal.entries) {
		return false, nil
	}
	at := c.journal.entries[target].source
	for try := range seekTries {
		if err := seeker.Seek(ctx, at); err != nil {
			break
		}
		landed, err := c.land(ctx, target)
		if landed || err != nil {
			return landed, err
		}
		if at -= time.Second << (2 * try); at < 0 { // then reading from the start is as good
			break
		}
	}
	c.inexact = true
	return false, ctx.Err()
}

// land reads until a picture is known, and keeps it for read to take. It is not landed behind the target.
func (c *Clip) land(ctx context.Context, target int) (bool, error) {
	for range seekPasses {
		picture, err := c.reader.Next(ctx)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil {
			return false, nil // then it is read from the start, where the error is met again if it is one
		}
		if n, found := c.journal.find(picture); found && n <= target {
			c.landed, c.next, c.sought = picture, n, true
			return true, nil
		}
		after := picture.Meta.PTS > c.journal.entries[target].source
		picture.Release()
		if after {
			return false, nil
		}
	}
	return false, nil
}
