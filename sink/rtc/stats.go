package rtc

// reason is why a viewer did not get something.
type reason uint8

const (
	dropMailbox  reason = iota // the viewer's goroutine fell behind
	dropBuffered               // masks: too much waits for the network
	dropHung                   // masks: the page does not draw any more
	dropSend                   // masks: the channel refused them
	reasons
)

func (r reason) String() string {
	return [reasons]string{"mailbox", "buffered", "not_drawn", "send"}[r]
}

// Stats is what a stream's preview does.
type Stats struct {
	Viewers  int
	Locked   bool             // pictures wait for their masks, unless a viewer wishes otherwise
	Passed   bool             // the source's pictures go as they are, where the viewer plays them
	Reason   string           // why they are coded again; empty before the source is known
	Dropped  map[string]int64 // by reason, since the start
	Buffered int64            // bytes of masks that wait for the network
}

// Stats is a snapshot.
func (s *Stream) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := Stats{Viewers: len(s.viewers), Locked: !s.server.options.LowLatency, Passed: s.source.passed, Reason: s.source.reason, Dropped: map[string]int64{}}
	for r := range reasons {
		stats.Dropped[r.String()] = s.dropped[r].Load()
	}
	for v := range s.viewers {
		stats.Buffered += int64(v.buffered())
	}
	return stats
}
