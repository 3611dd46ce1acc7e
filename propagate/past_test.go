package propagate

import (
	"slices"
	"testing"

	"maskstream/memory"
)

// live is a world that remembers as a live stream does.
func live(t *testing.T, history int) *world {
	w := newWorld(t, nil)
	w.tracker.options.Retention = memory.Live(w.tracker.policy, history)
	return w
}

func TestASnapshotGoesBackWhileTheTrackerGoesOn(t *testing.T) {
	alone := live(t, 50)
	w := live(t, 50)
	for _, each := range []*world{alone, w} {
		each.prompt(10, 1, click(first(10)), both(10)...)
		each.prompt(10, 2, click(second(10)), both(10)...)
		each.commit()
		each.pass(10, 40)
	}
	snapshot := w.tracker.Snapshot(40, []int{2})
	back := &world{t: t, network: w.network, scene: w.scene, pool: w.pool, tracker: snapshot}
	want := alone.pass(41, 80)
	for n := 41; n <= 80; n++ {
		if got := w.step(n, memory.Forward, both(n)...); !slices.Equal(got, want[n]) {
			t.Fatalf("frame %d is %+v beside a reverse pass, %+v without", n, got, want[n])
		}
		m := 81 - n // 40…1
		got := back.step(m, memory.Reverse, both(m)...)
		if len(got) != 1 || got[0].id != 2 || !got[0].near(second(m)) {
			t.Errorf("frame %d of the reverse pass: %+v, the dot is at %+v", m, got, second(m))
		}
		for _, o := range snapshot.objects {
			if recent := o.bank.Frames(memory.Recent); len(recent) > 16 || len(o.tracked) > 1 {
				t.Fatalf("frame %d: the pass remembers %v and notes %v", m, recent, o.tracked)
			}
		}
	}
	if tr := w.traced(39, 2); tr.Pass != memory.Reverse || !slices.Equal(tr.Conditioning, []int{10}) || !slices.Equal(tr.Recent, []int{40}) {
		t.Errorf("frame 39 attended to %+v", tr)
	}
	if tr := w.traced(20, 2); !slices.Equal(tr.Recent, span(21, 26)) || len(tr.Pointers) != 15 { // 21…35; the prompt lies ahead
		t.Errorf("frame 20 attended to %+v", tr)
	}
	snapshot.Close()
}

func TestASnapshotShowsTheFrameItStartsFromAsItIs(t *testing.T) {
	w := live(t, 50)
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.commit()
	want := w.pass(0, 30)[30]
	snapshot := w.tracker.Snapshot(30, nil)
	defer snapshot.Close()
	calls := w.network.Calls.EncodeImage.Load()
	back := &world{t: t, network: w.network, scene: w.scene, pool: w.pool, tracker: snapshot}
	if got := back.step(30, memory.Reverse, both(30)...); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if again := w.network.Calls.EncodeImage.Load(); again != calls {
		t.Error("the frame was encoded again")
	}
}

func TestASnapshotLeavesOutWhatHasNoPrompt(t *testing.T) {
	w := live(t, 50)
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.prompt(0, 2, click(second(0)), both(0)...)
	w.commit()
	if r, err := w.tracker.Clear(0, 1); err != nil {
		t.Fatal(err)
	} else {
		r.Release()
	}
	for name, c := range map[string]struct{ ids, want []int }{"all": {nil, []int{2}}, "the cleared one": {[]int{1}, []int{}}, "an unknown one": {[]int{7, 2}, []int{2}}} {
		snapshot := w.tracker.Snapshot(0, c.ids)
		if got := snapshot.Objects(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
		snapshot.Close()
	}
}

func TestACorrectionInThePastCatchesUpBesideTheNewestFrames(t *testing.T) {
	// What it should be: the same correction, and the frames since then once more, without anything in between.
	plain, w := live(t, 60), live(t, 60)
	for _, each := range []*world{plain, w} {
		each.prompt(0, 1, click(first(0)), both(0)...)
		each.prompt(0, 2, click(second(0)), both(0)...)
		each.commit()
		each.pass(0, 40)
		each.prompt(20, 1, twice(first(20)), both(20)...)
		each.commit()
	}
	want := map[int][]seen{}
	for n := 21; n <= 66; n++ {
		want[n] = plain.step(n, memory.Forward, both(n)...)
	}
	newest := 40
	for n := 21; n <= newest; n++ {
		if n%2 == 0 { // two steps in the past for each newest frame
			newest++
			w.step(newest, memory.Forward, both(newest)...)
		}
		frame := w.scene.Frame(n, both(n)...)
		r, err := w.tracker.StepOnly(frame, memory.Forward, []int{1})
		if err != nil {
			t.Fatal(err)
		}
		frame.Release()
		w.tracker.Hold(1, n)
		got := look(r)
		if len(got) != 1 || got[0] != want[n][0] {
			t.Fatalf("frame %d: %+v, without anything in between %+v", n, got, want[n][0])
		}
	}
	w.tracker.LetGo(1)
	if newest != 59 && newest != 60 {
		t.Fatalf("caught up at frame %d", newest)
	}
	for n := newest + 1; n <= 66; n++ {
		if got := w.step(n, memory.Forward, both(n)...); got[0] != want[n][0] {
			t.Errorf("frame %d: %+v, without anything in between %+v", n, got[0], want[n][0])
		}
	}
}
