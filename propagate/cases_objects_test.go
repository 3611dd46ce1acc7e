package propagate

// Cases that every implementation must get right and that can be checked without weights, by their numbers.

import (
	"testing"

	"maskstream/memory"
	"maskstream/model/modeltest"
)

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
