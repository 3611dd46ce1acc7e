package stream

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"maskstream/control"
	"maskstream/frames"
	"maskstream/internal/queue"
	"maskstream/rle"
)

// Stage is a part of a frame's way whose time is measured.
type Stage uint8

const (
	Convert Stage = iota // picture to tensor
	Infer                // the network and the memory bank
	Encode               // logits to runs
	Publish              // from the source's packet to the sinks
	stages
)

func (s Stage) String() string { return [stages]string{"convert", "infer", "encode", "publish"}[s] }

// meter is what a stream tells of itself. Safe for concurrent use.
type meter struct {
	histograms [stages]*control.Histogram

	mu        sync.Mutex
	state     control.StreamState
	trouble   error            // why it is down or has ended; nil otherwise
	failures  map[string]int64 // how often, by code
	last      *rle.Frame
	lastAt    time.Time
	latency   time.Duration // of the last frame
	decoded   int64
	published int64
	downs     map[string]int64 // how often it was lost, by code
	maskBytes int64
	caughtUp  int64                        // results of objects that catch up
	reversed  int64                        // results of reverse passes
	unkept    int64                        // frames that found no room in the history
	noRoom    int64                        // frames that found no room to be tracked in
	hungry    time.Time                    // since when all frames were left out for want of room; zero where the last was tracked
	starved   error                        // where that is too long; else nil
	behind    map[int]control.ObjectStatus // objects that have not been live yet
	recent    [32]time.Time                // when the last frames were published, a ring
}

func newMeter() *meter {
	m := &meter{state: control.Starting, behind: map[int]control.ObjectStatus{}, failures: map[string]int64{}, downs: map[string]int64{}}
	for s := range m.histograms {
		m.histograms[s] = &control.Histogram{}
	}
	return m
}

func (m *meter) took(s Stage, since time.Time) { m.histograms[s].Observe(time.Since(since).Seconds()) }

func (m *meter) frameDecoded() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.decoded++
}

func (m *meter) become(state control.StreamState, trouble error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if code := codeOf(trouble); code != "" {
		m.failures[code]++
	}
	if state == control.Down && m.state == control.Up {
		m.downs[codeOf(trouble)]++
	}
	m.state, m.trouble = state, trouble
	m.hungry, m.starved = time.Time{}, nil // what is told of the source now is the newer news
}

// framePublished notes a frame that has been handed to the sinks. The answer to a prompt shows no progress of the stream.
func (m *meter) framePublished(f *rle.Frame, meta frames.Meta, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = f
	for _, o := range f.Objects {
		m.maskBytes += int64(len(o.Segmentation.Counts))
		delete(m.behind, o.ID)
	}
	if f.Direction != rle.Forward {
		return
	}
	m.lastAt, m.latency = now, now.Sub(meta.Received)
	m.histograms[Publish].Observe(m.latency.Seconds())
	m.recent[m.published%int64(len(m.recent))] = now
	m.published++
}

// pastPublished notes a result about a frame that had gone by.
func (m *meter) pastPublished(f *rle.Frame) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range f.Objects {
		m.maskBytes += int64(len(o.Segmentation.Counts))
		if f.Direction != rle.Reverse && !m.shows(o.ID) {
			m.behind[o.ID] = statusOf(o)
		}
	}
	switch f.Direction {
	case rle.Forward:
		m.caughtUp++
	case rle.Reverse:
		m.reversed++
	case rle.Prompted:
	}
}

// shows says whether the last frame shows an object. The meter is locked.
func (m *meter) shows(id int) bool {
	return m.last != nil && slices.ContainsFunc(m.last.Objects, func(o rle.Object) bool { return o.ID == id })
}

func (m *meter) removed(id int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.behind, id)
	if m.shows(id) {
		last := *m.last // the frame itself is the sinks'
		last.Objects = slices.DeleteFunc(slices.Clone(last.Objects), func(o rle.Object) bool { return o.ID == id })
		m.last = &last
	}
}

// notKept counts a frame that found no room in the history, and says whether it is the first.
func (m *meter) notKept() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unkept++
	return m.unkept == 1
}

func statusOf(o rle.Object) control.ObjectStatus {
	return control.ObjectStatus{ID: o.ID, State: o.State, Area: o.Area, BBox: o.BBox}
}

// frames is how many frames of results there were.
func (m *meter) frames() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.published
}

// rate is frames a second over the last ones, falling where none come any more. The meter is locked.
func (m *meter) rate(now time.Time) float64 {
	n := min(m.published, int64(len(m.recent)))
	if n < 2 {
		return 0
	}
	oldest := m.recent[(m.published-n)%int64(len(m.recent))]
	span := m.lastAt.Sub(oldest)
	if silence := now.Sub(m.lastAt); silence > 2*span/time.Duration(n-1) {
		span += silence
	}
	if span <= 0 {
		return 0
	}
	return float64(n-1) / span.Seconds()
}

// Status is a snapshot; it does not wait.
func (s *Stream) Status() control.StreamStatus {
	m := s.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	state, trouble := m.state, m.trouble
	if m.starved != nil {
		state, trouble = control.Down, m.starved
	}
	status := control.StreamStatus{
		Name: s.config.Name, Run: s.config.Run, State: state, Code: codeOf(trouble), Error: reasonOf(trouble), FPS: m.rate(time.Now()),
		LatencyMS: float64(m.latency.Microseconds()) / 1e3, Dropped: s.frames.Dropped() + m.noRoom, Objects: []control.ObjectStatus{},
		Counters: control.Counters{
			Decoded: m.decoded, Reconnects: maps.Clone(m.downs), MaskBytes: m.maskBytes, LastFrame: m.lastAt,
			Failures: maps.Clone(m.failures),
			Dropped:  []control.DropCount{{Stage: "track", Reason: "behind", Count: s.frames.Dropped()}, {Stage: "track", Reason: "memory", Count: m.noRoom}},
			Past:     control.PastCounters{CaughtUp: m.caughtUp, Reversed: m.reversed, NotKept: m.unkept},
		},
	}
	if s.store != nil {
		status.Counters.Past.Frames, status.Counters.Past.Bytes = s.store.Len()
	}
	for _, pool := range s.config.Pools {
		status.Counters.Pools = append(status.Counters.Pools, control.PoolStats{Name: pool.Name(), Stats: pool.Stats()})
	}
	if s.config.Viewers != nil {
		status.Viewers = s.config.Viewers()
	}
	if s.config.WebRTC != nil {
		status.WebRTC = s.config.WebRTC()
	}
	if s.config.Faults != nil {
		status.Counters.DecodeErrors, status.Counters.TimestampJumps = s.config.Faults()
	}
	if s.config.Sinks != nil {
		status.Counters.Sinks = s.config.Sinks()
	}
	for stage, h := range m.histograms {
		status.Counters.Latency = append(status.Counters.Latency, control.StageLatency{Stage: Stage(stage).String(), Histogram: h})
	}
	if f := m.last; f != nil {
		status.Epoch, status.Frame, status.Size = f.Epoch, f.Frame, f.Size
		for _, o := range f.Objects {
			status.Objects = append(status.Objects, statusOf(o))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.behind)) {
		status.Objects = append(status.Objects, m.behind[id])
	}
	return status
}

// Recorded says whether the source is recorded, which only shows once it is open: then it waits, and no frame is left out.
func (s *Stream) Recorded(is bool) {
	if is || !s.config.Live {
		s.frames.SetPolicy(queue.Wait)
	} else {
		s.frames.SetPolicy(queue.DropOldest)
	}
}

// Up says that the source gives pictures, again or for the first time.
func (s *Stream) Up(ctx context.Context) error {
	s.meter.become(control.Up, nil)
	return s.results.Put(ctx, work{event: &rle.Event{Type: rle.StreamUp}})
}

// Down says that the source gives none, and why; the error holds no secrets.
func (s *Stream) Down(ctx context.Context, trouble error) error {
	s.meter.become(control.Down, trouble)
	return s.results.Put(ctx, work{event: &rle.Event{Type: rle.StreamDown, Code: codeOf(trouble), Reason: reasonOf(trouble)}})
}

// reasonOf is what an error says; a stream that was told to end needs no reason.
func reasonOf(err error) string {
	if err == nil || errors.Is(err, context.Canceled) {
		return ""
	}
	return err.Error()
}

// codeOf is an error in a word. Errors of the source bring theirs along.
func codeOf(err error) string {
	var coded interface{ Code() string }
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return ""
	case errors.As(err, &coded):
		return coded.Code()
	}
	return "failed"
}
