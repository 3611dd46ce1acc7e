package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"time"

	"maskstream/control"
	"maskstream/frames"
	"maskstream/model/modeltest"
	"maskstream/propagate"
	"maskstream/rle"
	"maskstream/sink"
	"maskstream/tensor"
)

// parade is a source of dots that come and go on three lanes, the k-th from frame 40k on for 150 frames, and the client who points at
// them: some on frames that have gone by, some again and again. It removes what has left, sometimes late, and asks for reverse passes.
type parade struct {
	stream *Stream
	length int
	ids    map[int]int // of dots that are tracked
	given  int
	window func(frame int) // called every thousandth of the way
}

const paradeSide = 64 // of the picture and of the model's square

func (p *parade) dot(k, frame int) modeltest.Dot {
	return modeltest.Dot{X: 8 + 0.32*float64(frame-40*k), Y: 12 + 20*float64(k%3), R: 6}
}

func (p *parade) Run(ctx context.Context, emit func(*frames.Picture) error) error {
	for i := range p.length {
		var dots []modeltest.Dot
		for k := max(0, i/40-3); k <= i/40; k++ {
			if i-40*k < 150 {
				dots = append(dots, p.dot(k, i))
			}
		}
		picture := modeltest.Scene{Size: paradeSide, Width: paradeSide, Height: paradeSide}.Picture(i, dots...)
		picture.Meta.PTS, picture.Meta.Received = time.Duration(i)*40*time.Millisecond, time.Now()
		err := emit(picture)
		picture.Release()
		if err != nil {
			return err
		}
		if err := p.act(ctx, i); err != nil {
			return fmt.Errorf("frame %d: %w", i, err)
		}
		if i%max(1, p.length/1000) == 0 {
			p.window(i)
		}
	}
	return nil
}

// act is what the client does after frame i. Commands overtake frames that wait, by a few.
func (p *parade) act(ctx context.Context, i int) error {
	if i%1000 == 999 {
		if err := p.stream.Reverse(ctx, control.ReverseRequest{}); err != nil && !errors.Is(err, control.ErrBusy) && !isConflict(err) {
			return err
		}
	}
	for k := max(0, i/40-10); k <= i/40; k++ {
		age := i - 40*k
		id, tracked := p.ids[k]
		switch {
		case age == 10 && k%7 != 6:
			if err := p.point(ctx, k, control.Latest, i, nil); err != nil {
				return err
			}
		case age == 60 && k%7 == 6: // in the past
			if err := p.point(ctx, k, control.FrameRef(i-30), i-30, nil); err != nil {
				return err
			}
		case age == 70 && tracked && k%2 == 0: // once more
			if err := p.point(ctx, k, control.Latest, i, &id); err != nil {
				return err
			}
		case tracked && k%50 == 49 && age == 100:
			if err := p.stream.Reset(ctx); err != nil {
				return err
			}
			clear(p.ids)
		case tracked && (age == 140 && k%2 == 0 || age == 300): // before it leaves, or long after
			if err := p.stream.Remove(ctx, id); err != nil {
				return err
			}
			delete(p.ids, k)
		}
	}
	return nil
}

func (p *parade) point(ctx context.Context, k int, ref control.FrameRef, frame int, id *int) error {
	d := p.dot(k, frame)
	answer, err := p.stream.Prompt(ctx, control.PromptRequest{Object: id, Frame: ref, Points: [][2]float64{{d.X, d.Y}}, Labels: []int{1}, ClearOldPoints: id == nil})
	if err != nil {
		return err
	}
	if id == nil {
		p.ids[k] = answer.Objects[len(answer.Objects)-1].ID
		p.given++
	}
	return nil
}

func isConflict(err error) bool {
	var e *control.Error
	return errors.As(err, &e) && e.Code == control.Conflict
}

// ledger is an Out that keeps nothing: it counts, and sees that ids only grow.
type ledger struct {
	t       *testing.T
	live    int
	past    map[rle.Direction]int
	added   int
	last    int // id that was added
	done    int // reverse passes
	tracked int
}

func (l *ledger) Publish(_ context.Context, item sink.Item) error {
	defer item.Release()
	switch {
	case item.Result != nil && item.Result.Past:
		l.past[item.Result.Direction]++
	case item.Result != nil && item.Result.Direction == rle.Forward:
		if item.Result.Frame != l.live {
			l.t.Errorf("frame %d after %d", item.Result.Frame, l.live-1)
		}
		l.live++
		for _, o := range item.Result.Objects {
			if o.State == rle.Tracked {
				l.tracked++
			}
		}
	case item.Event != nil && item.Event.Type == rle.ObjectAdded:
		if *item.Event.Object <= l.last {
			l.t.Errorf("id %d after %d", *item.Event.Object, l.last)
		}
		l.added, l.last = l.added+1, *item.Event.Object
	case item.Event != nil && item.Event.Type == rle.ReverseDone:
		l.done++
		if item.Event.Reason != "" && item.Event.Reason != "its objects were removed" {
			l.t.Errorf("a reverse pass ended: %s", item.Event.Reason)
		}
	}
	return nil
}

// sample is what a stream takes at one moment.
type sample struct {
	frame         int
	heap          uint64
	pools         int64
	since         time.Duration // the sample before
	states, notes int           // entries of maps that know objects
}

// paradeFor lets a parade of so many frames go by and returns samples on the way, and what was published.
func paradeFor(t *testing.T, length int) ([]sample, *ledger, *parade) {
	t.Helper()
	pool, history := tensor.NewPool("network", tensor.Host(), 0), tensor.NewPool("history", tensor.Host(), 0)
	out := &ledger{t: t, past: map[rle.Direction]int{}}
	three := 3
	source := &parade{length: length, ids: map[int]int{}}
	s := New(Config{
		Name: "gate", Run: "0123abcd", Source: source, Out: out, Network: modeltest.New(pool, paradeSide), Converter: frames.NewConverter(paradeSide, pool),
		Tracking: propagate.Options{CorrectAsConditioning: true, FillHoleArea: 8, MaxConditioning: &three},
		History:  100, HistoryPool: history, LostAfter: time.Second, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	source.stream = s
	var samples []sample
	last := time.Now()
	source.window = func(frame int) {
		now := sample{frame: frame, since: time.Since(last)}
		if frame%(length/20) == length/40 { // rarely, for it takes time
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			now.heap = m.HeapAlloc
		}
		for _, p := range []*tensor.Pool{pool, history} {
			stats := p.Stats()
			now.pools += stats.LiveBytes + stats.IdleBytes
		}
		err := s.tell(context.Background(), func(_ context.Context, track *track) error {
			now.notes = len(track.behind) + len(track.given.ranges)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		s.meter.mu.Lock()
		now.states = len(s.meter.behind)
		s.meter.mu.Unlock()
		samples = append(samples, now)
		last = time.Now()
	}
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	tensor.NoLeaks(t, pool, history)
	return samples, out, source
}

// checkParade says what must hold whatever the length.
func checkParade(t *testing.T, length int, samples []sample, out *ledger, source *parade) {
	t.Helper()
	if out.live != length || out.added != source.given || out.added < length/40-10 {
		t.Errorf("%d frames published of %d; %d objects added, %d were prompted", out.live, length, out.added, source.given)
	}
	if least := 2 * length; out.tracked < least {
		t.Errorf("objects are seen %d times on %d frames", out.tracked, length)
	}
	if out.past[rle.Forward] < out.added/7*25 || out.past[rle.Reverse] < length/1000*10 || out.done == 0 {
		t.Errorf("results of the past %v, %d reverse passes", out.past, out.done)
	}
	half := samples[len(samples)/4 : len(samples)/2]
	end := samples[3*len(samples)/4:]
	most := func(all []sample, of func(sample) float64) float64 {
		return of(slices.MaxFunc(all, func(a, b sample) int { return int(of(a) - of(b)) }))
	}
	for name, of := range map[string]func(sample) float64{
		"pools": func(s sample) float64 { return float64(s.pools) },
		"heap":  func(s sample) float64 { return float64(s.heap) },
	} {
		if before, after := most(half, of), most(end, of); after > before*1.05+1<<19 {
			t.Errorf("%s grew from %.0f to %.0f bytes", name, before, after)
		}
	}
	for _, s := range samples {
		if s.states > 8 || s.notes > 8 {
			t.Errorf("frame %d: %d states and %d notes of objects", s.frame, s.states, s.notes)
		}
	}
}

func TestObjectsComeAndGoAndNothingGrows(t *testing.T) {
	const length = 4000
	samples, out, source := paradeFor(t, length)
	checkParade(t, length, samples, out, source)
}
