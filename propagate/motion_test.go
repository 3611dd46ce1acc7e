package propagate

import (
	"slices"
	"testing"

	"maskstream/memory"
	"maskstream/memory/motion"
	"maskstream/model"
	"maskstream/model/modeltest"
	"maskstream/tensor"
)

// Two dots that look alike and pass through each other on frame 27; nine frames long they are one blob.
func rightward(n int) modeltest.Dot  { return modeltest.Dot{X: 25 + 5*float64(n), Y: 80, R: 15} }
func leftward(n int) modeltest.Dot   { return modeltest.Dot{X: 295 - 5*float64(n), Y: 80, R: 15} }
func crossing(n int) []modeltest.Dot { return []modeltest.Dot{rightward(n), leftward(n)} }
func motionAware(o *Options)         { o.MotionAware = true }
func (w *world) promptCrossing(at int) {
	w.prompt(at, 1, click(rightward(at)), crossing(at)...)
	w.prompt(at, 2, click(leftward(at)), crossing(at)...)
	w.commit()
}

// cross passes over the dots and returns what was seen last.
func (w *world) cross(from, to int) (all [][]seen) {
	w.t.Helper()
	direction := memory.Forward
	if to < from {
		direction = memory.Reverse
	}
	for n := from; n != to+int(direction); n += int(direction) {
		all = append(all, w.step(n, direction, crossing(n)...))
	}
	return all
}

// kept says which of the objects lies on its own dot.
func kept(n int, all [][]seen) [2]bool {
	last := all[len(all)-1]
	return [2]bool{last[0].near(rightward(n)), last[1].near(leftward(n))}
}

func TestDotsThatCross(t *testing.T) {
	const last = 54
	for _, c := range []struct {
		name     string
		change   func(*Options)
		from, to int
		want     [2]bool
	}{
		{"plain memory follows one dot with both objects", nil, 0, last, [2]bool{true, false}},
		{"motion tells them apart", motionAware, 0, last, [2]bool{true, true}},
		{"plain memory back in time", nil, last, 0, [2]bool{false, true}},
		{"motion back in time", motionAware, last, 0, [2]bool{true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.change)
			w.promptCrossing(c.from)
			if got := kept(c.to, w.cross(c.from, c.to)); got != c.want {
				t.Errorf("objects 1 and 2 end on their own dots: %v, want %v", got, c.want)
			}
		})
	}
}

func TestMotionGoesOnFromWhereAPassEnded(t *testing.T) {
	w := newWorld(t, motionAware)
	w.promptCrossing(0)
	w.cross(0, 40)
	// No frame of the way back but the last is prompted: what is known of the motion is the first pass's.
	if got := kept(1, w.cross(39, 1)); got != [2]bool{true, true} {
		t.Errorf("objects 1 and 2 end on their own dots: %v", got)
	}
}

func TestMotionIsTheSameInABoundedBank(t *testing.T) {
	everything := newWorld(t, motionAware)
	live := newWorld(t, func(o *Options) {
		o.MotionAware = true
		o.Retention = memory.Live(o.Policy(modeltest.New(nil, size).Config()), 1)
	})
	everything.promptCrossing(0)
	live.promptCrossing(0)
	a, b := everything.cross(0, 54), live.cross(0, 54)
	for n := range a {
		if !slices.Equal(a[n], b[n]) {
			t.Fatalf("frame %d: %+v, unbounded %+v", n, b[n], a[n])
		}
	}
}

func TestFramesWithoutTheObjectAreNotRemembered(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   []int
	}{{nil, span(24, 29)}, {motionAware, []int{15, 16, 17, 18, 19, 29}}} {
		w := newWorld(t, c.change)
		w.prompt(0, 1, click(first(0)), both(0)...)
		w.commit()
		for n := range 30 {
			dots := both(n)
			if n >= 20 {
				dots = dots[1:]
			}
			w.step(n, memory.Forward, dots...)
		}
		if got := w.step(30, memory.Forward, both(30)...); !got[0].near(first(30)) {
			t.Errorf("the object is not found again: %+v", got[0])
		}
		if got := w.traced(30, 1).Recent; !slices.Equal(got, c.want) {
			t.Errorf("ten frames unseen: attends to %v, want %v", got, c.want)
		}
	}
}

func TestAPromptBeginsTheMotionAnew(t *testing.T) {
	w := newWorld(t, motionAware)
	w.promptCrossing(0)
	w.cross(0, 20)
	w.prompt(20, 1, click(leftward(20)), crossing(20)...) // object 1 is the other dot, says the user
	w.commit()
	e, _ := w.tracker.find(1).bank.Find(20)
	box := motion.BoxOf(e.Logits.Float32s(), lowRes)
	if e.Motion != motion.Start(box) || box.X0 < 16 {
		t.Errorf("corrected to %+v, the motion is %+v", box, e.Motion)
	}
}

// Without motion awareness the network is asked for nothing more, and nothing is known of the motion.
func TestMotionIsOffByDefault(t *testing.T) {
	w := newWorld(t, nil)
	w.network.Decoded = func(_ *tensor.Tensor, prompts []model.Prompt) {
		for _, p := range prompts {
			if p.Alternatives {
				t.Error("alternatives are asked for")
			}
		}
	}
	w.promptCrossing(0)
	w.cross(0, 10)
	for _, o := range w.tracker.objects {
		for _, f := range span(0, 10) {
			if e, _ := o.bank.Find(f); e.Motion.Agreement != 0 {
				t.Errorf("object %d, frame %d: agreement %v", o.id, f, e.Motion.Agreement)
			}
		}
	}
}
