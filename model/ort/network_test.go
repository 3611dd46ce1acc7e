package ort

import (
	"slices"
	"sync"
	"testing"

	"maskstream/model"
)

func TestNetworksRunSideBySide(t *testing.T) {
	networks := []*bench{open(t, nil), open(t, nil)}
	var logits [2][]float32
	var group sync.WaitGroup
	for i, b := range networks {
		f := b.frame(i)
		group.Go(func() {
			for range 3 {
				p, err := b.DecodeMasks(f, nil, []model.Prompt{{Multimask: true}})
				if err != nil {
					t.Error(err)
					return
				}
				logits[i] = slices.Clone(p.Logits.Float32s())
				p.Release()
			}
		})
	}
	group.Wait()
	for i, b := range networks {
		other := networks[1-i].frame(i) // the same frame in the other network, alone
		p, err := networks[1-i].DecodeMasks(other, nil, []model.Prompt{{Multimask: true}})
		own(networks[1-i], p, err)
		b.same("logits", logits[i], p.Logits.Float32s(), 0)
	}
}

func TestAFrameAllocatesNothingAfterTheFirst(t *testing.T) {
	b := open(t, nil)
	f := b.frame(0)
	frame := func() int64 {
		p, err := b.DecodeMasks(f, nil, []model.Prompt{{}})
		own(b, p, err)
		memory, err := b.EncodeMemory(f, p.Logits, p.ObjectScores, []bool{false})
		own(b, memory, err)
		view, pointer := own(b, memory.Index(0), nil), own(b, p.Pointers.Index(0), nil)
		e, err := b.AttendMemory(f, []model.Attention{{Memories: []model.SpatialMemory{{Features: view}}, Pointers: []model.Pointer{{Vector: pointer}}}})
		own(b, e, err)
		for _, x := range b.owned[len(b.owned)-5:] {
			x.Release()
		}
		b.owned = b.owned[:len(b.owned)-5]
		return b.pool.Stats().Allocations
	}
	if first, second := frame(), frame(); first != second {
		t.Errorf("the second frame took %d new blocks", second-first)
	}
}
