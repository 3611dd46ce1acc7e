package memory_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"maskstream/memory"
)

// picked is a frame with its temporal position or its distance.
type picked struct{ frame, at int }

// restated is _prepare_memory_conditioned_features said again, over plain lists: conditioning in the order of insertion.
func restated(conditioning, recent []int, t int, reverse bool, p memory.Policy) (spatial, pointers []picked) {
	selected := conditioning
	if p.MaxConditioning > 0 && len(conditioning) > p.MaxConditioning {
		selected = nil
		before, after := -1, -1
		for _, c := range conditioning {
			if c < t && (before < 0 || c > before) {
				before = c
			}
			if c >= t && (after < 0 || c < after) {
				after = c
			}
		}
		for _, c := range []int{before, after} {
			if c >= 0 {
				selected = append(selected, c)
			}
		}
		remain := slices.DeleteFunc(slices.Clone(conditioning), func(c int) bool { return slices.Contains(selected, c) })
		slices.SortStableFunc(remain, func(a, b int) int { return cmp.Compare(max(a-t, t-a), max(b-t, t-b)) })
		selected = append(selected, remain[:p.MaxConditioning-len(selected)]...)
	}
	selected = slices.Sorted(slices.Values(selected))
	has := func(f int) bool {
		lost := slices.Contains(conditioning, f) && !slices.Contains(selected, f)
		return slices.Contains(recent, f) || lost
	}
	for _, c := range selected {
		spatial = append(spatial, picked{c, p.NumMaskmem - 1})
	}
	for position := 1; position < p.NumMaskmem; position++ {
		relative := p.NumMaskmem - position
		var f int
		switch {
		case relative == 1 && !reverse:
			f = t - 1
		case relative == 1:
			f = t + 1
		case !reverse: // every stride-th frame, counted from 0, that lies before t − 1
			for f = t - 2; f%p.Stride != 0; f-- {
			}
			f -= (relative - 2) * p.Stride
		default:
			for f = t + 2; f%p.Stride != 0; f++ {
			}
			f += (relative - 2) * p.Stride
		}
		if has(f) {
			spatial = append(spatial, picked{f, p.NumMaskmem - position - 1})
		}
	}
	sign := 1
	if reverse {
		sign = -1
	}
	for _, c := range selected {
		past := c <= t
		if reverse {
			past = c >= t
		}
		distance := (t - c) * sign
		if !p.Signed {
			distance = max(distance, -distance)
		}
		if past || !p.OnlyPast {
			pointers = append(pointers, picked{c, distance})
		}
	}
	for distance := 1; distance < p.MaxPointers; distance++ {
		if f := t - sign*distance; has(f) {
			pointers = append(pointers, picked{f, distance})
		}
	}
	return spatial, pointers
}

// flat is a selection in the same form.
func flat(s memory.Selection) (spatial, pointers []picked) {
	for _, m := range slices.Concat(s.Conditioning, s.Recent) {
		spatial = append(spatial, picked{m.Frame, m.Temporal})
	}
	for _, p := range s.Pointers {
		pointers = append(pointers, picked{p.Frame, p.Distance})
	}
	return spatial, pointers
}

func TestSelectionEqualsTheReferenceOnRandomBanks(t *testing.T) {
	pool := newPool(t, "state")
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		p := memory.Policy{NumMaskmem: 1 + random.IntN(8), MaxPointers: 1 + random.IntN(16), MaxConditioning: []int{-1, 2, 3, 4, 7}[random.IntN(5)],
			Stride: 1 + random.IntN(4), OnlyPast: random.IntN(2) == 0, Signed: random.IntN(2) == 0}
		length := 1 + random.IntN(60)
		frames := random.Perm(length)
		prompts := random.IntN(1 + length/2)
		conditioning := frames[:prompts] // random order of prompts
		recent := slices.DeleteFunc(slices.Clone(frames[prompts:]), func(int) bool { return random.IntN(4) == 0 })
		bank := memory.NewBank(memory.Everything, nil, nil)
		for _, f := range recent {
			add(t, bank, pool, f, memory.Recent)
		}
		for _, f := range conditioning {
			add(t, bank, pool, f, memory.Conditioning)
		}
		for range 10 {
			frame, reverse := random.IntN(length+3), random.IntN(2) == 0
			direction := memory.Forward
			if reverse {
				direction = memory.Reverse
			}
			s := bank.Select(frame, direction, p)
			spatial, pointers := flat(s)
			wantSpatial, wantPointers := restated(conditioning, recent, frame, reverse, p)
			if !slices.Equal(spatial, wantSpatial) || !slices.Equal(pointers, wantPointers) {
				t.Fatalf("frame %d, reverse %v, policy %+v, conditioning %v, recent %v:\n got %v %v\nwant %v %v",
					frame, reverse, p, conditioning, recent, spatial, pointers, wantSpatial, wantPointers)
			}
			a := s.Attention()
			for i, m := range spatial {
				if e, _ := bank.Find(m.frame); a.Memories[i].Features != e.Features || a.Memories[i].Temporal != m.at {
					t.Fatalf("memory %d of the attention is not frame %d's", i, m.frame)
				}
			}
			for i, m := range pointers {
				if a.Pointers[i].Vector.Float32s()[0] != float32(m.frame) || a.Pointers[i].Distance != float32(m.at) {
					t.Fatalf("pointer %d of the attention is not frame %d's", i, m.frame)
				}
			}
		}
		bank.Release()
	}
}
