package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"maskstream/control"
	"maskstream/internal/stream"
	"maskstream/rle"
	"maskstream/sink"
)

// watch is an Out that notes when each live frame's masks were there, and how old they were.
type watch struct {
	mu    sync.Mutex
	since time.Time
	ages  []time.Duration
	past  int
	done  chan struct{} // of capacity 1: a reverse pass has ended
}

func (w *watch) Publish(_ context.Context, item sink.Item) error {
	defer item.Release()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch r := item.Result; {
	case r != nil && r.Past:
		w.past++
	case r != nil && r.Direction == rle.Forward:
		w.ages = append(w.ages, time.Since(r.Received))
	case item.Event != nil && item.Event.Type == rle.ReverseDone:
		w.done <- struct{}{}
	}
	return nil
}

// take returns frames a second and the median age of masks since the last call, and how many results of the past there were a second.
func (w *watch) take() (fps, age, past float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seconds := time.Since(w.since).Seconds()
	fps, past = float64(len(w.ages))/seconds, float64(w.past)/seconds
	if len(w.ages) > 0 {
		slices.Sort(w.ages)
		age = float64(w.ages[len(w.ages)/2].Microseconds()) / 1e3
	}
	w.ages, w.past, w.since = nil, 0, time.Now()
	return fps, age, past
}

// BenchmarkReversePass is what a reverse pass of two objects over 100 frames costs the live track: frames a second and milliseconds from
// a frame's receipt to its masks, before and during the pass. At 4 frames a second the network has time to spare, at 60 it has none.
func BenchmarkReversePass(b *testing.B) {
	for _, fps := range []int{4, 60} {
		b.Run(fmt.Sprintf("%d_fps", fps), func(b *testing.B) {
			scene := newHeldScene(b)
			out := &watch{since: time.Now(), done: make(chan struct{}, 1)}
			s := nanoStream(b, homesFor(b, false, false), scene, out, func(c *stream.Config) { c.Live, c.History = true, 100 })
			stop := make(chan struct{})
			var pacing sync.WaitGroup
			pacing.Go(func() {
				ticker := time.NewTicker(time.Second / time.Duration(fps))
				defer ticker.Stop()
				for {
					select {
					case <-stop:
						return
					case <-ticker.C:
						select {
						case scene.next <- struct{}{}:
						case <-stop:
							return
						}
					}
				}
			})
			defer pacing.Wait()
			defer close(stop)
			history := func() int { return s.Status().Counters.Past.Frames }
			eventually(b, "first frame", func() bool { return history() > 0 })
			for object := 1; object <= 3; object += 2 {
				frame := s.Status().Frame
				if _, err := s.Prompt(b.Context(), control.PromptRequest{Frame: control.Latest, Box: scene.box(object, frame), ClearOldPoints: true}); err != nil {
					b.Fatal(err)
				}
			}
			eventually(b, "history", func() bool { return history() >= 50 })
			out.take()
			time.Sleep(5 * time.Second)
			beforeFPS, beforeAge, _ := out.take()
			for b.Loop() {
				if err := s.Reverse(b.Context(), control.ReverseRequest{}); err != nil {
					b.Fatal(err)
				}
				<-out.done
			}
			duringFPS, duringAge, past := out.take()
			b.ReportMetric(beforeFPS, "fps-before")
			b.ReportMetric(duringFPS, "fps-during")
			b.ReportMetric(beforeAge, "ms-before")
			b.ReportMetric(duringAge, "ms-during")
			b.ReportMetric(past, "reverse-frames/s")
		})
	}
}
