package propagate

import (
	"context"
	"errors"
	"fmt"

	"maskstream/frames"
	"maskstream/memory"
	"maskstream/rle"
	"maskstream/tensor"
)

// ErrPastEnd is what a Clip says of a frame behind its last one.
var ErrPastEnd = errors.New("the clip has no such frame")

// Clip is random access to the frames of a recording, numbered as the source's pictures.
type Clip interface {
	// Frame returns a frame with one reference for the caller; it wraps ErrPastEnd behind the last frame. Frames are asked for
	// in ascending or descending order most of the time.
	Frame(ctx context.Context, number int) (*frames.Frame, error)
	// Every is the distance between processed frames: only multiples of it are asked for.
	Every() int
}

// Session runs a script over a clip. It belongs to one goroutine.
type Session struct {
	tracker *Tracker
	clip    Clip
	script  *Script
}

// Outcome is what one step says about one frame, or that an object was removed. Result and Frame are borrowed until the report
// returns.
type Outcome struct {
	Step    int
	Result  *Result       // nil for a removal
	Frame   *frames.Frame // nil for a removal
	Removed *rle.Removed  // nil but for a removal
}

// NewSession borrows all three.
func NewSession(tracker *Tracker, clip Clip, script *Script) *Session {
	return &Session{tracker: tracker, clip: clip, script: script}
}

// Retention is what a script's steps may use of what was tracked: everything, but for a single forward pass at its end.
func (s *Script) Retention(policy memory.Policy) memory.Retention {
	if s.LooksBack() {
		return memory.Everything
	}
	return memory.OnePass(policy)
}

// TrackerOptions are the options that a script asks for, but for Retention, which keeps everything; state is the home of
// memories and logits, nil for the network's own.
func (s *Script) TrackerOptions(state *tensor.Pool, trace func(Trace)) Options {
	return Options{FillHoleArea: s.Options.FillHoleArea, CorrectAsConditioning: s.Options.CorrectAsConditioning,
		ClearAroundInput: s.Options.ClearAroundInput, MaxConditioning: &s.Options.MaxConditioning,
		Retention: memory.Everything, State: state, Trace: trace}
}

// Run performs the steps and reports every frame in the reference's order. It ends with the first error, which names the step.
func (s *Session) Run(ctx context.Context, report func(Outcome) error) error {
	if err := s.script.Validate(); err != nil {
		return err
	}
	for i, op := range s.script.Steps {
		if err := s.step(ctx, i, op, report); err != nil {
			return fmt.Errorf("step %d (%s): %w", i, op.Verb, err)
		}
	}
	return nil
}

func (s *Session) step(ctx context.Context, i int, op Op, report func(Outcome) error) error {
	switch op.Verb {
	case AddPointsOrBox, AddMask:
		return s.prompt(ctx, i, op, report)
	case Propagate:
		return s.propagate(ctx, i, op, report)
	case ClearPrompts:
		number, err := s.index(*op.Frame)
		if err != nil {
			return err
		}
		return s.show(ctx, i, *op.Frame, report, func(*frames.Frame) (*Result, error) { return s.tracker.Clear(number, *op.Object) })
	case RemoveObject:
		s.tracker.Remove(*op.Object) // an unknown id is no error, as in the reference
		return report(Outcome{Step: i, Removed: &rle.Removed{V: 1, Step: i, Removed: *op.Object, Remaining: s.tracker.Objects()}})
	case ResetSession:
		s.tracker.Reset()
		return nil
	}
	return fmt.Errorf("unknown op %q", op.Verb)
}

func (s *Session) prompt(ctx context.Context, i int, op Op, report func(Outcome) error) error {
	return s.show(ctx, i, *op.Frame, report, func(f *frames.Frame) (*Result, error) {
		p, err := op.prompt(s.script.Size(f))
		if err != nil {
			return nil, err
		}
		return s.tracker.Prompt(f, *op.Object, p)
	})
}

// propagate is propagate_in_video. A reverse pass from frame 0 yields frame 0.
func (s *Session) propagate(ctx context.Context, i int, op Op, report func(Outcome) error) error {
	if err := s.tracker.Commit(); err != nil {
		return err
	}
	direction := memory.Forward
	if op.Reverse {
		direction = memory.Reverse
	}
	every := s.clip.Every()
	number := s.tracker.Conditioned()[0] * every
	if op.StartFrame != nil {
		number = *op.StartFrame
		if _, err := s.index(number); err != nil {
			return err
		}
	}
	for done := 0; number >= 0 && (op.MaxFrames == nil || done <= *op.MaxFrames); done++ {
		err := s.show(ctx, i, number, report, func(f *frames.Frame) (*Result, error) { return s.tracker.Step(f, direction) })
		if errors.Is(err, ErrPastEnd) && direction == memory.Forward && done > 0 {
			return nil
		}
		if err != nil {
			return err
		}
		number += int(direction) * every
	}
	return nil
}

// show performs one action on one frame and reports what it says.
func (s *Session) show(ctx context.Context, i, number int, report func(Outcome) error, act func(*frames.Frame) (*Result, error)) error {
	index, err := s.index(number)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	frame, err := s.clip.Frame(ctx, number)
	if err != nil {
		return fmt.Errorf("frame %d: %w", number, err)
	}
	defer frame.Release()
	frame.Index = index
	result, err := act(frame)
	if err != nil {
		return err
	}
	defer result.Release()
	return report(Outcome{Step: i, Result: result, Frame: frame})
}

// index is the number among the processed frames, in which memory counts distances.
func (s *Session) index(number int) (int, error) {
	every := s.clip.Every()
	if number%every != 0 {
		return 0, fmt.Errorf("frame %d is passed over with --every %d; name a multiple of %d, or leave --every out", number, every, every)
	}
	return number / every, nil
}

// Size is the picture size that coordinates and masks mean on a frame.
func (s *Script) Size(f *frames.Frame) (width, height int) {
	if v := s.VideoSize; v != nil {
		return v[0], v[1]
	}
	return f.Picture.DisplaySize()
}
