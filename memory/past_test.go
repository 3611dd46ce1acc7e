package memory_test

import (
	"slices"
	"testing"

	"maskstream/memory"
)

func TestWhatIsHeldStaysWhileNewerFramesAreAdded(t *testing.T) {
	for name, hold := range map[string]bool{"held": true, "not held": false} {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t, "state")
			bank := bankOf(t, pool, memory.Live(sam2, 10), span(0, 99), nil)
			add(t, bank, pool, 40, memory.Conditioning)
			for n := 41; n < 60; n++ { // a pass in the past, one frame for every newer one
				add(t, bank, pool, n, memory.Recent)
				if hold {
					bank.Hold(n)
				}
				add(t, bank, pool, 60+n, memory.Recent)
			}
			spatial, pointers := flat(bank.Select(60, memory.Forward, sam2))
			want := []picked{{40, 6}}
			if hold {
				want = []picked{{40, 6}, {54, 5}, {55, 4}, {56, 3}, {57, 2}, {58, 1}, {59, 0}}
			}
			if !slices.Equal(spatial, want) || hold && len(pointers) != 16 {
				t.Errorf("frame 60 attends to %v with %d pointers, want %v", spatial, len(pointers), want)
			}
			newest, _ := flat(bank.Select(120, memory.Forward, sam2))
			if len(newest) != 7 {
				t.Errorf("frame 120 attends to %v", newest)
			}
			bank.LetGo()
			add(t, bank, pool, 120, memory.Recent)
			if recent := bank.Frames(memory.Recent); recent[0] < 100 {
				t.Errorf("after all %v are remembered", recent)
			}
		})
	}
}

func TestASnapshotHasThePromptsAndTheFrameItStartsFrom(t *testing.T) {
	pool := newPool(t, "state")
	bank := bankOf(t, pool, memory.Live(sam2, 30), span(0, 99), []int{90, 85})
	retention := memory.Live(sam2, 1)
	retention.Direction = memory.Reverse
	snapshot := bank.Snapshot(99, retention)
	t.Cleanup(snapshot.Release)
	spatial, pointers := flat(snapshot.Select(98, memory.Reverse, sam2))
	if want := []picked{{85, 6}, {90, 6}, {99, 0}}; !slices.Equal(spatial, want) || len(pointers) != 1 { // the prompts lie ahead
		t.Errorf("frame 98 attends to %v with %d pointers, want %v", spatial, len(pointers), want)
	}
	before, _ := flat(bank.Select(100, memory.Forward, sam2))
	bank.Release() // each lives by itself
	for n := 98; n >= 0; n-- {
		add(t, snapshot, pool, n, memory.Recent)
	}
	spatial, pointers = flat(snapshot.Select(-1, memory.Reverse, sam2))
	if want := []picked{{85, 6}, {90, 6}, {5, 5}, {4, 4}, {3, 3}, {2, 2}, {1, 1}, {0, 0}}; !slices.Equal(spatial, want) || len(pointers) != 17 {
		t.Errorf("frame −1 attends to %v with %d pointers, want %v", spatial, len(pointers), want)
	}
	if recent := snapshot.Frames(memory.Recent); len(recent) > 16 {
		t.Errorf("the pass remembers %v", recent)
	}
	if len(before) != 8 {
		t.Errorf("frame 100 attended to %v", before)
	}
}
