package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"maskstream/frames"
	"maskstream/memory"
	"maskstream/propagate"
	"maskstream/rle"
)

// track is the state of the track goroutine.
type track struct {
	stream  *Stream
	tracker *propagate.Tracker

	latest *frames.Frame // one reference; nil before the first
	index  int           // of the next frame
	next   int           // smallest id above every one used
	used   map[int]bool  // ids that were ever given: none is used for a second object
}

func (t *track) close() {
	t.tracker.Close()
	t.latest.Release()
}

// frame tracks one frame and takes ownership of it.
func (t *track) frame(ctx context.Context, frame *frames.Frame) error {
	frame.Index = t.index
	t.index++
	t.latest.Release()
	t.latest = frame
	if frame.Index == 0 {
		t.start()
	}
	started := time.Now()
	result := &propagate.Result{Frame: frame.Index, Pass: memory.Forward}
	if len(t.tracker.Objects()) > 0 {
		var err error
		if result, err = t.tracker.Step(frame, memory.Forward); err != nil {
			return err
		}
	}
	t.stream.meter.took(Infer, started)
	return t.stream.results.Put(ctx, work{result: result, picture: frame.Picture.Retain()})
}

// start sets the configured prompts. One that makes no sense is reported and left out: the stream goes on without it.
func (t *track) start() {
	for i, p := range t.stream.config.Prompts {
		result, err := t.prompt(p)
		if err != nil {
			t.stream.config.Log.Error("a configured prompt was refused", "stream", t.stream.config.Name, "prompt", i, "error", err)
			continue
		}
		result.Release()
	}
}

// prompt points at an object on the latest frame; the caller releases the result.
func (t *track) prompt(p Prompt) (*propagate.Result, error) {
	if t.latest == nil {
		return nil, ErrNoPicture
	}
	id := t.next
	if p.Object != nil {
		id = *p.Object
	} else if id == 0 {
		id = 1 // people count from one
	}
	known := false
	for _, o := range t.tracker.Objects() {
		known = known || o == id
	}
	if t.used[id] && !known {
		return nil, fmt.Errorf("object %d: %w", id, ErrIDUsed)
	}
	if id > propagate.MaxObjectID {
		return nil, ErrIDsSpent
	}
	p.Width, p.Height = t.latest.Picture.DisplaySize()
	result, err := t.tracker.Prompt(t.latest, id, p.Prompt)
	if err != nil {
		return nil, err
	}
	// Another object whose prompts were all cleared does not concern this one.
	if err := t.tracker.Commit(); err != nil && !errors.Is(err, propagate.ErrUnprompted) {
		result.Release()
		return nil, err
	}
	t.used[id] = true
	t.next = max(t.next, id+1)
	return result, nil
}

// answer publishes a result about the latest frame and hands it to whoever waits.
func (t *track) answer(ctx context.Context, result *propagate.Result, reply chan<- *rle.Frame) error {
	return t.stream.results.Put(ctx, work{result: result, picture: t.latest.Picture.Retain(), answer: reply})
}

var (
	// ErrNoPicture says that no frame has come yet.
	ErrNoPicture = errors.New("the stream has no picture yet")
	// ErrFramePast says that a prompt names a frame that cannot be prompted any more.
	ErrFramePast = errors.New("the frame has gone by")
	// ErrIDUsed says that an id belonged to an object that was removed.
	ErrIDUsed = errors.New("the id was used by an object that has been removed, and ids are never reused")
	// ErrIDsSpent says that the largest id has been given.
	ErrIDsSpent = errors.New("no free object id is left")
	// ErrEnded says that the stream does not run any more.
	ErrEnded = errors.New("the stream has ended")
)
