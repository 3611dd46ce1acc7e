package memory_test

import (
	"slices"
	"testing"

	"maskstream/memory"
	"maskstream/memory/motion"
	"maskstream/tensor"
)

// samurai is sam2 with memories chosen by quality.
var samurai = func() memory.Policy {
	p := sam2
	p.MotionAware = true
	return p
}()

// addRated remembers a recent frame that is good, but for what spoil changes.
func addRated(t testing.TB, bank *memory.Bank, pool *tensor.Pool, frame int, spoil func(*memory.Entry)) {
	t.Helper()
	e := newEntry(t, pool, float32(frame))
	e.PredictedIoU, e.ObjectScore, e.Motion = 0.9, 5, motion.Start(motion.Box{X1: 4, Y1: 4})
	if spoil != nil {
		spoil(e)
	}
	if err := bank.Add(frame, memory.Recent, e); err != nil {
		t.Fatal(err)
	}
}

func TestMemoriesByQuality(t *testing.T) {
	poor := func(e *memory.Entry) { e.PredictedIoU = 0.5 }
	gone := func(e *memory.Entry) { e.ObjectScore = 0 }
	astray := func(e *memory.Entry) { e.Motion.Agreement = 0 }
	pointerOnly := func(e *memory.Entry) { e.Features.Release(); e.Features = nil }
	for _, c := range []struct {
		name      string
		frames    []int // an object prompted on frame 0 and, where there is room, on frame 15
		spoilt    map[int]func(*memory.Entry)
		frame     int
		direction memory.Direction
		want      []picked // behind the conditioning frame
	}{
		{"all are good: as by recency", span(1, 30), nil, 31, memory.Forward, []picked{{25, 5}, {26, 4}, {27, 3}, {28, 2}, {29, 1}, {30, 0}}},
		{"bad ones are passed over, and places in time close up", span(1, 30), map[int]func(*memory.Entry){29: poor, 28: gone, 26: astray, 23: pointerOnly}, 31, memory.Forward,
			[]picked{{21, 5}, {22, 4}, {24, 3}, {25, 2}, {27, 1}, {30, 0}}},
		{"the neighbour counts whatever it shows", span(1, 30), map[int]func(*memory.Entry){30: gone}, 31, memory.Forward,
			[]picked{{25, 5}, {26, 4}, {27, 3}, {28, 2}, {29, 1}, {30, 0}}},
		{"a long time unseen", span(1, 200), bad(8, 199, gone), 200, memory.Forward, []picked{{3, 5}, {4, 4}, {5, 3}, {6, 2}, {7, 1}, {199, 0}}},
		{"a missing neighbour leaves its place", span(1, 10), nil, 12, memory.Forward, []picked{{6, 5}, {7, 4}, {8, 3}, {9, 2}, {10, 1}}},
		{"nothing from before the last prompt", slices.Concat(span(1, 14), span(16, 20)), map[int]func(*memory.Entry){18: poor}, 21, memory.Forward, []picked{{16, 3}, {17, 2}, {19, 1}, {20, 0}}},
		{"back in time", span(10, 40), map[int]func(*memory.Entry){12: poor, 13: astray}, 9, memory.Reverse,
			[]picked{{17, 5}, {16, 4}, {15, 3}, {14, 2}, {11, 1}, {10, 0}}},
		{"back in time nothing ahead is left", span(1, 8), nil, 9, memory.Reverse, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := newPool(t, "state")
			bank := bankOf(t, pool, memory.Everything, nil, []int{0})
			if !slices.Contains(c.frames, 15) && slices.Contains(c.frames, 16) {
				add(t, bank, pool, 15, memory.Conditioning)
			}
			for _, f := range c.frames {
				addRated(t, bank, pool, f, c.spoilt[f])
			}
			selection := bank.Select(c.frame, c.direction, samurai)
			var got []picked
			for _, m := range selection.Recent {
				got = append(got, picked{m.Frame, m.Temporal})
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("memories and their places %v, want %v", got, c.want)
			}
			if plain := bank.Select(c.frame, c.direction, sam2); !slices.Equal(selection.Pointers, plain.Pointers) {
				t.Error("pointers differ, which are chosen by recency in either case")
			}
		})
	}
}

func bad(from, to int, how func(*memory.Entry)) map[int]func(*memory.Entry) {
	all := map[int]func(*memory.Entry){}
	for _, f := range span(from, to) {
		all[f] = how
	}
	return all
}

func TestALiveBankKeepsTheLastGoodFrames(t *testing.T) {
	pool := newPool(t, "state")
	bank := memory.NewBank(memory.Live(samurai, 20), nil, nil)
	t.Cleanup(bank.Release)
	add(t, bank, pool, 0, memory.Conditioning)
	for f := 1; f <= 50; f++ {
		addRated(t, bank, pool, f, nil)
	}
	for f := 51; f <= 500; f++ {
		addRated(t, bank, pool, f, func(e *memory.Entry) { e.ObjectScore = -5 })
	}
	var got []int
	for _, m := range bank.Select(501, memory.Forward, samurai).Recent {
		got = append(got, m.Frame)
	}
	if want := []int{46, 47, 48, 49, 50, 500}; !slices.Equal(got, want) {
		t.Errorf("450 frames unseen: memories %v, want %v", got, want)
	}
	if live := pool.Stats().Live; live > 70 { // 20 frames with logits and pointers, 7 and 7 with features
		t.Errorf("%d tensors live", live)
	}
	for f := 501; f <= 600; f++ {
		addRated(t, bank, pool, f, nil)
	}
	if frames := bank.Frames(memory.Recent); frames[0] < 580 {
		t.Errorf("frames from %d on are still there, of 600", frames[0])
	}
}

func TestMotionComesFromTheFrameBefore(t *testing.T) {
	pool := newPool(t, "state")
	bank := bankOf(t, pool, memory.Everything, nil, nil)
	addRated(t, bank, pool, 7, func(e *memory.Entry) { e.Motion.Agreement = 0.7 })
	for _, c := range []struct {
		frame     int
		direction memory.Direction
		agreement float64
		step      float64
	}{{8, memory.Forward, 0.7, 1}, {6, memory.Reverse, 0.7, -1}, {9, memory.Forward, 0, 1}, {7, memory.Forward, 0, 1}} {
		if track, step := bank.Motion(c.frame, c.direction); track.Agreement != c.agreement || step != c.step {
			t.Errorf("frame %d: agreement %v, step %v; want %v, %v", c.frame, track.Agreement, step, c.agreement, c.step)
		}
	}
}
