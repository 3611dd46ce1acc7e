package propagate

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"maskstream/memory"
	"maskstream/model"
	"maskstream/model/modeltest"
	"maskstream/tensor"
)

// dot is the dot that object id is on.
func dot(id, n int) modeltest.Dot {
	if id%2 == 0 {
		return first(n)
	}
	return second(n)
}

// alone is what an object looks like on each frame where it is the only one.
func alone(t *testing.T, id, prompted, last int) map[int]seen {
	w := newWorld(t, nil)
	w.prompt(prompted, id, click(dot(id, prompted)), both(prompted)...)
	w.commit()
	all := map[int]seen{}
	for n, objects := range w.pass(prompted, last) {
		all[n] = objects[0]
	}
	return all
}

func TestOneEncodingAFrameAndOneDecodingForAllObjects(t *testing.T) {
	want := [2]map[int]seen{alone(t, 0, 0, 3), alone(t, 1, 0, 3)}
	for _, objects := range []int{0, 1, 2, 31, 32, 33, 65} {
		t.Run(fmt.Sprintf("%d objects", objects), func(t *testing.T) {
			w := newWorld(t, nil)
			for id := range objects {
				w.prompt(0, id, click(dot(id, 0)), both(0)...)
			}
			if got := w.network.Calls.EncodeImage.Load(); got > 1 {
				t.Errorf("%d encodings for prompts on one frame", got)
			}
			if err := w.tracker.Commit(); (objects == 0) != errors.Is(err, ErrNoObjects) {
				t.Fatal(err)
			}
			calls := &w.network.Calls
			for n := range 4 {
				encoded, attended, decoded, memorised := calls.EncodeImage.Load(), calls.AttendMemory.Load(), calls.DecodeMasks.Load(), calls.EncodeMemory.Load()
				got := w.step(n, memory.Forward, both(n)...)
				if len(got) != objects {
					t.Fatalf("frame %d shows %d objects", n, len(got))
				}
				for id, o := range got {
					if o.id != id || o.bits != want[id%2][n].bits {
						t.Errorf("frame %d: object %d is not what it is alone: %+v", n, id, o)
					}
				}
				chunks, images := int64((objects+chunk-1)/chunk), int64(min(objects, 1))
				if n == 0 { // the prompted frame is shown as it is
					chunks, images = 0, 0
				}
				if e, a, d, m := calls.EncodeImage.Load()-encoded, calls.AttendMemory.Load()-attended, calls.DecodeMasks.Load()-decoded, calls.EncodeMemory.Load()-memorised; e != images || a != chunks || d != chunks || m != chunks {
					t.Errorf("frame %d: %d image encodings, %d attentions, %d decodings, %d memory encodings; want %d and %d", n, e, a, d, m, images, chunks)
				}
			}
		})
	}
}

func TestObjectsWithEqualMemoriesShareABatchAndKeepTheirOrder(t *testing.T) {
	w := newWorld(t, nil)
	var batches []int
	w.network.Attended = func(a []model.Attention) { batches = append(batches, len(a)) }
	prompted := []int{0, 3, 0, 2, 3, 0, 1} // of each object
	want := make([]map[int]seen, len(prompted))
	for id, frame := range prompted {
		want[id] = alone(t, id, frame, 14)
	}
	for n := range 15 { // live: each object is prompted when its frame is there
		for id, frame := range prompted {
			if frame == n {
				w.prompt(n, id, click(dot(id, n)), both(n)...)
			}
		}
		w.commit()
		batches = nil
		got := w.step(n, memory.Forward, both(n)...)
		for _, o := range got {
			if o.bits != want[o.id][n].bits {
				t.Errorf("frame %d: object %d is not what it is alone", n, o.id)
			}
		}
		if wantBatches := map[int][]int{4: {2, 1, 1, 3}, 14: {3, 1, 1, 2}}[n]; wantBatches != nil {
			if slices.Sort(batches); !slices.Equal(batches, slices.Sorted(slices.Values(wantBatches))) {
				t.Errorf("frame %d: batches of %v, want %v", n, batches, wantBatches)
			}
		}
	}
}

func TestLargeModelsAttendInSmallerBatches(t *testing.T) {
	pool := tensor.NewPool("network", tensor.Host(), 0)
	network := modeltest.New(pool, 512) // 1,024 cells: four objects with seven memories fill the budget
	scene := modeltest.Scene{Pool: pool, Size: 512, Width: width, Height: height}
	var largest, batches int
	network.Attended = func(a []model.Attention) { largest, batches = max(largest, len(a)), batches+1 }
	tracker := New(network, Options{})
	var bits [][]uint64
	for n := range 9 {
		frame := scene.Frame(n, both(n)...)
		if n == 0 {
			for id := range 6 {
				p := click(dot(id, 0))
				p.Width, p.Height = width, height
				r, err := tracker.Prompt(frame, id, p)
				if err != nil {
					t.Fatal(err)
				}
				r.Release()
			}
			if err := tracker.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		largest, batches = 0, 0
		r, err := tracker.Step(frame, memory.Forward)
		if err != nil {
			t.Fatal(err)
		}
		frame.Release()
		var of []uint64
		for _, o := range look(r) {
			of = append(of, o.bits)
		}
		bits = append(bits, of)
	}
	if largest != 4 || batches != 2 {
		t.Errorf("the last frame was attended to in %d batches of at most %d objects", batches, largest)
	}
	for n, of := range bits {
		for id := range of {
			if of[id] != of[id%2] {
				t.Errorf("frame %d: object %d differs from %d, which is on the same dot", n, id, id%2)
			}
		}
		if of[0] == of[1] {
			t.Errorf("frame %d: the two dots look the same", n)
		}
	}
	tracker.Close()
	tensor.NoLeaks(t, pool)
}

func TestAFailingNetworkLeavesTheTrackerUsable(t *testing.T) {
	broken := errors.New("broken")
	for _, verb := range []string{"EncodeImage", "AttendMemory", "DecodeMasks", "EncodeMemory"} {
		t.Run(verb, func(t *testing.T) {
			w := newWorld(t, nil)
			w.prompt(0, 1, click(first(0)), both(0)...)
			w.commit()
			want := w.pass(0, 6)
			w.network.Fail = func(v string) error {
				if v == verb {
					return broken
				}
				return nil
			}
			frame := w.scene.Frame(7, both(7)...)
			defer frame.Release()
			if _, err := w.tracker.Step(frame, memory.Forward); !errors.Is(err, broken) {
				t.Errorf("step: %v", err)
			}
			corrected := w.scene.Frame(6, both(6)...)
			defer corrected.Release()
			p := click(first(6))
			p.Width, p.Height = width, height
			r, err := w.tracker.Prompt(corrected, 1, p)
			if r.Release(); verb != "EncodeImage" && !errors.Is(err, broken) { // frame 6 was encoded already
				t.Errorf("correction: %v", err)
			}
			r, err = w.tracker.Prompt(frame, 2, p)
			if r.Release(); verb != "AttendMemory" && (!errors.Is(err, broken) || len(w.tracker.Objects()) != 1) {
				t.Errorf("new object: %v, objects %v", err, w.tracker.Objects())
			}
			w.network.Fail = nil
			w.tracker.Remove(2)
			w.clearPrompts(6, 1)
			if got := w.step(6, memory.Forward, both(6)...); got[0].bits != want[6][0].bits {
				t.Error("frame 6 is not what it was")
			}
			if got := w.step(7, memory.Forward, both(7)...); !got[0].near(first(7)) {
				t.Errorf("frame 7 after the failure: %+v", got)
			}
		})
	}
}

func TestAFullStatePoolIsAnErrorAndNotTheEnd(t *testing.T) {
	state := tensor.NewPool("state", tensor.Host(), 3*(64*8*2+lowRes*lowRes*4)) // three entries
	w := newWorld(t, func(o *Options) { o.State = state })
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.commit()
	w.pass(0, 2)
	frame := w.scene.Frame(3, both(3)...)
	defer frame.Release()
	for range 2 {
		if _, err := w.tracker.Step(frame, memory.Forward); !errors.Is(err, tensor.ErrExhausted) {
			t.Fatalf("error %v", err)
		}
	}
	w.prompt(3, 2, click(second(3)), both(3)...)
	if err := w.tracker.Commit(); !errors.Is(err, tensor.ErrExhausted) {
		t.Errorf("commit: %v", err)
	}
	w.tracker.Remove(2)
	r, err := w.tracker.Clear(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	r.Release()
	w.tracker.Reset()
	w.prompt(3, 1, click(first(3)), both(3)...)
	w.commit()
	if got := w.pass(3, 4)[4]; !got[0].near(first(4)) {
		t.Errorf("after a reset: %+v", got)
	}
}
