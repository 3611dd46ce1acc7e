package propagate

// Cases that every implementation must get right and that can be checked without weights, by their numbers.

import (
	"maps"
	"math"
	"slices"
	"testing"

	"maskstream/memory"
	"maskstream/model/modeltest"
	"maskstream/tensor"
)

func TestT1AnEndlessStreamUsesFlatMemory(t *testing.T) {
	const history, length = 20, 5000
	pool := tensor.NewPool("network", tensor.Host(), 0)
	state := tensor.NewPool("state", tensor.Host(), 0)
	network := modeltest.New(pool, 64)
	scene := modeltest.Scene{Pool: pool, Size: 64, Width: 64, Height: 64}
	three := 3
	o := Options{FillHoleArea: 8, CorrectAsConditioning: true, MaxConditioning: &three, State: state}
	o.Retention = memory.Live(o.Policy(network.Config()), history)
	tracker := New(network, o)
	at := func(id, n int) modeltest.Dot {
		return modeltest.Dot{X: 20 + 12*float64(id) + 8*math.Sin(float64(n)/9), Y: 12 + 18*float64(id), R: 6}
	}
	var flat [2]tensor.Stats
	lost := 0
	for n := range length {
		frame := scene.Frame(n, at(0, n), at(1, n), at(2, n))
		for id := range 3 {
			late := id > 0 && n == length/2
			if n == 0 && id == 0 || late || n%100 == 99 && len(tracker.Objects()) > id { // a correction now and then
				p := click(at(id, n))
				p.Width, p.Height = 64, 64
				r, err := tracker.Prompt(frame, id, p)
				if err != nil {
					t.Fatal(err)
				}
				r.Release()
				if err := tracker.Commit(); err != nil {
					t.Fatal(err)
				}
			}
		}
		r, err := tracker.Step(frame, memory.Forward)
		if err != nil {
			t.Fatal(err)
		}
		frame.Release()
		for _, object := range r.Objects {
			if object.ObjectScore <= 0 {
				lost++
			}
		}
		r.Release()
		// Once as many frames were prompted as stay, nothing is allocated any more and nothing grows.
		switch now := [2]tensor.Stats{pool.Stats(), state.Stats()}; n {
		case length/2 - 1, length - 1:
			for i := range now {
				if now[i].Allocations != flat[i].Allocations || now[i].LiveBytes > flat[i].LiveBytes*51/50 {
					t.Errorf("frame %d: %+v, 100 frames after the last prompted frame came to stay %+v", n, now[i], flat[i])
				}
			}
		case length/2 - 100, length - 100:
			flat = now
		}
	}
	for _, object := range tracker.objects {
		if len(object.tracked) > history || len(object.points) > history || len(object.pending) > 0 {
			t.Errorf("object %d has notes on %d tracked and %d prompted frames", object.id, len(object.tracked), len(object.points))
		}
	}
	if lost > 0 {
		t.Errorf("objects were lost on %d frames", lost)
	}
	if live := state.Stats().LiveBytes; live > 3*(30*(16*8*2+64)+(20+30)*(16*16*4)) {
		t.Errorf("%d bytes of memories and logits for three objects", live)
	}
	tracker.Close()
	tensor.NoLeaks(t, pool, state, tracker.scratch)
}

func TestT2ClearAroundInputForgetsTheCorrectedObjectsNeighbours(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.ClearAroundInput = true })
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.prompt(0, 2, click(second(0)), both(0)...)
	w.commit()
	w.pass(0, 99)
	if got := w.recent(1); !slices.Equal(got, span(1, 99)) {
		t.Fatalf("recent frames before: %v", got)
	}
	w.prompt(50, 1, click(first(50)), both(50)...)
	w.commit()
	if got, want := w.recent(1), slices.Concat(span(1, 42), span(58, 99)); !slices.Equal(got, want) {
		t.Errorf("the corrected object remembers %v, want %v", got, want)
	}
	if got := w.recent(2); !slices.Equal(got, span(1, 99)) {
		t.Errorf("the other one remembers %v", got)
	}
	w.pass(44, 51) // a pass over the prompted frame forgets what it has just tracked before it
	if got, want := w.recent(1), slices.Concat(span(1, 42), span(51, 51), span(58, 99)); !slices.Equal(got, want) {
		t.Errorf("after a pass the corrected object remembers %v, want %v", got, want)
	}
}

func TestT3FortyPromptsOfWhichFourTakePart(t *testing.T) {
	four := 4
	w := newWorld(t, func(o *Options) { o.MaxConditioning = &four })
	for i := range 40 {
		w.prompt(7*i, 1, click(first(7*i)), both(7*i)...)
	}
	w.commit()
	w.pass(180, 200)
	tr := w.traced(200, 1)
	if want := []int{189, 196, 203, 210}; !slices.Equal(tr.Conditioning, want) {
		t.Errorf("conditioning %v, want %v", tr.Conditioning, want)
	}
	if want := []int{194, 195, 197, 198, 199}; !slices.Equal(tr.Recent, want) {
		t.Errorf("recent %v, want %v", tr.Recent, want)
	}
	c := w.network.Config()
	if most := (4+6)*c.Cells()*c.Cells() + c.PointerTokens()*(4+15); tr.Tokens > most {
		t.Errorf("%d tokens, at most %d", tr.Tokens, most)
	}
	// Two prompted frames lie in the past; 189 and 196 are not counted twice among the last fifteen.
	if want := slices.Concat(span(185, 199)); !slices.Equal(tr.Pointers, want) || tr.Tokens != 9*64+4*15 {
		t.Errorf("pointers %v, want %v; %d tokens", tr.Pointers, want, tr.Tokens)
	}
}

func TestT4AStreamOfUnknownLengthEqualsTheRecordedRun(t *testing.T) {
	const length, history = 60, 8
	prompts := map[int][]int{0: {1}, 10: {1}, 17: {2}, 18: {1, 2}, 33: {2}} // each on the newest frame
	run := func(retention func(Options, *world) memory.Retention) (map[int][]seen, []Trace) {
		four := 4
		w := newWorld(t, func(o *Options) { o.MaxConditioning = &four })
		w.tracker.options.Retention = retention(w.tracker.options, w)
		all := map[int][]seen{}
		for n := range length {
			if n > 0 {
				all[n] = w.step(n, memory.Forward, both(n)...)
			}
			for _, id := range prompts[n] {
				all[n] = slices.Concat(all[n], w.prompt(n, id, click(dot(id, n)), both(n)...))
				w.commit()
			}
		}
		return all, w.traces
	}
	streamed, streamedTraces := run(func(o Options, w *world) memory.Retention { return memory.Live(o.Policy(w.network.Config()), history) })
	recorded, recordedTraces := run(func(Options, *world) memory.Retention { return memory.Everything })
	for n := range length {
		if !slices.Equal(streamed[n], recorded[n]) {
			t.Errorf("frame %d: streamed %+v, recorded %+v", n, streamed[n], recorded[n])
		}
	}
	if !slices.EqualFunc(streamedTraces, recordedTraces, func(a, b Trace) bool {
		return a.Frame == b.Frame && a.Object == b.Object && slices.Equal(a.Conditioning, b.Conditioning) && slices.Equal(a.Recent, b.Recent) && slices.Equal(a.Pointers, b.Pointers) && a.Tokens == b.Tokens
	}) {
		t.Error("the traces differ")
	}

	// And a recorded run through a session, which knows where the clip ends.
	w := newWorld(t, nil)
	_, session, err := play(t, w, 45, 1, `{"steps": [{"op": "add_points_or_box", "frame": 0, "object": 1, "points": [[250, 120]], "labels": [1]}, {"op": "propagate"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	live := newWorld(t, func(o *Options) { o.Retention = memory.Live(memory.Policy{NumMaskmem: 7, MaxPointers: 16}, 1) })
	live.prompt(0, 1, click(second(0)), both(0)...)
	live.commit()
	for n := range 40 {
		if got := live.step(n, memory.Forward, both(n)...); !slices.Equal(got, session[1+n]) {
			t.Errorf("frame %d: streamed %+v, recorded %+v", n, got, session[1+n])
		}
	}
}

func TestT14OffloadChangesNothing(t *testing.T) {
	var want map[int][]seen
	for _, offload := range []struct{ video, state bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		host := tensor.NewPool("host", tensor.Host(), 0)
		w := newWorld(t, func(o *Options) {
			if offload.state {
				o.State = host
			}
		})
		if offload.video {
			w.scene.Pool = host
		}
		w.prompt(0, 1, click(first(0)), both(0)...)
		w.prompt(0, 2, click(second(0)), both(0)...)
		w.commit()
		got := w.pass(0, 30)
		w.prompt(12, 1, twice(first(12)), both(12)...)
		w.commit()
		maps.Copy(got, w.pass(12, 25))
		if want == nil {
			want = got
		}
		for n := range 31 {
			if !slices.Equal(got[n], want[n]) {
				t.Errorf("offload %+v, frame %d: %+v, without %+v", offload, n, got[n], want[n])
			}
		}
		if moved := host.Stats().MovedIn > 0; moved != offload.state {
			t.Errorf("offload %+v moved %d bytes", offload, host.Stats().MovedIn)
		}
		w.tracker.Close()
		tensor.NoLeaks(t, host)
	}
}
