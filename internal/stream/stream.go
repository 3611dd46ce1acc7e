// Package stream is one camera from picture to message: goroutines joined by bounded queues.
//
//	ingest ─ queue of 4 ─ track ─ queue of 2 ─ encode ─ sink.Fanout ─ one goroutine a sink
//
// The track goroutine alone owns the tracker; prompts reach it as commands, which it takes between frames. A live stream drops
// its oldest frame when tracking falls behind, a recording waits. Ending is the reverse of wiring: the source ends, what is
// queued is finished, the sinks are flushed by whoever runs the fanout.
//
// Frames that have gone by are kept, within bounds. A prompt may name one: it is answered at once, and then the object is tracked
// over the frames since then until it has caught up (a follower). A reverse pass goes back over them on a snapshot of the objects'
// memories. Both take one step at a time between live frames, and their results say that they are past.
package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"maskstream/control"
	"maskstream/frames"
	"maskstream/internal/queue"
	"maskstream/model"
	"maskstream/model/amg"
	"maskstream/propagate"
	"maskstream/rle"
	"maskstream/sink"
	"maskstream/tensor"
)

// Source gives pictures in order until it ends or ctx does. emit borrows its picture.
type Source interface {
	Run(ctx context.Context, emit func(*frames.Picture) error) error
}

// Out is where results and events go; sink.Fanout is one. Publish takes ownership of the item and blocks as its sinks ask.
type Out interface {
	Publish(ctx context.Context, item sink.Item) error
}

// Config is what a stream is made of. The stream borrows all of it.
type Config struct {
	Name      string
	Run       string // 8 hex digits
	Live      bool   // drop the oldest frame rather than wait
	Source    Source
	Converter *frames.Converter
	Network   model.Network // used by this stream alone
	Out       Out
	Tracking  propagate.Options // Retention is the stream's choice

	History      int          // frames that are kept for prompts in the past and reverse passes; 0: none
	HistoryBytes int64        // of them at most; 0: no limit
	HistoryPool  *tensor.Pool // where they live (offload_video_to_cpu); nil: a pool of their own

	Prompts    []Prompt     // on the first frame
	Auto       *amg.Options // find the objects on the first frame, with these options; nil: do not
	MaxObjects int          // tracked at once; 0: no limit
	LostAfter  time.Duration
	NonOverlap bool
	Preview    http.Handler                                // nil where there is none
	Viewers    func() int                                  // of Preview, for Status; may be nil
	Faults     func() (decodeErrors, timestampJumps int64) // of Source, for Status; may be nil
	WebRTC     func() *control.WebRTCStatus                // of the live preview, for Status; may be nil
	Sinks      func() []sink.Stats                         // of Out, for Status; may be nil
	Pools      []*tensor.Pool                              // of the network, the frames and the memories, for Status; each once
	Log        *slog.Logger                                // which says the stream's name in every line
}

// Prompt points at an object; Width and Height of the embedded prompt are the stream's to fill in.
type Prompt struct {
	Object *int // nil takes the next free id
	propagate.Prompt
}

const (
	frameQueue  = 4
	resultQueue = 2
)

// Stream runs once. Its verbs may be called from any goroutine while it does.
type Stream struct {
	config Config
	meter  *meter
	now    func() time.Time

	store *frames.Store // of the past, filled by the track goroutine; nil where none is kept

	frames   *queue.Queue[*frames.Frame]        // ingest → track
	results  *queue.Queue[work]                 // track → encode
	commands chan func(context.Context, *track) // verbs → track, with Run's context
	done     chan struct{}                      // closed when Run has ended
	failure  error                              // of the source, set before frames is closed
}

// work is a result on its way to the sinks.
type work struct {
	result  *propagate.Result
	picture *frames.Picture
	past    bool              // the frame had gone by: the picture has no planes
	answer  chan<- *rle.Frame // capacity 1; nil where nobody waits
	event   *rle.Event        // instead of a result
}

func (w work) release() {
	w.result.Release()
	w.picture.Release()
}

// New returns a stream that has not started.
func New(config Config) *Stream {
	policy := queue.Wait
	if config.Live {
		policy = queue.DropOldest
	}
	s := &Stream{
		config:   config,
		frames:   queue.New(frameQueue, policy, (*frames.Frame).Release),
		results:  queue.New(resultQueue, queue.Wait, work.release),
		commands: make(chan func(context.Context, *track)),
		done:     make(chan struct{}),
		meter:    newMeter(),
		now:      time.Now,
	}
	if config.History > 0 {
		pool := config.HistoryPool
		if pool == nil {
			pool = tensor.NewPool("history", tensor.Host(), 0)
		}
		s.store = frames.NewStore(frames.Limits{Frames: config.History, Bytes: config.HistoryBytes, Compact: true}, pool)
	}
	return s
}

// Run works until the source ends (nil), ctx ends, or something fails that the stream cannot go on without.
func (s *Stream) Run(ctx context.Context) error {
	defer close(s.done)
	told := ctx
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		s.ingest(ctx)
		return nil
	})
	group.Go(func() error { return s.track(ctx) })
	ended := make(chan struct{})
	group.Go(func() error {
		defer close(ended)
		return s.encode(ctx, told)
	})
	group.Go(func() error { return s.report(ctx, ended) })
	err := group.Wait()
	if err == nil {
		err = s.failure
	}
	s.meter.become(control.Ended, err)
	s.frames.Discard()
	s.results.Discard()
	return err
}

// ingest converts pictures as they come. A source that fails ends the stream like one that is at its end: what it has given is
// tracked and published first.
func (s *Stream) ingest(ctx context.Context) {
	defer s.frames.Close()
	s.failure = s.config.Source.Run(ctx, func(picture *frames.Picture) error {
		started := time.Now()
		frame, err := s.convert(ctx, picture)
		if err != nil {
			return s.leaveOut(ctx, fmt.Errorf("stream %s: converting frame %d: %w", s.config.Name, picture.Meta.Frame, err))
		}
		s.meter.took(Convert, started)
		s.meter.frameDecoded()
		return s.frames.Put(ctx, frame)
	})
}

// convert makes a picture a frame; where there is no room for it, the track is asked for some.
func (s *Stream) convert(ctx context.Context, picture *frames.Picture) (*frames.Frame, error) {
	for {
		frame, err := s.config.Converter.Convert(picture)
		if !errors.Is(err, tensor.ErrExhausted) {
			return frame, err
		}
		full := err
		if told := s.tell(ctx, func(_ context.Context, t *track) error { full = t.tracker.MakeRoom(full); return nil }); told != nil {
			return nil, told
		}
		if full != nil {
			return nil, full
		}
	}
}

// track follows the objects; see track.run.
func (s *Stream) track(ctx context.Context) error {
	t := s.newTrack()
	defer t.close()
	defer s.results.Close()
	return t.run(ctx)
}

// encode gives every result its number and hands it to the sinks. The end of told, and not only of ctx, is one that somebody wanted.
func (s *Stream) encode(ctx, told context.Context) error {
	e := encoding{stream: s, Encoder: Encoder{Stream: s.config.Name, Run: s.config.Run, NonOverlap: s.config.NonOverlap, LostAfter: s.config.LostAfter}, states: map[int]rle.State{}}
	for {
		w, err := s.results.Take(ctx)
		if errors.Is(err, queue.ErrClosed) { // subscribers of a recording learn that it is over
			over := rle.Event{Type: rle.StreamDown, Reason: "the source has ended"}
			if reason := reasonOf(s.failure); reason != "" {
				over.Code, over.Reason = codeOf(s.failure), reason
			}
			return e.event(ctx, over)
		}
		if err != nil {
			e.stopped(ctx, told)
			return err
		}
		if err := e.publish(ctx, w); err != nil {
			if ctx.Err() != nil {
				e.stopped(ctx, told)
			}
			return fmt.Errorf("stream %s: %w", s.config.Name, err)
		}
	}
}
