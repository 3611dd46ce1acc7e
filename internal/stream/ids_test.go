package stream

import (
	"math/rand/v2"
	"testing"

	"maskstream/propagate"
)

func TestIDsAreRememberedAsASetDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int{20, 400} {
		var s ids
		used, next := map[int]bool{}, 1
		for range 300 {
			id := random.IntN(most)
			s.add(id)
			used[id] = true
			next = max(next, id+1)
			for i := range most {
				if s.has(i) != used[i] {
					t.Fatalf("%d is in the set: %v; ranges %v", i, s.has(i), s.ranges)
				}
			}
			if id, ok := s.next(); id != next || !ok {
				t.Fatalf("next is %d, want %d", id, next)
			}
		}
	}
}

func TestIDsInOrderTakeNoRoom(t *testing.T) {
	var s ids
	for range 1_000_000 {
		id, _ := s.next()
		s.add(id)
	}
	if id, _ := s.next(); len(s.ranges) != 1 || id != 1_000_001 {
		t.Errorf("%d ranges, next %d", len(s.ranges), id)
	}
}

func TestTheLargestIDDoesNotSpendTheOthers(t *testing.T) {
	for name, c := range map[string]struct {
		used []int
		next int // 0: none
	}{
		"alone":       {[]int{propagate.MaxObjectID}, 1},
		"with some":   {[]int{0, 7, propagate.MaxObjectID, propagate.MaxObjectID - 1}, 8},
		"with 0":      {[]int{0, propagate.MaxObjectID}, 1},
		"none at all": {nil, 1},
	} {
		var s ids
		for _, id := range c.used {
			s.add(id)
		}
		if id, ok := s.next(); id != c.next || ok != (c.next > 0) {
			t.Errorf("%s: %d %v, want %d", name, id, ok, c.next)
		}
	}
	all := ids{ranges: []idRange{{1, propagate.MaxObjectID}}}
	if id, ok := all.next(); ok {
		t.Errorf("all are given, and then %d", id)
	}
}

func TestScatteredIDsTakeBoundedRoomAndStayUsed(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var s ids
	var used []int
	for range 20_000 {
		id := random.IntN(1 << 31)
		s.add(id)
		used = append(used, id)
	}
	if len(s.ranges) > idRanges {
		t.Errorf("%d ranges", len(s.ranges))
	}
	for _, id := range used {
		if !s.has(id) {
			t.Fatalf("%d could be used again", id)
		}
	}
}
