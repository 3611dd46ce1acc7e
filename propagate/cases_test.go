package propagate

// The cases every implementation must get right that can be checked without weights, by their numbers.

import (
	"errors"
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

func TestT6AnObjectAddedMidStreamChangesNothingForTheOthers(t *testing.T) {
	want := alone(t, 1, 0, 45)
	w := newWorld(t, nil)
	w.prompt(0, 1, click(dot(1, 0)), both(0)...)
	w.commit()
	for n := range 46 {
		if n == 30 {
			w.prompt(30, 2, click(dot(2, 30)), both(30)...)
			w.commit()
		}
		got := w.step(n, memory.Forward, both(n)...)
		if got[0].bits != want[n].bits {
			t.Errorf("frame %d: the first object is not what it is alone", n)
		}
		if known := len(got) == 2; known != (n >= 30) || known && !got[1].near(dot(2, n)) {
			t.Errorf("frame %d: %+v", n, got)
		}
	}
}

func TestT7APromptedFrameOfOneObjectIsAnOrdinaryOneOfAnother(t *testing.T) {
	w := newWorld(t, nil)
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.commit()
	w.pass(0, 35)
	if got := w.prompt(30, 2, click(second(30)), both(30)...); !got[0].near(first(30)) || !got[1].near(second(30)) {
		t.Errorf("the answer on frame 30: %+v", got)
	}
	w.commit()
	if got := w.step(30, memory.Forward, both(30)...); !got[0].near(first(30)) || !got[1].near(second(30)) {
		t.Errorf("frame 30: %+v", got)
	}
}

func TestT8ACorrectionSticks(t *testing.T) {
	script := func(conditioning string) string {
		return `{"options": {"add_all_frames_to_correct_as_cond": ` + conditioning + `}, "steps": [
			{"op": "add_points_or_box", "frame": 0, "object": 1, "points": [[60, 40]], "labels": [1]},
			{"op": "propagate", "max_frames": 55},
			{"op": "add_points_or_box", "frame": 40, "object": 1, "points": [[140, 40]], "labels": [0]},
			{"op": "propagate", "start_frame": 0, "max_frames": 55},
			{"op": "propagate", "start_frame": 40, "max_frames": 5}]}`
	}
	w := newWorld(t, nil)
	lines, shown, err := play(t, w, 60, 1, script("true"))
	if err != nil {
		t.Fatal(err)
	}
	at := func(step, frame int) seen {
		i := slices.IndexFunc(lines, func(l line) bool { return l.step == step && l.frame == frame })
		return shown[i][0]
	}
	if before, clicked := at(1, 40), at(2, 40); before.area == 0 || clicked.area != 0 || clicked.score > 0 {
		t.Fatalf("tracked %+v, corrected %+v", before, clicked)
	}
	if at(3, 40) != at(2, 40) || at(4, 40) != at(2, 40) {
		t.Errorf("frame 40 after the correction %+v: from 0 %+v, from 40 %+v", at(2, 40), at(3, 40), at(4, 40))
	}
	if tr := w.traced(41, 1); !slices.Equal(tr.Conditioning, []int{0, 40}) {
		t.Errorf("frame 41 attends to %+v", tr)
	}
	if at(3, 41).bits == at(1, 41).bits || at(3, 39).bits == at(1, 39).bits {
		t.Error("the frames around do not feel the correction")
	}

	w = newWorld(t, nil) // as the reference does it by default
	lines, shown, err = play(t, w, 60, 1, script("false"))
	if err != nil {
		t.Fatal(err)
	}
	if at(3, 40).area == 0 || !slices.Equal(w.traced(41, 1).Conditioning, []int{0}) {
		t.Errorf("without conditioning frame 40 is %+v", at(3, 40))
	}
}

func TestT9Reverse(t *testing.T) {
	prompt := `{"op": "add_points_or_box", "frame": 20, "object": 1, "points": [[100, 40]], "labels": [1]}`
	w := newWorld(t, nil)
	lines, shown, err := play(t, w, 40, 1, `{"steps": [`+prompt+`, {"op": "propagate", "reverse": true}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 22 {
		t.Fatalf("%d lines, want the answer and frames 20 … 0", len(lines))
	}
	for i, l := range lines[1:] {
		if l.frame != 20-i || l.direction != "reverse" || !shown[1+i][0].near(first(20-i)) {
			t.Errorf("line %d: %+v %+v", i, l, shown[1+i])
		}
	}
	if tr := w.traced(15, 1); !slices.Equal(tr.Conditioning, []int{20}) || !slices.Equal(tr.Recent, span(16, 19)) || !slices.Equal(tr.Pointers, span(16, 20)) || tr.Pass != memory.Reverse {
		t.Errorf("frame 15 attends to %+v", tr)
	}

	// After a forward pass its results ahead take part, as in the reference.
	w = newWorld(t, nil)
	if _, _, err = play(t, w, 40, 1, `{"steps": [`+prompt+`, {"op": "propagate"}, {"op": "propagate", "reverse": true}]}`); err != nil {
		t.Fatal(err)
	}
	if tr := w.traced(19, 1); !slices.Equal(tr.Conditioning, []int{20}) || !slices.Equal(tr.Recent, span(21, 25)) || !slices.Equal(tr.Pointers, span(20, 34)) {
		t.Errorf("after a forward pass frame 19 attends to %+v", tr)
	}

	// From frame 0 there is frame 0.
	w = newWorld(t, nil)
	lines, _, err = play(t, w, 40, 1, `{"steps": [{"op": "add_points_or_box", "frame": 0, "object": 1, "points": [[60, 40]], "labels": [1]}, {"op": "propagate", "reverse": true}]}`)
	if err != nil || len(lines) != 2 || lines[1].frame != 0 || lines[1].direction != "reverse" {
		t.Errorf("reverse from frame 0: %v %+v", err, lines)
	}
}

func TestT11NothingToTrack(t *testing.T) {
	for _, reverse := range []string{"", `, "reverse": true`} {
		w := newWorld(t, nil)
		if lines, _, err := play(t, w, 9, 1, `{"steps": [{"op": "propagate"`+reverse+`}]}`); !errors.Is(err, ErrNoObjects) || len(lines) != 0 {
			t.Errorf("without objects: %v", err)
		}
		cleared := `{"steps": [{"op": "add_points_or_box", "frame": 0, "object": 7, "points": [[60, 40]], "labels": [1]}, {"op": "clear_prompts", "frame": 0, "object": 7}, {"op": "propagate"` + reverse + `}]}`
		if _, _, err := play(t, w, 9, 1, cleared); !errors.Is(err, ErrUnprompted) {
			t.Errorf("with an object whose prompt was cleared: %v", err)
		}
		_, shown, err := play(t, w, 9, 1, `{"steps": [{"op": "add_points_or_box", "frame": 3, "object": 7, "points": [[66, 40]], "labels": [1]}, {"op": "propagate"`+reverse+`}]}`)
		if err != nil || !shown[len(shown)-1][0].has {
			t.Errorf("afterwards: %v", err)
		}
	}
}

func TestT13NothingComesBeforeTheFirstPrompt(t *testing.T) {
	w := newWorld(t, nil)
	lines, shown, err := play(t, w, 56, 1, `{"steps": [{"op": "add_points_or_box", "frame": 50, "object": 1, "points": [[160, 40]], "labels": [1]}, {"op": "propagate"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range lines {
		if want := max(50, 49+i); l.frame != want || !shown[i][0].near(first(want)) {
			t.Errorf("line %d: %+v %+v", i, l, shown[i])
		}
	}
	if len(lines) != 7 {
		t.Errorf("%d lines", len(lines))
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

func TestT15AnObjectThatLeavesKeepsItsPlaceAndComesBack(t *testing.T) {
	w := newWorld(t, nil)
	still := modeltest.Dot{X: 90, Y: 40, R: 20}
	w.prompt(0, 3, click(still), still, second(0))
	w.prompt(0, 8, click(second(0)), still, second(0))
	w.commit()
	for n := range 70 {
		dots := []modeltest.Dot{second(min(n, 59)), still}
		if n >= 15 && n < 55 {
			dots = dots[:1]
		}
		got := w.step(n, memory.Forward, dots...)
		if got[0].id != 3 || got[1].id != 8 || !got[1].near(second(min(n, 59))) {
			t.Fatalf("frame %d: %+v", n, got)
		}
		switch away := len(dots) == 1; {
		case away && (!got[0].has || got[0].area != 0 || got[0].score > 0):
			t.Errorf("frame %d: away, but %+v", n, got[0])
		case !away && !got[0].near(still):
			t.Errorf("frame %d: there, but %+v", n, got[0])
		}
	}
}

func TestT17IdsMayBeAnyAndKeepTheirOrder(t *testing.T) {
	w := newWorld(t, nil)
	ids := []int{7, MaxObjectID, 0}
	for _, id := range ids {
		p := click(dot(id, 0))
		if id == 7 {
			p.Labels = []int{0} // an empty mask keeps its place
		}
		w.prompt(0, id, p, both(0)...)
	}
	w.commit()
	for n, got := range w.pass(0, 5) {
		for i, o := range got {
			if o.id != ids[i] || !o.has || (o.area > 0) != (o.id != 7) {
				t.Errorf("frame %d, place %d: %+v", n, i, o)
			}
		}
	}
}

func TestT19RemovingOneObjectChangesNothingForTheOthers(t *testing.T) {
	want := alone(t, 2, 10, 30)
	w := newWorld(t, nil)
	w.prompt(0, 1, click(dot(1, 0)), both(0)...)
	w.commit()
	for n := range 31 {
		if n == 10 {
			w.prompt(10, 2, click(dot(2, 10)), both(10)...)
			w.commit()
		}
		if n == 20 {
			w.tracker.Remove(1)
		}
		got := w.step(n, memory.Forward, both(n)...)
		if o := got[len(got)-1]; n >= 10 && (o.id != 2 || o.bits != want[n].bits) || n >= 20 && len(got) != 1 {
			t.Errorf("frame %d: %+v", n, got)
		}
	}
}
