package memory_test

import (
	"slices"
	"testing"

	"maskstream/memory"
	"maskstream/model"
)

func TestWhatAFrameAttendsTo(t *testing.T) {
	policy := func(change func(*memory.Policy)) memory.Policy {
		p := sam2
		change(&p)
		return p
	}
	at := func(pairs ...int) []picked {
		var all []picked
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, picked{pairs[i], pairs[i+1]})
		}
		return all
	}
	for _, c := range []struct {
		name                 string
		recent, conditioning []int
		frame                int
		direction            memory.Direction
		policy               memory.Policy
		spatial, pointers    []picked
	}{
		{"the first frame after the prompt has only that", nil, []int{0}, 1, memory.Forward, sam2,
			at(0, 6), at(0, 1)},
		{"six recent memories from far to near, fifteen pointers from near to far", span(1, 30), []int{0}, 31, memory.Forward, sam2,
			at(0, 6, 25, 5, 26, 4, 27, 3, 28, 2, 29, 1, 30, 0),
			at(0, 31, 30, 1, 29, 2, 28, 3, 27, 4, 26, 5, 25, 6, 24, 7, 23, 8, 22, 9, 21, 10, 20, 11, 19, 12, 18, 13, 17, 14, 16, 15)},
		{"a selected prompted frame leaves its recent slot empty", span(1, 4), []int{0, 3}, 5, memory.Forward, sam2,
			at(0, 6, 3, 6, 1, 3, 2, 2, 4, 0), at(0, 5, 3, 2, 4, 1, 2, 3, 1, 4)},
		{"missing frames are not padded", []int{1, 4}, []int{0}, 6, memory.Forward, sam2,
			at(0, 6, 1, 4, 4, 1), at(0, 6, 4, 2, 1, 5)},
		{"reverse attends to what lies ahead", span(16, 19), []int{20}, 15, memory.Reverse, sam2,
			at(20, 6, 19, 3, 18, 2, 17, 1, 16, 0), at(20, 5, 16, 1, 17, 2, 18, 3, 19, 4)},
		{"a prompt from the future is a memory but no pointer", []int{4}, []int{9}, 5, memory.Forward, sam2,
			at(9, 6, 4, 0), at(4, 1)},
		{"with pointers of the future, distances are signed", nil, []int{2, 9}, 5, memory.Forward, policy(func(p *memory.Policy) { p.OnlyPast = false }),
			at(2, 6, 9, 6), at(2, 3, 9, -4)},
		{"and signed the other way in reverse", nil, []int{2, 9}, 5, memory.Reverse, policy(func(p *memory.Policy) { p.OnlyPast = false }),
			at(2, 6, 9, 6), at(2, -3, 9, 4)},
		{"unsigned they are plain distances", nil, []int{2, 9}, 5, memory.Forward, policy(func(p *memory.Policy) { p.OnlyPast, p.Signed = false, false }),
			at(2, 6, 9, 6), at(2, 3, 9, 4)},
		{"a frame corrected again attends to its own memory", []int{4, 6}, []int{0, 5}, 5, memory.Forward, sam2,
			at(0, 6, 5, 6, 4, 0), at(0, 5, 5, 0, 4, 1)},
		{"two prompted frames at most: one before, one at or after", nil, []int{0, 10, 20, 30}, 20, memory.Forward, policy(func(p *memory.Policy) { p.MaxConditioning = 2 }),
			at(10, 6, 20, 6), at(10, 10, 20, 0, 10, 10)[:2]},
		{"a third is the nearest of the rest", nil, []int{0, 10, 20, 31}, 21, memory.Forward, policy(func(p *memory.Policy) { p.MaxConditioning = 3 }),
			at(10, 6, 20, 6, 31, 6), at(10, 11, 20, 1)},
		{"of two equally near ones the one prompted first", nil, []int{30, 10, 18, 22}, 20, memory.Forward, policy(func(p *memory.Policy) { p.MaxConditioning = 3 }),
			at(18, 6, 22, 6, 30, 6), at(18, 2, 10, 10)},
		{"a prompted frame that lost the cut serves as a recent one", []int{7}, []int{5, 6, 8, 9}, 10, memory.Forward, policy(func(p *memory.Policy) { p.MaxConditioning = 2 }),
			at(8, 6, 9, 6, 5, 4, 6, 3, 7, 2), at(8, 2, 9, 1, 7, 3, 6, 4, 5, 5)},
		{"every third frame forward", span(1, 29), []int{0}, 30, memory.Forward, policy(func(p *memory.Policy) { p.Stride, p.MaxPointers = 3, 1 }),
			at(0, 6, 15, 5, 18, 4, 21, 3, 24, 2, 27, 1, 29, 0), at(0, 30)},
		{"every third frame in reverse", span(1, 29), []int{30}, 0, memory.Reverse, policy(func(p *memory.Policy) { p.Stride, p.MaxPointers = 3, 1 }),
			at(30, 6, 15, 5, 12, 4, 9, 3, 6, 2, 3, 1, 1, 0), at(30, 30)},
		{"strides near the start reach below zero and find nothing", span(1, 2), []int{0}, 3, memory.Forward, policy(func(p *memory.Policy) { p.Stride = 2 }),
			at(0, 6, 2, 0), at(0, 3, 2, 1, 1, 2)},
		{"a network without pointers gets none", span(1, 3), []int{0}, 4, memory.Forward, policy(func(p *memory.Policy) { p.MaxPointers = 0 }),
			at(0, 6, 1, 2, 2, 1, 3, 0), nil},
		{"a limit of zero is none", nil, []int{1, 2, 3}, 4, memory.Forward, policy(func(p *memory.Policy) { p.MaxConditioning = 0 }),
			at(1, 6, 2, 6, 3, 6), at(1, 3, 2, 2, 3, 1)},
		{"an empty bank has nothing", nil, nil, 4, memory.Forward, sam2, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			bank := bankOf(t, newPool(t, "state"), memory.Everything, c.recent, c.conditioning)
			spatial, pointers := flat(bank.Select(c.frame, c.direction, c.policy))
			if !slices.Equal(spatial, c.spatial) {
				t.Errorf("memories and their temporal positions: %v, want %v", spatial, c.spatial)
			}
			if !slices.Equal(pointers, c.pointers) {
				t.Errorf("pointers and their distances: %v, want %v", pointers, c.pointers)
			}
		})
	}
}

func TestPolicyFollowsTheConfiguration(t *testing.T) {
	c := model.Config{NumMaskmem: 7, MaxObjPtrsInEncoder: 16, MaxCondFramesInAttn: 4, MemoryTemporalStride: 2, ObjPtrsInEncoder: true, OnlyPastObjPtrs: true, SignedObjPtrTemporal: true}
	want := memory.Policy{NumMaskmem: 7, MaxPointers: 16, MaxConditioning: 4, Stride: 2, OnlyPast: true, Signed: true}
	if got := memory.PolicyOf(c); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	c.ObjPtrsInEncoder = false
	if got := memory.PolicyOf(c).MaxPointers; got != 0 {
		t.Errorf("use_obj_ptrs_in_encoder is off, yet %d pointers", got)
	}
	if got := sam2.Around(); got != 7 {
		t.Errorf("a prompt reaches %d frames around it, want 7", got)
	}
}
