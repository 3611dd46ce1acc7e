// Package clip is random access to the frames of a recording that can only be read forwards: it keeps the frames around the
// one last asked for within a budget of bytes, reads on where a later one is wanted, and where an earlier one is, goes back to a
// key frame before it, or where the recording does not allow that, to its start. A pass in either direction over a recording of
// any length stays within the budget.
package clip

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"maskstream/frames"
	"maskstream/propagate"
)

// Reader reads pictures in order; io.EOF follows the last one. The caller owns what Next returns.
type Reader interface {
	Next(ctx context.Context) (*frames.Picture, error)
	Close() error
}

// Clip implements propagate.Clip. It belongs to one goroutine.
type Clip struct {
	open    func(context.Context) (Reader, error)
	convert func(*frames.Picture) (*frames.Frame, error) // borrows the picture
	every   int
	limit   int // processed frames at most, 0 is all
	budget  int64
	room    func(error) error // Options.MakeRoom

	numbering func() func(*frames.Picture)
	number    func(*frames.Picture)

	reader  Reader
	next    int             // number of the picture that the reader gives next
	wanted  int             // number of the frame asked for last
	landed  *frames.Picture // that picture, where a seek has read it already
	sought  bool            // the reader was not opened anew since: its pictures have to be those seen before
	inexact bool            // seeking was tried, and led elsewhere
	journal *journal        // nil where no budget says that the clip goes back
	size    int64
	kept    map[int]*frames.Frame
}

// Options of a clip.
type Options struct {
	Every  int   // process every n-th picture, 1 is each
	Limit  int   // end after so many processed frames, 0 is never
	Budget int64 // bytes of frames kept; the frame last asked for is kept in any case
	// MakeRoom is asked for room with the error of a spent pool, and answers nil where there is some now; nil for the clip's own.
	MakeRoom func(error) error
	// Number makes what gives the pictures, in order from the first, their epoch and frame within it; nil leaves them as they are.
	Number func() func(*frames.Picture)
}

// New returns a clip over what open reads. open is called again whenever an earlier frame is wanted than the reader can give.
func New(open func(context.Context) (Reader, error), convert func(*frames.Picture) (*frames.Frame, error), o Options) *Clip {
	c := &Clip{open: open, convert: convert, every: max(1, o.Every), limit: o.Limit, budget: o.Budget, room: o.MakeRoom, numbering: o.Number, kept: map[int]*frames.Frame{}}
	if c.numbering == nil {
		c.numbering = func() func(*frames.Picture) { return func(*frames.Picture) {} }
	}
	if c.room == nil {
		c.room = c.MakeRoom
	}
	if o.Budget > 0 {
		c.journal = newJournal()
	}
	c.number = c.numbering()
	return c
}

// Every is the distance between processed frames.
func (c *Clip) Every() int { return c.every }

// Frame returns a frame with one reference for the caller. It wraps propagate.ErrPastEnd behind the last one.
func (c *Clip) Frame(ctx context.Context, number int) (*frames.Frame, error) {
	if c.limit > 0 && number/c.every >= c.limit {
		return nil, propagate.ErrPastEnd
	}
	c.wanted = number
	if f, ok := c.kept[number]; ok {
		return f.Retain(), nil
	}
	if c.reader == nil || number < c.next {
		if err := c.back(ctx, number); err != nil {
			return nil, err
		}
	}
	for c.next <= number {
		if err := c.read(ctx); err != nil {
			return nil, err
		}
	}
	return c.kept[number].Retain(), nil
}

// Close releases what is kept and closes the reader.
func (c *Clip) Close() error {
	c.forget(-1, 0)
	c.letGo()
	if c.reader == nil {
		return nil
	}
	err := c.reader.Close()
	c.reader = nil
	return err
}

// back makes the reader ready for a picture before the next one, and as many before that as are kept. Later frames make room
// for them: the way leads back.
func (c *Clip) back(ctx context.Context, number int) error {
	c.letGo()
	for later, frame := range c.kept {
		if later > number {
			frame.Release()
			delete(c.kept, later)
		}
	}
	if c.reader != nil {
		found, err := c.seek(ctx, max(0, number-c.every*max(0, c.capacity()-1)))
		if found || err != nil {
			return err
		}
	}
	return c.rewind(ctx)
}

// letGo lets go of the picture that a seek has read.
func (c *Clip) letGo() {
	c.landed.Release()
	c.landed = nil
}

func (c *Clip) rewind(ctx context.Context) error {
	c.letGo()
	if c.reader != nil {
		if err := c.reader.Close(); err != nil {
			return err
		}
		c.reader = nil
	}
	reader, err := c.open(ctx)
	if err != nil {
		return fmt.Errorf("opening the recording again for an earlier frame: %w", err)
	}
	c.reader, c.next, c.sought = reader, 0, false
	if c.journal == nil {
		c.number = c.numbering()
	}
	return nil
}

// read takes the next picture and keeps it where it can be wanted on the way to, or back from, the wanted one.
func (c *Clip) read(ctx context.Context) error {
	picture, err := c.take(ctx)
	known := c.journal != nil && c.next < len(c.journal.entries)
	if c.sought && known && ctx.Err() == nil && (err != nil || !c.journal.is(picture, c.next)) {
		if err == nil {
			picture.Release()
		}
		c.inexact = true
		return c.rewind(ctx)
	}
	if errors.Is(err, io.EOF) {
		return propagate.ErrPastEnd
	}
	if err != nil {
		return err
	}
	defer picture.Release()
	switch {
	case known:
		c.journal.number(picture, c.next)
	case c.journal != nil:
		c.journal.see(picture, c.number)
	default:
		c.number(picture)
	}
	number := c.next
	c.next++
	if number%c.every != 0 || c.kept[number] != nil || c.size > 0 && number < c.wanted-c.every*c.capacity() {
		return nil
	}
	frame, err := c.convertInRoom(picture)
	if err != nil {
		return err
	}
	c.size = bytesOf(frame)
	c.kept[number] = frame
	c.forget(c.wanted, max(1, c.capacity()))
	return nil
}

// take is the next picture, which is the caller's.
func (c *Clip) take(ctx context.Context) (*frames.Picture, error) {
	if picture := c.landed; picture != nil {
		c.landed = nil
		return picture, nil
	}
	return c.reader.Next(ctx)
}

// capacity is how many frames of the size seen last the budget holds.
func (c *Clip) capacity() int {
	if c.size == 0 {
		return 0
	}
	return int(c.budget / c.size)
}

// forget releases frames until n are left, those farthest from around first, later ones before earlier ones.
func (c *Clip) forget(around, n int) {
	if len(c.kept) <= n {
		return
	}
	numbers := slices.SortedFunc(maps.Keys(c.kept), func(a, b int) int { return cmp.Or(distance(b, around)-distance(a, around), b-a) })
	for _, number := range numbers[:len(numbers)-n] {
		c.kept[number].Release()
		delete(c.kept, number)
	}
}

func distance(a, b int) int { return max(a-b, b-a) }

func bytesOf(f *frames.Frame) int64 {
	size := int64(len(f.Pixels.Bytes()))
	for _, plane := range f.Picture.Planes {
		size += int64(len(plane))
	}
	return size
}
