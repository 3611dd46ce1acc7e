// Package spool keeps records on disk, in their order, until somebody has taken them: what a server does not take now is not
// lost, also where the process dies. It is bounded: where it is full, the oldest records go and are counted.
//
//	s, err := spool.Open(folder, 256<<20)
//	err = s.Append(data)             // from any goroutine
//	record, ok, err := s.Next()      // the next in order, by one reader
//	s.Ack(record)                    // it need not be kept
//	s.Rewind()                       // Next begins again with the oldest that is kept
//
// A spool is a folder of segments, files of records with their length and checksum, and the place up to which they are
// acknowledged. A segment is deleted as a whole. What a process had not finished to write when it died is cut off. Records reach
// the disk when the system writes them: a power cut may cost the last seconds.
package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

var (
	// ErrInUse says that another process has the folder.
	ErrInUse = errors.New("another process uses it")
	// ErrTooLarge says that a record would not fit into the empty spool.
	ErrTooLarge = errors.New("record is larger than the spool")
)

const (
	suffix      = ".spool"
	ackedName   = "acked"
	lockName    = "lock"
	segmentSize = 8 << 20 // at most; a small spool has smaller segments
)

// Spool may be used from any goroutine; Next, Ack and Rewind belong to one reader.
type Spool struct {
	folder string
	limit  int64

	mu       sync.Mutex
	lock     *os.File
	acked    *os.File
	segments []*segment // oldest first; the last is written to
	done     place      // up to which records are acknowledged, as the file has it
	next     place      // of the reader
	dropped  int64
	broken   int64
	changed  chan struct{} // closed and replaced at every change
	closed   bool
}

// place is where in the spool something begins.
type place struct {
	segment uint64
	offset  int64
}

// Record is one thing that was appended.
type Record struct {
	Data []byte // the caller's
	end  place
}

// Stats is how a spool is doing.
type Stats struct {
	Records int64 // not acknowledged
	Waiting int64 // bytes of these
	Bytes   int64 // on disk
	Dropped int64 // records lost since Open, to newer ones or to damage
	Broken  int64 // segments that were found damaged, which lost what followed the damage
}

// Open makes the folder where it is missing, and takes up what it holds. limit bounds the bytes on disk.
func Open(folder string, limit int64) (_ *Spool, err error) {
	s := &Spool{folder: folder, limit: limit, changed: make(chan struct{})}
	defer func() {
		if err != nil {
			err = fmt.Errorf("spool %s: %w", folder, errors.Join(err, s.Close()))
		}
	}()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if s.lock, err = os.OpenFile(filepath.Join(folder, lockName), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("%w: name another folder", ErrInUse)
	}
	if s.acked, err = os.OpenFile(filepath.Join(folder, ackedName), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	if err := s.recover(); err != nil {
		return nil, err
	}
	s.rewind()
	return s, nil
}

// Append adds a record, and drops the oldest segment where there is no room. After an error the spool is as it was.
func (s *Spool) Append(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := recordSize(data)
	switch {
	case s.closed:
		return os.ErrClosed
	case size > s.limit/2:
		return fmt.Errorf("spool %s: %w", s.folder, ErrTooLarge)
	}
	last := s.segments[len(s.segments)-1]
	if last.size > 0 && last.size+size > min(segmentSize, s.limit/8) {
		if err := s.grow(last.number + 1); err != nil {
			return fmt.Errorf("spool %s: %w", s.folder, err)
		}
		last = s.segments[len(s.segments)-1]
		if err := s.tidy(); err != nil {
			return fmt.Errorf("spool %s: %w", s.folder, err)
		}
	}
	for len(s.segments) > 1 && s.bytes()+size > s.limit {
		s.dropped += s.segments[0].kept
		if err := s.deleteOldest(); err != nil {
			return fmt.Errorf("spool %s: %w", s.folder, err)
		}
	}
	if err := last.append(data); err != nil {
		return fmt.Errorf("spool %s: %w", s.folder, err)
	}
	s.wake()
	return nil
}

// Next is the next record in order; false says that there is none now. A segment that was dropped meanwhile is skipped. A damaged
// record is an error once: it and what follows it in its segment are lost, and the next call goes on behind them.
func (s *Spool) Next() (Record, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return Record{}, false, os.ErrClosed
	}
	for i, segment := range s.segments {
		if segment.number < s.next.segment {
			continue
		}
		if segment.number > s.next.segment {
			s.next = place{segment.number, 0}
		}
		if s.next.offset >= segment.size {
			if i+1 < len(s.segments) {
				s.next = place{s.segments[i+1].number, 0}
			}
			continue
		}
		data, err := segment.read(s.next.offset)
		if errors.Is(err, errDamaged) {
			lost, cutting := segment.cut(s.next.offset, s.done)
			s.dropped += lost
			s.broken++
			s.wake()
			err = errors.Join(fmt.Errorf("%w: %d records are lost", err, lost), cutting)
		}
		if err != nil {
			return Record{}, false, fmt.Errorf("spool %s: %w", s.folder, err)
		}
		s.next.offset += recordSize(data)
		return Record{Data: data, end: s.next}, true, nil
	}
	return Record{}, false, nil
}

// Ack says that a record, and with it every earlier one, need not be kept. Records are acknowledged in their order.
func (s *Spool) Ack(r Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return os.ErrClosed
	}
	at := slices.IndexFunc(s.segments, func(segment *segment) bool { return segment.number == r.end.segment })
	if at < 0 {
		return nil // dropped
	}
	s.segments[at].kept--
	s.done = r.end
	defer s.wake()
	if err := errors.Join(writePlace(s.acked, r.end), s.tidy()); err != nil {
		return fmt.Errorf("spool %s: %w", s.folder, err)
	}
	return nil
}

// Rewind lets Next begin with the oldest record that is not acknowledged.
func (s *Spool) Rewind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.rewind()
	}
}

func (s *Spool) rewind() {
	s.next = s.done
	if oldest := s.segments[0].number; s.next.segment < oldest {
		s.next = place{oldest, 0}
	}
}

// Changed is closed at the next change. Take the channel first, then look, then wait: no change is missed.
func (s *Spool) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *Spool) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Spool) bytes() (sum int64) {
	for _, segment := range s.segments {
		sum += segment.size
	}
	return sum
}

// Stats says how the spool is doing.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := Stats{Bytes: s.bytes(), Dropped: s.dropped, Broken: s.broken}
	for _, segment := range s.segments {
		stats.Records += segment.kept
	}
	stats.Waiting = stats.Bytes
	if s.segments[0].number == s.done.segment {
		stats.Waiting -= s.done.offset
	}
	return stats
}

// Close leaves what is kept to the next Open.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	for _, segment := range s.segments {
		errs = append(errs, segment.file.Close())
	}
	for _, file := range []*os.File{s.acked, s.lock} { // the lock goes last
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(errs...)
}
