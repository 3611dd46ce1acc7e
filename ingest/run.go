package ingest

import (
	"context"
	"errors"
	"io"
	"time"

	"maskstream/frames"
)

// EventKind says what happened to a stream.
type EventKind uint8

const (
	Up       EventKind = iota // connected; Info describes the source
	Down                      // lost, or not reached; Err says why, Retry when the next attempt is
	NewEpoch                  // pictures from here on do not continue the ones before; Reason says why
)

func (k EventKind) String() string { return [...]string{"up", "down", "epoch"}[k] }

// Event is what Run tells about its stream, in order and between pictures.
type Event struct {
	Kind   EventKind
	Epoch  int // the one that pictures now have
	Info   Info
	Err    error
	Retry  time.Duration
	Reason string // "reconnect", "size", "time" or "loop"
}

// goodAfter is how long a connection has to last for the pauses to start anew.
const goodAfter = 30 * time.Second

// Run reads a source until ctx ends. A file ends it with nil, unless Options.Loop. Cameras and other network sources are
// tried for ever, with growing pauses, whatever goes wrong; only an address that can never work is an error at once.
//
// emit borrows the picture and is called for every one, with Meta complete; what it returns ends Run. notify may be nil;
// both are called by Run's goroutine. Epoch grows at a reconnect, a new size, a backward jump of time and a loop; Frame
// counts from 0 within it, and PTS grows strictly.
func Run(ctx context.Context, o Options, emit func(*frames.Picture) error, notify func(Event)) error {
	ffmpegLog.start()
	o = o.withDefaults()
	t, err := parseTarget(o)
	if err != nil {
		return err
	}
	if notify == nil {
		notify = func(Event) {}
	}
	r := &runner{options: o, emit: emit, notify: notify, pause: backoff{first: o.RetryFirst, most: o.RetryMax}}
	for {
		began := time.Now()
		info, err := r.session(ctx, t)
		var stop *stopped
		switch forever := t.kind == kindNetwork || t.kind == kindDevice; {
		case errors.As(err, &stop):
			return stop.err
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF) && !info.Live || t.kind == kindScene && errors.Is(err, io.EOF):
			if !o.Loop {
				return nil
			}
			r.numbering.Begin("loop")
			continue
		case !forever:
			return err
		}
		if time.Since(began) >= goodAfter && r.numbering.frame > 0 {
			r.pause.reset()
		}
		wait := r.pause.next()
		r.numbering.Begin("reconnect")
		if errors.Is(err, io.EOF) {
			err = &Error{Op: "reading", Source: t.shown, Kind: ErrUnreachable, Detail: "the source ended the stream"}
		}
		notify(Event{Kind: Down, Epoch: r.numbering.epoch, Err: err, Retry: wait})
		t.wait(ctx, wait)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// stopped carries what emit returned past the errors of the source.
type stopped struct{ err error }

func (s *stopped) Error() string { return s.err.Error() }

// runner is the state that outlives a connection.
type runner struct {
	options Options
	emit    func(*frames.Picture) error
	notify  func(Event)
	pause   backoff

	numbering Numbering
	rtp       rtpClock
}

// session is one connection, from Open to its end.
func (r *runner) session(ctx context.Context, t *target) (Info, error) {
	reader, err := openTarget(ctx, r.options, t)
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = reader.Close() }()
	info := reader.Info()
	refused := int64(0)
	r.notify(Event{Kind: Up, Epoch: r.numbering.epoch, Info: info})
	for {
		p, err := reader.Next(ctx)
		errs := reader.Stats().DecodeErrors
		r.options.Counters.DecodeErrors.Add(errs - refused)
		refused = errs
		if err != nil {
			return info, err
		}
		if r.numbering.Number(p) {
			r.notify(Event{Kind: NewEpoch, Epoch: p.Meta.Epoch, Reason: p.Meta.Began})
		}
		p.Meta.RTP = r.rtp.stamp(p.Meta.PTS, p.Meta.Received, p.Meta.Frame == 0)
		r.options.Counters.TimestampJumps.Store(r.numbering.Jumps())
		err = r.emit(p)
		p.Release()
		if err != nil {
			return info, &stopped{err}
		}
	}
}
