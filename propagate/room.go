package propagate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"maskstream/memory"
	"maskstream/model"
	"maskstream/tensor"
)

// slack is the share of a full pool that is emptied beyond what is wanted, so that it is not full again at once.
const slack = 8

// MakeRoom moves what is remembered out of the pool that err says is full, into the other one of Options.State and
// Options.Overflow, what is needed last first: the frames farthest from the one tracked last, and prompted ones after all others. Where
// nothing is left to move, it asks Options.MakeRoom. It returns nil where there is room now, so that what failed may be tried again;
// else err, with why nothing could be moved.
func (t *Tracker) MakeRoom(err error) error {
	err = t.moveOut(err)
	if err != nil && t.options.MakeRoom != nil {
		return t.options.MakeRoom(err)
	}
	return err
}

// InRoom does something else that takes room, again as long as room can be made for it.
func (t *Tracker) InRoom(do func() error) error {
	_, err := inRoom(t.MakeRoom, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

func (t *Tracker) moveOut(err error) error {
	var full *tensor.Exhausted
	to := t.options.Overflow
	if !errors.As(err, &full) || to == nil || full.Want > full.Budget {
		return err
	}
	if full.Pool == to {
		to = t.options.State
	}
	if to == nil || to == full.Pool {
		return err
	}
	moved := false
	for _, e := range t.neededLast(full.Pool) {
		if full.Pool.Budget()-full.Pool.Stats().LiveBytes >= full.Want+full.Budget/slack {
			break
		}
		if failed := e.MoveTo(to); failed != nil {
			if !moved {
				return fmt.Errorf("%w; and what is remembered cannot move out: %w", err, failed)
			}
			break
		}
		moved = true
	}
	if !moved {
		return err
	}
	return nil
}

// neededLast lists what is remembered in a pool. Entries of one frame are neighbours: they may share a block, which is free only when
// all have left it.
func (t *Tracker) neededLast(pool *tensor.Pool) []*memory.Entry {
	type held struct {
		frame, distance int
		kind            memory.Kind
		entry           *memory.Entry
	}
	var all []held
	hold := func(frame int, kind memory.Kind, e *memory.Entry) {
		if e.LivesIn(pool) {
			all = append(all, held{frame, max(frame-t.at, t.at-frame), kind, e})
		}
	}
	for _, o := range t.objects {
		o.bank.Each(hold)
		for _, p := range o.pending {
			hold(p.frame, memory.Conditioning, p.entry)
		}
	}
	slices.SortFunc(all, func(a, b held) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(b.distance, a.distance), cmp.Compare(a.frame, b.frame))
	})
	entries := make([]*memory.Entry, len(all))
	for i, h := range all {
		entries[i] = h.entry
	}
	return entries
}

// roomy is a network whose verbs are tried again when there was no room for what they make and some could be made. Not AttendMemory: what
// it is handed may have moved by then, see attend.
type roomy struct {
	model.Network
	makeRoom func(error) error
}

// EncodeImage implements [model.Network].
func (r roomy) EncodeImage(pixels *tensor.Tensor) (*model.Features, error) {
	return inRoom(r.makeRoom, func() (*model.Features, error) { return r.Network.EncodeImage(pixels) })
}

// DecodeMasks implements [model.Network].
func (r roomy) DecodeMasks(features *model.Features, embedding *tensor.Tensor, prompts []model.Prompt) (*model.Prediction, error) {
	return inRoom(r.makeRoom, func() (*model.Prediction, error) { return r.Network.DecodeMasks(features, embedding, prompts) })
}

// EncodeMemory implements [model.Network].
func (r roomy) EncodeMemory(features *model.Features, logits *tensor.Tensor, scores []float32, binarize []bool) (*tensor.Tensor, error) {
	return inRoom(r.makeRoom, func() (*tensor.Tensor, error) { return r.Network.EncodeMemory(features, logits, scores, binarize) })
}

// mostTurns is how often another pool than the one before may be full while one thing is tried: where both are, memories would move back
// and forth for ever. As long as it is the same one, each try finds more room in it.
const mostTurns = 8

// inRoom is InRoom of something that makes a value.
func inRoom[T any](makeRoom func(error) error, do func() (T, error)) (T, error) {
	var last *tensor.Pool
	for turns := 0; ; {
		made, err := do()
		if err == nil {
			return made, nil
		}
		var full *tensor.Exhausted
		if errors.As(err, &full) && full.Pool != last {
			last = full.Pool
			turns++
		}
		if turns > mostTurns {
			return made, fmt.Errorf("%w; and there is no room in both pools at once", err)
		}
		if err = makeRoom(err); err != nil {
			return made, err
		}
	}
}
