package memory

import (
	"slices"

	"maskstream/tensor"
)

// Retention says how far back a bank remembers, in frames behind the newest one added. A script keeps everything, since a
// later step may use any of it; a live stream is bounded for ever.
type Retention struct {
	Spatial      int // recent frames whose features stay; 0 is all
	Pointers     int // recent frames that stay at all; 0 is all
	Logits       int // frames whose logits stay for corrections; 0 is all
	Conditioning int // prompted frames that stay, newest first; 0 is all
	Good         int // good recent frames, newest first, whose features stay longer, to be chosen by quality

	Direction Direction // of the pass, whose newest frame is the last one added; 0 is Forward
}

// Everything keeps every frame.
var Everything = Retention{}

// Live is the retention of an endless stream that may be corrected up to history frames back: 6 recent memories and 15 pointers
// are all that a forward pass can reach, and a correction of the newest frame starts one frame further back. Prompted frames are
// bounded where the policy bounds how many of them are attended to.
func Live(policy Policy, history int) Retention {
	r := Retention{Spatial: policy.reach() + 1, Pointers: max(policy.MaxPointers, policy.reach()+1), Logits: max(1, history)}
	if policy.MaxConditioning > 0 {
		// A prompted frame that lost the cut still serves as a recent one.
		r.Conditioning = policy.MaxConditioning + r.Pointers
	}
	if policy.MotionAware {
		r.Good = policy.NumMaskmem // one more than can be chosen, for a correction of the newest frame
	}
	return r
}

// OnePass is the retention of a forward pass that nothing follows: prompted frames stay, others as far as it can reach back.
func OnePass(policy Policy) Retention {
	r := Live(policy, 1)
	r.Logits, r.Conditioning = 0, 0
	return r
}

// Bank is one object's memory. It belongs to one goroutine.
type Bank struct {
	retention Retention
	home      *tensor.Pool // of features and logits; nil leaves them where they are
	overflow  *tensor.Pool // where they go when home is full; nil: nowhere

	conditioning map[int]*Entry
	recent       map[int]*Entry
	prompted     []int // the conditioning frames in the order in which they became ones, which decides ties
	held         *int  // see Hold; nil where nothing is held
}

// NewBank returns an empty bank whose features and logits live in home (offload_state_to_cpu is the choice of a host pool), or
// stay where they were made where home is nil. When home is full they go to overflow, where that is not nil.
func NewBank(retention Retention, home, overflow *tensor.Pool) *Bank {
	return &Bank{retention: retention, home: home, overflow: overflow, conditioning: map[int]*Entry{}, recent: map[int]*Entry{}}
}

// Add files what a frame left behind, in place of an older entry of the same kind, and forgets what retention no longer
// holds. A frame has one kind: a conditioning entry replaces a recent one, and a recent one of a conditioning frame is not kept.
// It takes ownership of e, also where it returns an error: tensor.ErrExhausted when there is no room for it.
func (b *Bank) Add(frame int, kind Kind, e *Entry) error {
	_, conditioned := b.conditioning[frame]
	if conditioned && kind == Recent {
		e.Release()
		return nil
	}
	if err := e.store(b.home, b.overflow); err != nil {
		e.Release()
		return err
	}
	entries := b.entries(kind)
	entries[frame].Release()
	entries[frame] = e
	if kind == Conditioning {
		b.Drop(frame, Recent)
		if !conditioned {
			b.prompted = append(b.prompted, frame)
		}
	}
	b.forget(frame)
	return nil
}

// Get returns a frame's entry, borrowed.
func (b *Bank) Get(frame int, kind Kind) (*Entry, bool) {
	e, ok := b.entries(kind)[frame]
	return e, ok
}

// Find returns a frame's entry of either kind, borrowed, the conditioning one first.
func (b *Bank) Find(frame int) (*Entry, bool) {
	if e, ok := b.conditioning[frame]; ok {
		return e, true
	}
	return b.Get(frame, Recent)
}

// Drop forgets a frame's entry of one kind.
func (b *Bank) Drop(frame int, kind Kind) {
	entries := b.entries(kind)
	entries[frame].Release()
	delete(entries, frame)
	if kind == Conditioning {
		b.unprompt(frame)
	}
}

func (b *Bank) unprompt(frame int) {
	b.prompted = slices.DeleteFunc(b.prompted, func(f int) bool { return f == frame })
}

// Downgrade turns a conditioning frame into a recent one, as when its prompts are cleared, and says whether it was one.
func (b *Bank) Downgrade(frame int) bool {
	e, ok := b.conditioning[frame]
	if !ok {
		return false
	}
	delete(b.conditioning, frame)
	b.unprompt(frame)
	b.recent[frame] = e
	return true
}

// ClearAround forgets the recent frames within reach frames of frame on either side (clear_non_cond_mem_around_input).
func (b *Bank) ClearAround(frame, reach int) {
	for f := range b.recent {
		if f >= frame-reach && f <= frame+reach {
			b.Drop(f, Recent)
		}
	}
}

// Hold keeps what a pass that follows the newest frame at a distance, and has come to frame, may still attend to: it counts as if
// frame were the newest. Add would forget it, because it lies behind frames that were added before.
func (b *Bank) Hold(frame int) { b.held = &frame }

// LetGo ends Hold.
func (b *Bank) LetGo() { b.held = nil }

// Snapshot is a bank of its own with what a pass away from frame may attend to: the conditioning frames and what was remembered
// on frame itself. The two share tensors, not entries.
func (b *Bank) Snapshot(frame int, retention Retention) *Bank {
	s := NewBank(retention, b.home, b.overflow)
	for f, e := range b.conditioning {
		s.conditioning[f] = e.share()
	}
	s.prompted = slices.Clone(b.prompted)
	if e, ok := b.recent[frame]; ok {
		s.recent[frame] = e.share()
	}
	return s
}

// Frames lists the frames of one kind in ascending order.
func (b *Bank) Frames(kind Kind) []int {
	frames := make([]int, 0, len(b.entries(kind)))
	for f := range b.entries(kind) {
		frames = append(frames, f)
	}
	slices.Sort(frames)
	return frames
}

// Each calls visit with every entry, borrowed, in no order.
func (b *Bank) Each(visit func(frame int, kind Kind, e *Entry)) {
	for _, kind := range []Kind{Conditioning, Recent} {
		for f, e := range b.entries(kind) {
			visit(f, kind, e)
		}
	}
}

// Conditioned says whether there is a conditioning frame.
func (b *Bank) Conditioned() bool { return len(b.conditioning) > 0 }

// Release forgets everything.
func (b *Bank) Release() {
	for _, entries := range []map[int]*Entry{b.conditioning, b.recent} {
		for f, e := range entries {
			e.Release()
			delete(entries, f)
		}
	}
	b.prompted = nil
}

func (b *Bank) entries(kind Kind) map[int]*Entry {
	if kind == Conditioning {
		return b.conditioning
	}
	return b.recent
}

// forget applies retention as seen from the newest frame. A prompted frame too many becomes a recent one, which may still be
// corrected.
func (b *Bank) forget(newest int) {
	r := b.retention
	if r.Conditioning > 0 && len(b.conditioning) > r.Conditioning {
		frames := b.Frames(Conditioning)
		for _, f := range frames[:len(frames)-r.Conditioning] {
			b.Downgrade(f)
		}
	}
	good := b.keepGood(newest)
	for f, e := range b.recent {
		behind := b.behind(newest, f)
		switch {
		case good[f]:
		case r.Pointers > 0 && behind > max(r.Pointers, r.Spatial, r.Logits):
			b.Drop(f, Recent)
			continue
		case r.Spatial > 0 && behind > r.Spatial:
			e.dropFeatures()
		}
		b.forgetLogits(e, behind)
	}
	for f, e := range b.conditioning {
		b.forgetLogits(e, b.behind(newest, f))
	}
}

// behind is how many frames back f lies, as 1 from itself: from the newest frame, or from the held one where that is nearer.
func (b *Bank) behind(newest, f int) int {
	behind := b.retention.Direction.From(f, newest) + 1
	if b.held != nil {
		if held := b.retention.Direction.From(f, *b.held) + 1; held > 0 {
			behind = min(behind, held)
		}
	}
	return behind
}

func (b *Bank) forgetLogits(e *Entry, behind int) {
	if b.retention.Logits > 0 && behind > b.retention.Logits {
		e.dropLogits()
	}
}
