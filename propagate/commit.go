package propagate

import (
	"fmt"
	"slices"

	"maskstream/memory"
)

// pending is the answer to a prompt that is not yet part of the memory.
type pending struct {
	frame int
	kind  memory.Kind
	entry *memory.Entry
}

// await takes ownership of the answer to a prompt, in place of an earlier one on that frame.
func (o *object) await(frame int, kind memory.Kind, e *memory.Entry) {
	for i, p := range o.pending {
		if p.frame == frame {
			p.entry.Release()
			o.pending[i] = pending{frame, kind, e}
			return
		}
	}
	o.pending = append(o.pending, pending{frame, kind, e})
}

// awaits returns the pending answer of the given kind on a frame, borrowed, or nil.
func (o *object) awaits(frame int, kind memory.Kind) *memory.Entry {
	for _, p := range o.pending {
		if p.frame == frame && p.kind == kind {
			return p.entry
		}
	}
	return nil
}

// withdraw forgets the pending answer on a frame, where there is one.
func (o *object) withdraw(frame int) {
	o.pending = slices.DeleteFunc(o.pending, func(p pending) bool {
		if p.frame == frame {
			p.entry.Release()
		}
		return p.frame == frame
	})
}

// Commit makes pending prompts part of the memory (propagate_in_video_preflight). It is called before a pass; the error is
// ErrNoObjects, wraps tensor.ErrExhausted, or wraps ErrUnprompted for the first object that has no prompted frame: then the
// prompts of all others have been committed, and Step leaves that object out.
func (t *Tracker) Commit() error {
	if len(t.objects) == 0 {
		return ErrNoObjects
	}
	for _, o := range t.objects {
		if err := t.commit(o); err != nil {
			return fmt.Errorf("committing the prompts of object %d: %w", o.id, err)
		}
	}
	for _, o := range t.objects {
		if !o.prompted() {
			return fmt.Errorf("object %d: %w; prompt it again or remove it", o.id, ErrUnprompted)
		}
	}
	return nil
}

// commit files an object's pending answers in the order of the prompts.
func (t *Tracker) commit(o *object) error {
	for len(o.pending) > 0 {
		p := o.pending[0]
		o.pending = slices.Delete(o.pending, 0, 1)
		if err := o.bank.Add(p.frame, p.kind, p.entry); err != nil {
			return err
		}
		t.clearAround(o, p.frame)
	}
	return nil
}

// clearAround forgets what was remembered just around a prompted frame, which may show what the prompt has put right.
func (t *Tracker) clearAround(o *object, frame int) {
	if t.options.ClearAroundInput {
		o.bank.ClearAround(frame, t.policy.Around())
	}
}

// prompted says whether the object has a committed prompted frame to be tracked by.
func (o *object) prompted() bool { return o.bank.Conditioned() }

func (o *object) release() {
	o.bank.Release()
	for _, p := range o.pending {
		p.entry.Release()
	}
}
