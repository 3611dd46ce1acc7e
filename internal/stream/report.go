package stream

import (
	"context"
	"time"

	"maskstream/rle"
	"maskstream/sink"
)

// report publishes the stream's status every second until the stream has ended.
func (s *Stream) report(ctx context.Context, ended <-chan struct{}) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return nil
		case now := <-ticker.C:
			if err := s.config.Out.Publish(ctx, sink.Item{Status: s.message(now)}); err != nil {
				return err
			}
		}
	}
}

// message is the status as subscribers see it.
func (s *Stream) message(now time.Time) *rle.Status {
	status := s.Status()
	m := &rle.Status{V: 1, Stream: status.Name, Run: status.Run, Time: now.UTC(), State: string(status.State), Code: status.Code, FPS: status.FPS, LatencyMS: status.LatencyMS,
		Objects: make([]int, 0, len(status.Objects)), Frames: s.meter.frames(), Dropped: map[string]int64{"frames": status.Dropped}}
	for _, o := range status.Objects {
		m.Objects = append(m.Objects, o.ID)
	}
	for _, out := range status.Counters.Sinks {
		m.Dropped[out.Name] += out.Dropped
	}
	return m
}
