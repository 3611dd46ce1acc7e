package propagate

import (
	"slices"

	"maskstream/memory"
	"maskstream/model"
	"maskstream/tensor"
)

// attentionBudget bounds the attention scores of one batch, in float32 values: beyond it more objects at once gain nothing.
const attentionBudget = 32 << 20

// attend conditions the frame on each object's memories. Objects with equally many memories and pointers share a batch.
func (t *Tracker) attend(frame int, features *model.Features, objects []*object, direction memory.Direction) (*tensor.Tensor, error) {
	selections := make([]memory.Selection, len(objects))
	for i, o := range objects {
		s := o.bank.Select(frame, direction, t.policy)
		selections[i] = s
		t.trace(frame, o.id, direction, s)
	}
	order := make([]int, len(objects)) // of objects, so that equal shapes are neighbours
	for i := range order {
		order[i] = i
	}
	shape := func(i int) [2]int {
		return [2]int{len(selections[i].Conditioning) + len(selections[i].Recent), len(selections[i].Pointers)}
	}
	slices.SortStableFunc(order, func(a, b int) int { x, y := shape(a), shape(b); return slices.Compare(x[:], y[:]) })

	parts := make([]*tensor.Tensor, len(objects)) // C×h×w each
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	for len(order) > 0 {
		memories := shape(order[0])[0]
		n := 1
		for n < len(order) && n < t.attentionBatch(memories) && shape(order[n]) == shape(order[0]) {
			n++
		}
		conditioned, err := inRoom(t.room, func() (*tensor.Tensor, error) {
			batch := make([]model.Attention, n) // anew each time: making room moves memories, and releases where they were
			for i := range batch {
				batch[i] = selections[order[i]].Attention()
			}
			return t.network.AttendMemory(features, batch)
		})
		if err != nil {
			return nil, err
		}
		if n == len(objects) {
			return conditioned, nil // the sort is stable: already in order
		}
		for i, at := range order[:n] {
			parts[at] = conditioned.Index(i)
		}
		conditioned.Release()
		order = order[n:]
	}
	return inRoom(t.MakeRoom, func() (*tensor.Tensor, error) { return tensor.Stack(parts[0].Pool(), parts...) })
}

// attentionBatch is how many objects with so many memories are attended to at once.
func (t *Tracker) attentionBatch(memories int) int {
	c := t.network.Config()
	return max(1, attentionBudget/(c.Cells()*c.Cells()*c.MemoryTokens()*max(1, memories)))
}

func (t *Tracker) trace(frame, id int, direction memory.Direction, s memory.Selection) {
	if t.options.Trace == nil {
		return
	}
	c := t.network.Config()
	spatial := len(s.Conditioning) + len(s.Recent)
	tr := Trace{Frame: frame, Object: id, Pass: direction, Tokens: spatial*c.MemoryTokens() + len(s.Pointers)*c.PointerTokens(), Conditioning: []int{}, Recent: []int{}, Pointers: []int{}}
	for _, m := range s.Conditioning {
		tr.Conditioning = append(tr.Conditioning, m.Frame)
	}
	for _, m := range s.Recent {
		tr.Recent = append(tr.Recent, m.Frame)
	}
	for _, p := range s.Pointers {
		tr.Pointers = append(tr.Pointers, p.Frame)
	}
	for _, list := range [][]int{tr.Conditioning, tr.Recent, tr.Pointers} {
		slices.Sort(list)
	}
	t.options.Trace(tr)
}
