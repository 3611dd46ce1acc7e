package propagate

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"maskstream/memory"
	"maskstream/tensor"
)

// thereAndBack is a session that keeps everything: two objects forward, a correction, and all the way back. It returns what every
// frame showed, in order, and what was attended to.
func thereAndBack(w *world) ([][]seen, []Trace) {
	const length = 60
	var all [][]seen
	pass := func(from, to int) {
		frames := w.pass(from, to)
		for n := range length {
			all = append(all, frames[n])
		}
	}
	w.prompt(20, 1, click(first(20)), both(20)...)
	w.prompt(20, 2, click(second(20)), both(20)...)
	w.commit()
	pass(20, length-1)
	w.prompt(45, 1, twice(first(45)), both(45)...)
	w.commit()
	pass(45, 0)
	return all, w.traces
}

// bounded is thereAndBack where the two pools hold so much; frames have a pool of their own.
func bounded(t *testing.T, network, host int64, change func(o *Options, network, host *tensor.Pool)) (all [][]seen, traces []Trace, w *world, overflow *tensor.Pool) {
	t.Helper()
	overflow = tensor.NewPool("host", tensor.Host(), host)
	w = newWorldWithin(t, network, nil)
	w.scene.Pool = tensor.NewPool("frames", tensor.Host(), 0)
	change(&w.tracker.options, w.pool, overflow)
	all, traces = thereAndBack(w)
	return all, traces, w, overflow
}

func TestStateThatFindsNoRoomMovesOutAndMasksStayTheSame(t *testing.T) {
	none := func(*Options, *tensor.Pool, *tensor.Pool) {}
	want, wantTraces, free, _ := bounded(t, 0, 0, none)
	peak, state := free.pool.Stats().PeakBytes, stateBytes(free.tracker)
	if state < peak/2 {
		t.Fatalf("%d of %d bytes are state: the rest would hide what is tested", state, peak)
	}
	third := peak - state + state/3
	for name, c := range map[string]struct {
		network, host int64
		change        func(o *Options, network, host *tensor.Pool)
	}{
		"at home with the network, which holds a third": {third, 0, func(o *Options, network, host *tensor.Pool) { o.State, o.Overflow = network, host }},
		"at home where they are made":                   {third, 0, func(o *Options, _, host *tensor.Pool) { o.Overflow = host }},
		"offloaded, and the host holds a third":         {0, state / 3, func(o *Options, network, host *tensor.Pool) { o.State, o.Overflow = host, network }},
	} {
		t.Run(name, func(t *testing.T) {
			got, traces, w, host := bounded(t, c.network, c.host, c.change)
			if !slices.EqualFunc(got, want, slices.Equal) {
				t.Error("masks differ from those without a limit")
			}
			if !reflect.DeepEqual(traces, wantTraces) {
				t.Error("the traces differ")
			}
			network, other := w.pool.Stats(), host.Stats()
			if c.network > 0 && network.PeakBytes > c.network || c.host > 0 && other.PeakBytes > c.host {
				t.Errorf("peaks of %d and %d bytes are over the budgets of %d and %d", network.PeakBytes, other.PeakBytes, c.network, c.host)
			}
			if c.network > 0 && other.MovedIn < state/2 || c.host > 0 && (other.MovedIn == 0 || network.LiveBytes < state/2) {
				t.Errorf("of %d bytes of state %d moved; network %+v", state, other.MovedIn, network)
			}
			t.Logf("%d bytes of state; %d tensors, %d bytes moved to the host; peaks %d and %d", state, other.Moves, other.MovedIn, network.PeakBytes, other.PeakBytes)
		})
	}
}

// stateBytes is what the tracker's memories and logits take.
func stateBytes(t *Tracker) (n int64) {
	for _, o := range t.objects {
		o.bank.Each(func(_ int, _ memory.Kind, e *memory.Entry) {
			n += int64(len(e.Features.Bytes()) + len(e.Logits.Bytes()))
		})
	}
	return n
}

func TestWhatIsNeededLastMovesOutFirst(t *testing.T) {
	w := newWorld(t, nil)
	w.prompt(4, 1, click(first(4)), both(4)...)
	w.commit()
	w.pass(4, 9)
	w.prompt(9, 2, click(second(9)), both(9)...) // not committed
	frameOf := func(e *memory.Entry) int {
		found := -1
		w.tracker.objects[0].bank.Each(func(frame int, _ memory.Kind, of *memory.Entry) {
			if of == e {
				found = frame
			}
		})
		return found
	}
	var order []int
	for _, e := range w.tracker.neededLast(w.pool) {
		order = append(order, frameOf(e))
	}
	if want := []int{5, 6, 7, 8, 9, 4, -1}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v: recent frames from far to near, prompted ones, those that are not committed", order, want)
	}
}

func TestTwoFullPoolsAreOneClearErrorAndNotTheEnd(t *testing.T) {
	entry := int64(64*8*2 + lowRes*lowRes*4)
	host := tensor.NewPool("host", tensor.Host(), 3*entry)
	w := newWorldWithin(t, 600_000, func(o *Options) { o.Overflow = host })
	w.scene.Pool = tensor.NewPool("frames", tensor.Host(), 0)
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.commit()
	n, failed := 1, error(nil)
	for ; n < 1000 && failed == nil; n++ {
		frame := w.scene.Frame(n, both(n)...)
		r, err := w.tracker.Step(frame, memory.Forward)
		frame.Release()
		r.Release()
		failed = err
	}
	if !errors.Is(failed, tensor.ErrExhausted) || !strings.Contains(failed.Error(), `pool "network"`) || !strings.Contains(failed.Error(), `pool "host"`) {
		t.Fatalf("after %d frames: %v", n, failed)
	}
	if host.Stats().Moves == 0 {
		t.Error("nothing had moved to the host before")
	}
	w.tracker.Reset()
	w.prompt(n, 1, click(first(n)), both(n)...)
	w.commit()
	if got := w.pass(n, n+1)[n+1]; !got[0].near(first(n + 1)) {
		t.Errorf("after a reset: %+v", got)
	}
}

func TestAReversePassOfALiveTrackMakesRoomAmongTheLiveMemories(t *testing.T) {
	run := func(budget int64) (all [][]seen, peak int64, host tensor.Stats) {
		overflow := tensor.NewPool("host", tensor.Host(), 0)
		w := newWorldWithin(t, budget, func(o *Options) { o.Overflow = overflow })
		w.scene.Pool = tensor.NewPool("frames", tensor.Host(), 0)
		w.prompt(0, 1, click(first(0)), both(0)...)
		w.commit()
		w.pass(0, 30)
		back := w.tracker.Snapshot(30, nil)
		defer back.Close()
		for n := 30; n >= 0; n-- {
			frame := w.scene.Frame(n, both(n)...)
			r, err := back.Step(frame, memory.Reverse)
			frame.Release()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, look(r))
		}
		return all, w.pool.Stats().PeakBytes, overflow.Stats()
	}
	want, peak, _ := run(0)
	got, _, host := run(peak - 10*(64*8*2+lowRes*lowRes*4))
	if !slices.EqualFunc(got, want, slices.Equal) || host.Moves == 0 {
		t.Errorf("masks differ, or nothing moved: %+v", host)
	}
}

func TestAResetTrackerThatSparesHoldsNothing(t *testing.T) {
	w := newWorld(t, nil)
	w.scene.Pool = tensor.NewPool("frames", tensor.Host(), 0)
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.commit()
	w.pass(0, 3)
	w.tracker.Reset()
	w.tracker.Spare()
	if held := w.pool.Stats().LiveBytes; held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

func TestWhatNeedsRoomInBothFullPoolsGivesUp(t *testing.T) {
	entry := int64(64*8*2 + lowRes*lowRes*4)
	host := tensor.NewPool("host", tensor.Host(), 40*entry)
	w := newWorldWithin(t, 0, func(o *Options) { o.State, o.Overflow = tensor.NewPool("home", tensor.Host(), 40*entry), host })
	home := w.tracker.options.State
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.commit()
	w.pass(0, 30)
	tries := 0
	err := w.tracker.InRoom(func() error {
		if tries++; tries > 1000 {
			return errors.New("endless")
		}
		for _, pool := range []*tensor.Pool{home, host} {
			some, err := pool.New(tensor.Uint8, int(30*entry))
			if err != nil {
				return err
			}
			defer some.Release()
		}
		return nil
	})
	if !errors.Is(err, tensor.ErrExhausted) || !strings.Contains(err.Error(), "both pools") {
		t.Errorf("after %d tries: %v", tries, err)
	}
}
