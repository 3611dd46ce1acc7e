package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"maskstream/rle"
	"maskstream/tensor"
)

// patience is how long frames of a live stream may find no room, all of them, until the stream is called down.
const patience = 5 * time.Second

// starved says that a live stream tracks nothing for want of memory.
type starved struct{ error }

// Code is the error in a word, as the source's errors have one.
func (starved) Code() string { return "out_of_memory" }

func (s starved) Unwrap() error { return s.error }

// leaveOut takes the error of a frame that there was no room for. A live stream counts the frame and goes on without it, since there
// may be room for the next; of a recording, none must be missing.
func (s *Stream) leaveOut(ctx context.Context, err error) error {
	if !s.config.Live || !errors.Is(err, tensor.ErrExhausted) {
		return err
	}
	first, trouble := s.meter.leftOut(s.now(), err)
	if first {
		s.config.Log.Warn("a frame is left out, and more may follow: give the stream more network_bytes and host_bytes, remove objects, or keep less history", "error", err)
	}
	if trouble == nil {
		return nil
	}
	s.config.Log.Error("stream is down: raise its network_bytes and host_bytes, or remove objects or reset it", "error", trouble)
	return s.results.Put(ctx, work{event: &rle.Event{Type: rle.StreamDown, Code: codeOf(trouble), Reason: reasonOf(trouble)}})
}

// fed notes that a frame was tracked, and says so where none had been for long.
func (s *Stream) fed(ctx context.Context) error {
	if !s.meter.fed() {
		return nil
	}
	s.config.Log.Info("stream is up: there is room for its frames again")
	return s.results.Put(ctx, work{event: &rle.Event{Type: rle.StreamUp}})
}

// leftOut counts a frame that found no room to be tracked in, and says whether it is the first. trouble is what to tell, once, where none has
// been tracked for so long that the stream is down.
func (m *meter) leftOut(now time.Time, err error) (first bool, trouble error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.noRoom++
	if m.hungry.IsZero() {
		m.hungry = now
	}
	if m.starved == nil && now.Sub(m.hungry) >= patience {
		m.starved = starved{fmt.Errorf("no frame has found room for %v: %w", patience, err)}
		trouble = m.starved
	}
	return m.noRoom == 1, trouble
}

// fed notes that a frame was tracked, and says whether the stream was down for want of memory until now.
func (m *meter) fed() (again bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	again = m.starved != nil
	m.hungry, m.starved = time.Time{}, nil
	return again
}
