package stream

import (
	"sync"
	"sync/atomic"
	"time"

	"maskstream/frames"
)

// Stage is a part of a frame's way whose time is measured.
type Stage uint8

const (
	Convert Stage = iota // picture to tensor
	Track                // the network and the memory bank
	Encode               // logits to runs
	Latency              // from the source's packet to the sinks
	stages
)

func (s Stage) String() string { return [stages]string{"convert", "track", "encode", "latency"}[s] }

// meter counts what a stream does. Safe for concurrent use.
type meter struct {
	decoded   atomic.Int64
	processed atomic.Int64
	objects   atomic.Pointer[[]int]
	state     atomic.Pointer[string]
	observe   func(Stage, time.Duration) // set before the stream runs; may be nil

	mu      sync.Mutex
	recent  [32]time.Time // when the last frames were published, a ring
	at      int
	latency time.Duration // of the last frame
	lastPTS time.Duration
}

func (m *meter) stage(s Stage, d time.Duration) {
	if m.observe != nil {
		m.observe(s, d)
	}
}

// published notes that a frame has been handed to the sinks.
func (m *meter) published(meta frames.Meta, now time.Time) {
	latency := now.Sub(meta.Received)
	m.stage(Latency, latency)
	m.processed.Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recent[m.at%len(m.recent)] = now
	m.at++
	m.latency, m.lastPTS = latency, meta.PTS
}

// rate is frames a second over the last ones, 0 where none came for a while.
func (m *meter) rate(now time.Time) (fps float64, latency time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := min(m.at, len(m.recent))
	if n < 2 {
		return 0, m.latency
	}
	newest, oldest := m.recent[(m.at-1)%len(m.recent)], m.recent[(m.at-n)%len(m.recent)]
	// A stream that has stopped fades instead of showing its last rate for ever.
	span := max(newest.Sub(oldest), now.Sub(oldest)-newest.Sub(oldest)/time.Duration(n-1)*2)
	if span <= 0 || now.Sub(newest) > 5*time.Second {
		return 0, m.latency
	}
	return float64(n-1) / span.Seconds(), m.latency
}
