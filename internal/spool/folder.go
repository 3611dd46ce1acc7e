package spool

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// recover reads what an earlier process left.
func (s *Spool) recover() error {
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return err
	}
	s.done = readPlace(s.acked)
	from := s.done
	for _, entry := range entries {
		number, found := strings.CutSuffix(entry.Name(), suffix)
		n, err := strconv.ParseUint(number, 16, 64)
		if !found || err != nil {
			continue
		}
		segment, whole, err := openSegment(s.path(n), n, from)
		if err != nil {
			return err
		}
		if !whole {
			s.broken++
		}
		if n == from.segment && from.offset > segment.size { // what follows will be written there
			s.done.offset = segment.size
			if err := writePlace(s.acked, s.done); err != nil {
				return err
			}
		}
		s.segments = append(s.segments, segment)
	}
	slices.SortFunc(s.segments, func(a, b *segment) int { return cmp.Compare(a.number, b.number) })
	// Segments that a power cut or a hand took away leave the place behind all that are there: what is written to these would
	// count as acknowledged.
	if len(s.segments) == 0 || s.segments[len(s.segments)-1].number < from.segment {
		if err := s.grow(from.segment + 1); err != nil {
			return err
		}
	}
	return s.tidy()
}

func (s *Spool) path(number uint64) string {
	return filepath.Join(s.folder, fmt.Sprintf("%016x%s", number, suffix))
}

// grow begins a segment.
func (s *Spool) grow(number uint64) error {
	segment, _, err := openSegment(s.path(number), number, place{})
	if err == nil {
		s.segments = append(s.segments, segment)
	}
	return err
}

// tidy deletes the oldest segments that nobody needs: all of them acknowledged, but for the last, which may grow.
func (s *Spool) tidy() error {
	for len(s.segments) > 1 && s.segments[0].kept == 0 {
		if err := s.deleteOldest(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Spool) deleteOldest() error {
	oldest := s.segments[0]
	s.segments = s.segments[1:]
	return errors.Join(oldest.file.Close(), os.Remove(s.path(oldest.number)))
}
