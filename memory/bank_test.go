package memory_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"maskstream/memory"
	"maskstream/tensor"
)

func TestAFrameHasOneKind(t *testing.T) {
	pool := newPool(t, "state")
	bank := bankOf(t, pool, memory.Everything, []int{3, 4}, []int{4})
	add(t, bank, pool, 4, memory.Recent) // not kept: the frame is prompted
	if got := bank.Frames(memory.Recent); !slices.Equal(got, []int{3}) {
		t.Errorf("recent %v, want only 3", got)
	}
	if _, ok := bank.Get(4, memory.Conditioning); !ok {
		t.Error("the conditioning entry is gone")
	}
	if live := pool.Stats().Live; live != 6 {
		t.Errorf("%d tensors live for two entries of three", live)
	}
}

func TestAddingAgainReplaces(t *testing.T) {
	pool := newPool(t, "state")
	bank := bankOf(t, pool, memory.Everything, []int{5, 5}, []int{2, 2})
	for _, f := range []int{2, 5} {
		e := newEntry(t, pool, 77)
		kind := memory.Recent
		if f == 2 {
			kind = memory.Conditioning
		}
		if err := bank.Add(f, kind, e); err != nil {
			t.Fatal(err)
		}
		if got, ok := bank.Find(f); !ok || got != e {
			t.Errorf("frame %d still has its old entry", f)
		}
	}
	if live := pool.Stats().Live; live != 6 {
		t.Errorf("%d tensors live for two entries of three", live)
	}
}

func TestDowngradeTurnsAConditioningFrameIntoARecentOne(t *testing.T) {
	pool := newPool(t, "state")
	bank := bankOf(t, pool, memory.Everything, []int{1}, []int{0, 5})
	e, _ := bank.Get(5, memory.Conditioning)
	if bank.Downgrade(1) || bank.Downgrade(9) {
		t.Error("a frame that is no conditioning frame was downgraded")
	}
	if !bank.Downgrade(5) {
		t.Error("frame 5 was not downgraded")
	}
	if got, _ := bank.Get(5, memory.Recent); got != e {
		t.Error("the recent entry is not the conditioning one")
	}
	if got := bank.Frames(memory.Conditioning); !slices.Equal(got, []int{0}) {
		t.Errorf("conditioning frames %v", got)
	}
	// Prompted anew it comes last among equals.
	for _, f := range []int{20, 22, 30, 5} {
		add(t, bank, pool, f, memory.Conditioning)
	}
	bank.Drop(0, memory.Conditioning)
	p := sam2
	p.MaxConditioning = 3
	spatial, _ := flat(bank.Select(21, memory.Forward, p))
	if got := spatial[2].frame; got != 30 { // 20 before, 22 after, then 30 at 9; 5 is at 16
		t.Errorf("third is %d", got)
	}
}

func TestClearAroundForgetsRecentFramesOnBothSides(t *testing.T) {
	bank := bankOf(t, newPool(t, "state"), memory.Everything, span(40, 60), []int{45, 50})
	bank.ClearAround(50, 7)
	if got, want := bank.Frames(memory.Recent), slices.Concat(span(40, 42), span(58, 60)); !slices.Equal(got, want) {
		t.Errorf("recent %v, want %v", got, want)
	}
	if got := bank.Frames(memory.Conditioning); !slices.Equal(got, []int{45, 50}) {
		t.Errorf("conditioning frames %v", got)
	}
}

func TestOffloadMovesMemoriesAndLogitsButNotPointers(t *testing.T) {
	device, host := newPool(t, "device"), newPool(t, "host")
	bank := memory.NewBank(memory.Everything, host, nil)
	defer bank.Release()
	add(t, bank, device, 0, memory.Conditioning)
	add(t, bank, device, 1, memory.Recent)
	if got := device.Stats().Live; got != 2 {
		t.Errorf("%d tensors stayed behind, want the two pointers", got)
	}
	if got, want := host.Stats().MovedIn, int64(2*(64*2*2+16*16*4)); got != want {
		t.Errorf("%d bytes moved in, want %d", got, want)
	}
	e, _ := bank.Find(1)
	if e.Features.Pool() != host || e.Logits.Pool() != host || e.Pointer.Pool() != device {
		t.Error("an entry is not where it belongs")
	}

	at := memory.NewBank(memory.Everything, device, nil)
	defer at.Release()
	add(t, at, device, 0, memory.Recent)
	if got := device.Stats().MovedIn; got != 0 {
		t.Errorf("a bank at home moved %d bytes", got)
	}
}

func TestAFullPoolIsAnErrorAndKeepsWhatWasThere(t *testing.T) {
	device := newPool(t, "device")
	host := tensor.NewPool("host", tensor.Host(), 2000) // one entry is 256+1024 bytes
	t.Cleanup(func() { tensor.NoLeaks(t, host) })
	bank := memory.NewBank(memory.Everything, host, nil)
	defer bank.Release()
	add(t, bank, device, 0, memory.Conditioning)
	if err := bank.Add(1, memory.Recent, newEntry(t, device, 1)); !errors.Is(err, tensor.ErrExhausted) {
		t.Errorf("error %v", err)
	}
	if _, ok := bank.Find(0); !ok {
		t.Error("frame 0 is gone")
	}
	if _, ok := bank.Find(1); ok {
		t.Error("frame 1 is there, though it could not be stored")
	}
}

func TestALiveBankSelectsWhatAnUnboundedOneDoes(t *testing.T) {
	for _, c := range []struct{ limit, stride, every int }{{4, 1, 7}, {4, 1, 1}, {2, 1, 3}, {-1, 1, 20}, {4, 2, 4}, {3, 3, 2}, {4, 5, 9}} {
		t.Run(fmt.Sprintf("limit %d, stride %d, a prompt every %d", c.limit, c.stride, c.every), func(t *testing.T) {
			const history = 40
			pool := newPool(t, "state")
			random := rand.New(rand.NewPCG(3, uint64(c.every)))
			p := sam2
			p.MaxConditioning, p.Stride = c.limit, c.stride
			live := bankOf(t, pool, memory.Live(p, history), nil, nil)
			all := bankOf(t, pool, memory.Everything, nil, nil)
			compare := func(frame int) {
				t.Helper()
				got := live.Select(frame, memory.Forward, p)
				spatial, pointers := flat(got)
				wantSpatial, wantPointers := flat(all.Select(frame, memory.Forward, p))
				if !slices.Equal(spatial, wantSpatial) || !slices.Equal(pointers, wantPointers) {
					t.Fatalf("frame %d:\n got %v %v\nwant %v %v", frame, spatial, pointers, wantSpatial, wantPointers)
				}
				for _, m := range slices.Concat(got.Conditioning, got.Recent) {
					if m.Entry.Features == nil {
						t.Fatalf("frame %d: the memory of frame %d has no features any more", frame, m.Frame)
					}
				}
			}
			both := func(frame int, kind memory.Kind) {
				add(t, live, pool, frame, kind)
				add(t, all, pool, frame, kind)
			}
			for n := range 300 {
				if prompted := all.Frames(memory.Conditioning); random.IntN(25) == 0 && len(prompted) > 1 && prompted[len(prompted)-1] > n-history {
					live.Downgrade(prompted[len(prompted)-1])
					all.Downgrade(prompted[len(prompted)-1])
				}
				compare(n) // the step
				if n == 0 || random.IntN(3*c.every) == 0 {
					both(n, memory.Conditioning) // a first prompt before the frame is tracked
				} else {
					both(n, memory.Recent)
				}
				for random.IntN(c.every) == 0 {
					compare(n) // a correction of the newest frame
					both(n, memory.Conditioning)
					if c.every == 1 {
						break
					}
				}
				if e, ok := live.Find(max(0, n-history+1)); !ok || e.Logits == nil {
					t.Fatalf("frame %d: the logits of frame %d are gone, though it may be corrected", n, n-history+1)
				}
				recent, logits, features := 0, 0, 0
				for _, kind := range []memory.Kind{memory.Recent, memory.Conditioning} {
					for _, f := range live.Frames(kind) {
						e, _ := live.Get(f, kind)
						if e.Logits != nil {
							logits++
						}
						if kind == memory.Recent {
							recent++
							if e.Features != nil {
								features++
							}
						}
					}
				}
				if most := 6*c.stride + 1; features > most || recent > max(history, 16, most) || logits > history {
					t.Fatalf("frame %d: %d recent frames, %d with features, %d logits", n, recent, features, logits)
				}
				if got := len(live.Frames(memory.Conditioning)); c.limit > 0 && got > c.limit+max(16, 6*c.stride+1) {
					t.Fatalf("frame %d: %d conditioning frames", n, got)
				}
			}
		})
	}
}

func TestAPromptInThePastDoesNotForgetThePresent(t *testing.T) {
	pool := newPool(t, "state")
	bank := bankOf(t, pool, memory.Live(sam2, 30), span(0, 99), nil)
	add(t, bank, pool, 80, memory.Conditioning)
	spatial, pointers := flat(bank.Select(100, memory.Forward, sam2))
	if want := []picked{{80, 6}, {94, 5}, {95, 4}, {96, 3}, {97, 2}, {98, 1}, {99, 0}}; !slices.Equal(spatial, want) || len(pointers) != 16 {
		t.Errorf("frame 100 attends to %v with %d pointers", spatial, len(pointers))
	}
}
