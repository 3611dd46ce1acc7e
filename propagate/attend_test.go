package propagate

import (
	"bytes"
	"testing"

	"maskstream/model"
	"maskstream/tensor"
)

// crowded is a network whose pool is full once, when it attends to memories. What was released in the meantime is overwritten, as
// whoever gets the block next would do.
type crowded struct {
	model.Network
	t    *testing.T
	pool *tensor.Pool
	want [][]byte // what it was handed when there was no room; nil before
	done bool
}

func handed(attentions []model.Attention) (all [][]byte, of []*tensor.Tensor) {
	for _, a := range attentions {
		for _, m := range a.Memories {
			all, of = append(all, bytes.Clone(m.Features.Bytes())), append(of, m.Features)
		}
	}
	return all, of
}

func (c *crowded) AttendMemory(features *model.Features, attentions []model.Attention) (*tensor.Tensor, error) {
	if c.want == nil {
		c.want, _ = handed(attentions)
		budget := c.pool.Budget()
		return nil, &tensor.Exhausted{Pool: c.pool, Want: budget, Budget: budget, Used: c.pool.Stats().LiveBytes}
	}
	if !c.done {
		c.done = true
		var reused []*tensor.Tensor
		for range 2 * len(c.want) {
			block, err := c.pool.New(tensor.Uint8, len(c.want[0]))
			if err != nil {
				break
			}
			for i := range block.Bytes() {
				block.Bytes()[i] = 0xff
			}
			reused = append(reused, block)
		}
		got, of := handed(attentions)
		for i := range got {
			if !bytes.Equal(got[i], c.want[i]) {
				c.t.Errorf("memory %d is not what it was before room was made", i)
			}
			if of[i].Pool() == c.pool {
				c.t.Errorf("memory %d has not moved", i)
			}
		}
		for _, block := range reused {
			block.Release()
		}
	}
	return c.Network.AttendMemory(features, attentions)
}

func TestMemoriesAreAttendedToWhereTheyAreAfterRoomWasMade(t *testing.T) {
	w := newWorldWithin(t, 4<<20, func(o *Options) { o.Overflow = tensor.NewPool("host", tensor.Host(), 0) })
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.prompt(0, 2, click(second(0)), both(0)...)
	w.commit()
	w.pass(0, 4)
	spy := &crowded{Network: w.network, t: t, pool: w.pool}
	w.tracker.network = roomy{spy, w.tracker.MakeRoom}
	for _, s := range w.pass(5, 5)[5] {
		if !s.near(both(5)[s.id-1]) {
			t.Errorf("%+v", s)
		}
	}
	if !spy.done {
		t.Error("room was never made")
	}
}
