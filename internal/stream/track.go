package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"maskstream/frames"
	"maskstream/memory"
	"maskstream/propagate"
	"maskstream/rle"
	"maskstream/tensor"
)

// track is the state of the track goroutine.
type track struct {
	stream  *Stream
	tracker *propagate.Tracker
	store   *frames.Store // of the past; nil where the stream keeps none
	scratch *tensor.Pool  // of what is found on a picture

	latest *frames.Frame // one reference; nil before the first
	index  int           // of the next frame
	given  ids           // that were ever given: none is used for a second object

	behind map[int]*follower // objects that catch up, by id
	back   *reverse          // the reverse pass; nil where there is none
	pace   pace              // between frames and the past

	told      bool      // that the network answered what is no number
	looking   bool      // back, at frames for which the history makes no room
	searching bool      // for objects, see breathe
	breath    time.Time // when the search got the network
	failed    error     // of a frame that came during a search
}

func (s *Stream) newTrack() *track {
	options := s.config.Tracking
	options.Retention = memory.Live(options.Policy(s.config.Network.Config()), s.config.History)
	t := &track{stream: s, store: s.store, scratch: tensor.NewPool("discovery", tensor.Host(), 0), behind: map[int]*follower{}}
	options.MakeRoom = t.shed
	options.NotFinite = func(frame int) {
		if !t.told {
			s.config.Log.Warn("the network answered what is no number, and the objects in question count as absent; more may follow: is the model damaged?", "tracked_frame", frame)
		}
		t.told = true
	}
	t.tracker = propagate.New(s.config.Network, options)
	return t
}

func (t *track) close() {
	if t.back != nil {
		t.back.close()
	}
	t.tracker.Close()
	t.latest.Release()
	if t.store != nil {
		t.store.Clear()
	}
}

// run takes commands between frames, and frames one by one. What is left of the time goes to the past, and where nothing is left, its
// share: see pace.
func (t *track) run(ctx context.Context) error {
	s := t.stream
	for ctx.Err() == nil {
		select { // commands go first: somebody waits for the answer
		case command := <-s.commands:
			command(ctx, t)
			continue
		default:
		}
		if t.failed != nil {
			return fmt.Errorf("stream %s: %w", s.config.Name, t.failed)
		}
		ready := s.frames.Ready()
		ended, started := false, s.now()
		catchingUp := len(t.behind) > 0
		due := t.pace.due(catchingUp, t.back != nil)
		if !due {
			frame, ok, closed := s.frames.TryTake()
			if ok {
				if err := t.frame(ctx, frame); err != nil {
					return fmt.Errorf("stream %s: %w", s.config.Name, err)
				}
				t.pace.frame(s.now().Sub(started))
				continue
			}
			ended = closed
		}
		worked, err := t.past(ctx)
		if err != nil {
			return fmt.Errorf("stream %s: %w", s.config.Name, err)
		}
		if worked {
			t.pace.past(s.now().Sub(started), due, catchingUp)
			continue
		}
		t.pace.idle()
		if ended {
			return nil
		}
		select {
		case <-ctx.Done():
		case command := <-s.commands:
			command(ctx, t)
		case <-ready:
		}
	}
	return ctx.Err()
}

// frame tracks one frame and takes ownership of it.
func (t *track) frame(ctx context.Context, frame *frames.Frame) error {
	frame.Index = t.index
	t.index++
	t.latest.Release()
	t.latest = frame
	t.keep(frame)
	if frame.Index == 0 {
		t.start(ctx)
	}
	started := time.Now()
	result := &propagate.Result{Frame: frame.Index, Pass: memory.Forward}
	if ids := t.live(); len(ids) > 0 {
		var err error
		if result, err = t.tracker.StepOnly(frame, memory.Forward, ids); err != nil {
			return t.stream.leaveOut(ctx, err)
		}
	}
	t.stream.meter.took(Infer, started)
	if err := t.stream.fed(ctx); err != nil {
		result.Release()
		return err
	}
	return t.stream.results.Put(ctx, work{result: result, picture: frame.Picture.Retain()})
}

// keep files the frame in the history, in place of its oldest where there is no other room. One that finds none all the same is left out and
// counted: the live track needs none of it.
func (t *track) keep(frame *frames.Frame) {
	if t.store == nil {
		return
	}
	t.looking = t.back != nil // a reverse pass holds the oldest frames: to let go of them would give no room
	defer func() { t.looking = false }()
	if err := t.tracker.InRoom(func() error { return t.store.Add(frame) }); err != nil {
		if t.stream.meter.notKept() {
			t.stream.config.Log.Warn("a frame is not kept for the past, and more may follow", "error", err)
		}
	}
}

// shed lets go of the oldest frame of the history where memories cannot make room any more: what comes now goes before what has gone by.
// It returns nil where that gave room in the pool that err says is full, else err.
func (t *track) shed(err error) error {
	var full *tensor.Exhausted
	if t.store == nil || t.looking || !errors.As(err, &full) || full.Want > full.Budget {
		return err
	}
	before := full.Pool.Stats().LiveBytes
	if t.store.DropOldest(); full.Pool.Stats().LiveBytes >= before {
		return err
	}
	return nil
}

// inRoom looks back at a frame, for which memories make room where there is none.
func (t *track) inRoom(look func() (*frames.Frame, error)) (frame *frames.Frame, err error) {
	t.looking = true
	defer func() { t.looking = false }()
	err = t.tracker.InRoom(func() error { frame, err = look(); return err })
	return frame, err
}

// start sets the configured prompts. One that makes no sense is reported and left out: the stream goes on without it.
func (t *track) start(ctx context.Context) {
	if auto := t.stream.config.Auto; auto != nil {
		if result, err := t.discover(ctx, ctx, t.latest, *auto, func() error { return nil }); err != nil {
			t.stream.config.Log.Error("no objects were found on the first frame", "error", err)
		} else {
			result.Release()
		}
	}
	for i, p := range t.stream.config.Prompts {
		p.Width, p.Height = t.latest.Picture.DisplaySize()
		err := p.Inside()
		var result *propagate.Result
		if err == nil {
			result, err = t.prompt(t.latest, p)
		}
		if err != nil {
			t.stream.config.Log.Error("a configured prompt was refused", "prompt", i, "error", err)
			continue
		}
		result.Release()
	}
}

// prompt points at an object on a frame; the caller releases the result.
func (t *track) prompt(frame *frames.Frame, p Prompt) (*propagate.Result, error) {
	var id int
	if p.Object != nil {
		id = *p.Object
	} else if free, ok := t.given.next(); ok {
		id = free
	} else {
		return nil, ErrIDsSpent
	}
	known := slices.Contains(t.tracker.Objects(), id)
	if t.given.has(id) && !known {
		return nil, fmt.Errorf("object %d: %w", id, ErrIDUsed)
	}
	if !known {
		if err := t.admit(1); err != nil {
			return nil, err
		}
	}
	p.Width, p.Height = frame.Picture.DisplaySize()
	result, err := t.tracker.Prompt(frame, id, p.Prompt)
	if err != nil {
		return nil, err
	}
	// Another object whose prompts were all cleared does not concern this one.
	if err := t.tracker.Commit(); err != nil && !errors.Is(err, propagate.ErrUnprompted) {
		result.Release()
		if !known {
			t.tracker.Remove(id)
		}
		return nil, err
	}
	t.given.add(id)
	t.follow(id, frame.Index, !known)
	return result, nil
}

// admit refuses so many further objects where they would be more than are tracked at once: every frame would take longer, and whoever
// prompts would wait for it.
func (t *track) admit(more int) error {
	tracked, most := len(t.tracker.Objects()), t.stream.config.MaxObjects
	if most > 0 && tracked+more > most {
		return fmt.Errorf("%w: %d are tracked, and with %d more it would be over max_objects, which is %d; remove some, or raise max_objects", ErrTooMany, tracked, more, most)
	}
	return nil
}

// answer publishes a result about a frame and hands it to whoever waits.
func (t *track) answer(ctx context.Context, frame *frames.Frame, result *propagate.Result, reply chan<- *rle.Frame) error {
	past := frame.Index < t.latest.Index
	result.Objects = slices.DeleteFunc(result.Objects, func(o propagate.Object) bool {
		f := t.behind[o.ID]
		return o.Logits == nil && (past || f != nil && f.fresh) // it was not there yet
	})
	return t.stream.results.Put(ctx, work{result: result, picture: frame.Picture.Retain(), past: past, answer: reply})
}

var (
	// ErrNoPicture says that no frame has come yet.
	ErrNoPicture = errors.New("the stream has no picture yet")
	// ErrIDUsed says that an id belonged to an object that was removed.
	ErrIDUsed = errors.New("the id was used by an object that has been removed, and ids are never reused")
	// ErrIDsSpent says that the largest id has been given.
	ErrIDsSpent = errors.New("no free object id is left")
	// ErrTooMany says that no more objects are tracked at once.
	ErrTooMany = errors.New("too many objects")
	// ErrEnded says that the stream does not run any more.
	ErrEnded = errors.New("the stream has ended")
)
