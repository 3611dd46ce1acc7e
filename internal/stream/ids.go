package stream

import (
	"slices"

	"maskstream/propagate"
)

// idRanges is how many separate ranges of ids are remembered.
const idRanges = 1024

// ids is the set of object ids that were ever given, as ranges in ascending order that do not touch: a stream runs for months, and
// ids mostly follow each other. Clients may choose ids as they like, so the number of ranges is bounded: beyond it the two
// ranges nearest to each other become one, and the ids between them are spent without having been used.
type ids struct{ ranges []idRange }

type idRange struct{ first, last int }

func (s *ids) has(id int) bool {
	i, ok := s.search(id)
	return ok || i < len(s.ranges) && s.ranges[i].first <= id
}

// search finds the first range that ends at id or later; ok says that it ends at id.
func (s *ids) search(id int) (i int, ok bool) {
	return slices.BinarySearchFunc(s.ranges, id, func(r idRange, id int) int { return r.last - id })
}

func (s *ids) add(id int) {
	if s.has(id) {
		return
	}
	i, _ := s.search(id)
	before := i > 0 && s.ranges[i-1].last == id-1
	after := i < len(s.ranges) && s.ranges[i].first == id+1
	switch {
	case before && after:
		s.join(i - 1)
	case before:
		s.ranges[i-1].last = id
	case after:
		s.ranges[i].first = id
	default:
		s.ranges = slices.Insert(s.ranges, i, idRange{id, id})
	}
	if len(s.ranges) > idRanges {
		s.joinNearest()
	}
}

// join makes one range of the i-th and the next.
func (s *ids) join(i int) {
	s.ranges[i].last = s.ranges[i+1].last
	s.ranges = slices.Delete(s.ranges, i+1, i+2)
}

func (s *ids) joinNearest() {
	nearest := 0
	for i := range len(s.ranges) - 1 {
		if s.gap(i) < s.gap(nearest) {
			nearest = i
		}
	}
	s.join(nearest)
}

// gap is how many ids lie between the i-th range and the next.
func (s *ids) gap(i int) int { return s.ranges[i+1].first - s.ranges[i].last }

// next is the smallest id above every one given, at least 1, since people count from one. Where a client has taken the largest
// id there is, it goes on below the range that ends with it; false where that begins at 1.
func (s *ids) next() (id int, ok bool) {
	n := len(s.ranges)
	if n > 0 && s.ranges[n-1].last == propagate.MaxObjectID {
		n--
		if s.ranges[n].first <= 1 {
			return 0, false
		}
	}
	if n == 0 {
		return 1, true
	}
	return max(1, s.ranges[n-1].last+1), true
}
