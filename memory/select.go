package memory

import (
	"slices"

	"maskstream/model"
)

// Policy says how much a frame attends to, under the reference's names.
type Policy struct {
	NumMaskmem      int  // 7: one current and six recent frames
	MaxPointers     int  // max_obj_ptrs_in_encoder, 16; 0 where the network takes no pointers
	MaxConditioning int  // max_cond_frames_in_attn; −1, as 0, is all
	Stride          int  // memory_temporal_stride_for_eval; 0 is 1
	OnlyPast        bool // only_obj_ptrs_in_the_past_for_eval: pointers of conditioning frames ahead are left out
	Signed          bool // use_signed_tpos_enc_to_obj_ptrs: distances to frames ahead are negative
	MotionAware     bool // recent memories by quality instead of recency (SAMURAI, arXiv 2411.11922)
}

// PolicyOf is what the model's configuration asks for.
func PolicyOf(c model.Config) Policy {
	p := Policy{NumMaskmem: c.NumMaskmem, MaxPointers: c.MaxObjPtrsInEncoder, MaxConditioning: c.MaxCondFramesInAttn,
		Stride: c.MemoryTemporalStride, OnlyPast: c.OnlyPastObjPtrs, Signed: c.SignedObjPtrTemporal}
	if !c.ObjPtrsInEncoder {
		p.MaxPointers = 0
	}
	return p
}

// reach is how many frames behind the oldest recent memory can lie.
func (p Policy) reach() int { return p.stride() * (p.NumMaskmem - 1) }

// Around is how many frames on either side of a prompted one may show what the prompt has put right
// (_clear_non_cond_mem_around_input).
func (p Policy) Around() int { return p.stride() * p.NumMaskmem }

func (p Policy) stride() int { return max(1, p.Stride) }

// Selection is what one object attends to on one frame. Entries are borrowed from the bank.
type Selection struct {
	Conditioning []Memory  // in ascending order
	Recent       []Memory  // from far to near
	Pointers     []Pointed // conditioning frames first, then from near to far
}

// Memory is a chosen spatial memory with its row of the temporal position embedding.
type Memory struct {
	Frame    int
	Entry    *Entry
	Temporal int
}

// Pointed is a chosen object pointer with its distance in frames.
type Pointed struct {
	Frame    int
	Entry    *Entry
	Distance int
}

// Select picks what frame attends to in a pass of the given direction (semantics: A.6).
func (b *Bank) Select(frame int, direction Direction, p Policy) Selection {
	var s Selection
	selected, unselected := b.closestConditioning(frame, p.MaxConditioning)
	for _, f := range selected {
		s.Conditioning = append(s.Conditioning, Memory{f, b.conditioning[f], p.NumMaskmem - 1})
	}
	if p.MotionAware {
		s.Recent = b.recentByQuality(frame, direction, p, unselected)
	} else {
		s.Recent = b.recentInTime(frame, direction, p, unselected)
	}
	if p.MaxPointers == 0 {
		return s
	}
	for _, f := range selected {
		distance := direction.From(f, frame)
		if p.OnlyPast && distance < 0 {
			continue
		}
		if !p.Signed {
			distance = abs(distance)
		}
		s.Pointers = append(s.Pointers, Pointed{f, b.conditioning[f], distance})
	}
	for distance := 1; distance < p.MaxPointers; distance++ {
		f := direction.before(frame, distance)
		if e := b.recentOrUnselected(f, unselected); e != nil {
			s.Pointers = append(s.Pointers, Pointed{f, e, distance})
		}
	}
	return s
}

// recentInTime are the nearest frames behind, as far as they are remembered, from far to near.
func (b *Bank) recentInTime(frame int, direction Direction, p Policy, unselected []int) []Memory {
	var chosen []Memory
	for distance := p.NumMaskmem - 1; distance >= 1; distance-- {
		f := recentFrame(frame, distance, direction, p.stride())
		if e := b.recentOrUnselected(f, unselected); e != nil && e.Features != nil {
			chosen = append(chosen, Memory{f, e, distance - 1})
		}
	}
	return chosen
}

// closestConditioning splits the conditioning frames into at most limit selected ones (the nearest before frame, the nearest at
// or after it, then the nearest of the rest, of two equally near ones the one prompted first; sam2_utils.
// select_closest_cond_frames) and the others. Both are in ascending order.
func (b *Bank) closestConditioning(frame, limit int) (selected, unselected []int) {
	frames := b.Frames(Conditioning)
	if limit <= 0 || len(frames) <= limit {
		return frames, nil
	}
	after, _ := slices.BinarySearch(frames, frame)
	rest := slices.Clone(b.prompted)
	take := func(f int) {
		selected = append(selected, f)
		rest = slices.DeleteFunc(rest, func(r int) bool { return r == f })
	}
	if after > 0 {
		take(frames[after-1])
	}
	if after < len(frames) && len(selected) < limit {
		take(frames[after])
	}
	slices.SortStableFunc(rest, func(a, c int) int { return abs(a-frame) - abs(c-frame) })
	for _, f := range slices.Clone(rest[:limit-len(selected)]) {
		take(f)
	}
	slices.Sort(selected)
	slices.Sort(rest)
	return selected, rest
}

// step is the way of a pass in time.
func (d Direction) step() float64 { return float64(d) }

// before is the frame that lies so far behind.
func (d Direction) before(frame, distance int) int { return frame - distance*int(d) }

// recentFrame is the frame that fills the slot at a relative distance: the neighbour, then every stride-th frame.
func recentFrame(frame, distance int, direction Direction, stride int) int {
	if distance == 1 {
		return direction.before(frame, 1)
	}
	// The grid of every stride-th frame is fixed, so that neighbours in time share memories.
	if direction == Forward {
		return floorDiv(frame-2, stride)*stride - (distance-2)*stride
	}
	return -floorDiv(-(frame+2), stride)*stride + (distance-2)*stride
}

// recentOrUnselected is the entry of a frame that is no selected conditioning frame, or nil.
func (b *Bank) recentOrUnselected(frame int, unselected []int) *Entry {
	if e, ok := b.recent[frame]; ok {
		return e
	}
	if _, ok := slices.BinarySearch(unselected, frame); ok {
		return b.conditioning[frame]
	}
	return nil
}

// Attention is the selection as the network takes it.
func (s Selection) Attention() model.Attention {
	var a model.Attention
	for _, m := range slices.Concat(s.Conditioning, s.Recent) {
		a.Memories = append(a.Memories, model.SpatialMemory{Features: m.Entry.Features, Temporal: m.Temporal})
	}
	for _, p := range s.Pointers {
		a.Pointers = append(a.Pointers, model.Pointer{Vector: p.Entry.Pointer, Distance: float32(p.Distance)})
	}
	return a
}

// From is how many frames a pass in this direction goes from one frame to another; negative where it would have to turn.
func (d Direction) From(frame, to int) int {
	if d == Reverse {
		return frame - to
	}
	return to - frame
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func abs(i int) int { return max(i, -i) }
