package propagate

import (
	"errors"
	"slices"
	"testing"

	"maskstream/memory"
)

// clearPrompts takes an object's prompts on a frame back.
func (w *world) clearPrompts(n, id int) []seen {
	w.t.Helper()
	r, err := w.tracker.Clear(n, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return look(r)
}

func TestAnAnswerShowsAllObjectsOnItsFrame(t *testing.T) {
	w := newWorld(t, nil)
	w.prompt(0, 5, click(first(0)), both(0)...)
	got := w.prompt(0, 3, click(second(0)), both(0)...)
	if len(got) != 2 || got[0].id != 5 || !got[0].near(first(0)) || got[1].id != 3 || !got[1].near(second(0)) {
		t.Errorf("both on frame 0: %+v", got)
	}
	got = w.prompt(4, 3, click(second(4)), both(4)...)
	if got[0].has || !got[1].near(second(4)) {
		t.Errorf("only one on frame 4: %+v", got)
	}
	w.commit()
	tracked := w.pass(0, 6)
	got = w.prompt(6, 3, twice(second(6)), both(6)...)
	if got[0].bits != tracked[6][0].bits || got[1].bits == tracked[6][1].bits {
		t.Errorf("a correction shows the other object as tracked: %+v", got)
	}
}

func TestAPendingAnswerIsShownOnlyWithOthersOfItsKind(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.CorrectAsConditioning = false })
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.commit()
	tracked := w.pass(0, 5)[5]
	corrected := w.prompt(5, 1, twice(first(5)), both(5)...)
	if corrected[0].bits == tracked[0].bits {
		t.Fatal("the correction changed nothing")
	}
	// Object 2 is new on the frame, so its answer is a conditioning one; the recent one of object 1 is not shown with it.
	if got := w.prompt(5, 2, click(second(5)), both(5)...); got[0].bits != tracked[0].bits || !got[1].near(second(5)) {
		t.Errorf("with a new object: %+v", got)
	}
	if got := w.clearPrompts(5, 2); got[0].bits != corrected[0].bits || got[1].has {
		t.Errorf("after it was cleared: %+v", got)
	}
}

func TestClearingTakesAPendingAnswerBack(t *testing.T) {
	w := newWorld(t, nil)
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.commit()
	tracked := w.pass(0, 8)
	w.prompt(5, 1, click(second(5)), both(5)...)
	if got := w.clearPrompts(5, 1); got[0].bits != tracked[5][0].bits {
		t.Errorf("the tracked mask is not back: %+v", got)
	}
	w.commit()
	if again := w.pass(0, 8); again[8][0].bits != tracked[8][0].bits {
		t.Error("the cleared correction had an effect")
	}
	if o := w.tracker.find(1); len(o.pending) != 0 || len(o.points) != 1 {
		t.Errorf("%d pending answers and %d prompts left", len(o.pending), len(o.points))
	}
}

func TestClearingACommittedPromptDowngradesItsFrame(t *testing.T) {
	w := newWorld(t, nil)
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.prompt(4, 1, click(first(4)), both(4)...)
	w.commit()
	shown := w.pass(0, 6)
	if got := w.clearPrompts(4, 1); got[0].bits != shown[4][0].bits {
		t.Errorf("the downgraded mask is not what it was: %+v", got)
	}
	if got := w.recent(1); !slices.Equal(got, []int{1, 2, 3, 4, 5, 6}) {
		t.Errorf("recent frames %v", got)
	}
	if _, tracked := w.tracker.find(1).tracked[4]; tracked {
		t.Error("the frame is still noted as tracked")
	}
	w.commit()
	w.pass(5, 5)
	if tr := w.traced(5, 1); !slices.Equal(tr.Conditioning, []int{0}) || !slices.Equal(tr.Recent, []int{1, 2, 3, 4}) {
		t.Errorf("frame 5 attends to %+v", tr)
	}
}

func TestAnObjectWithoutPromptsIsLeftOutUntilItIsPromptedAgain(t *testing.T) {
	for _, conditioning := range []bool{true, false} {
		w := newWorld(t, func(o *Options) { o.CorrectAsConditioning = conditioning })
		w.prompt(0, 1, click(first(0)), both(0)...)
		w.prompt(0, 2, click(second(0)), both(0)...)
		w.commit()
		want := w.pass(0, 9)
		w.pass(0, 5)
		w.clearPrompts(0, 1)
		if err := w.tracker.Commit(); !errors.Is(err, ErrUnprompted) {
			t.Errorf("commit: %v", err)
		}
		for n := 6; n < 9; n++ {
			if got := w.step(n, memory.Forward, both(n)...); got[0].has || got[1].bits != want[n][1].bits {
				t.Errorf("frame %d: %+v", n, got)
			}
		}
		// A tracked frame is no correction now: there is nothing left that it could correct.
		w.prompt(5, 1, click(first(5)), both(5)...)
		w.commit()
		if got := w.step(9, memory.Forward, both(9)...); !got[0].near(first(9)) {
			t.Errorf("prompted again: %+v", got)
		}
	}
}

func TestCommitFilesTheOthersWhereOneObjectHasNoPrompt(t *testing.T) {
	w := newWorld(t, nil)
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.clearPrompts(0, 1)
	w.prompt(0, 2, click(second(0)), both(0)...)
	if err := w.tracker.Commit(); !errors.Is(err, ErrUnprompted) || len(w.tracker.find(2).pending) != 0 {
		t.Errorf("%v, pending %v", err, w.tracker.find(2).pending)
	}
	if got := w.pass(0, 2)[2]; got[0].has || !got[1].near(second(2)) {
		t.Errorf("frame 2: %+v", got)
	}
}

func TestACorrectionThatDoesNotConditionIsLostAsInTheReference(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.CorrectAsConditioning = false })
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.commit()
	before := w.pass(0, 5)
	absent := click(first(3))
	absent.Labels = []int{0}
	if got := w.prompt(3, 1, absent, both(3)...); got[0].area != 0 {
		t.Fatalf("the correction shows %+v", got)
	}
	w.prompt(0, 1, absent, both(0)...) // a prompted frame that was tracked: the answer gives way to the first one
	w.commit()
	if got := w.recent(1); !slices.Equal(got, span(1, 5)) {
		t.Errorf("recent frames %v", got)
	}
	after := w.pass(0, 5)
	for _, n := range []int{0, 3} {
		if after[n][0].area != before[n][0].area || after[n][0].area == 0 {
			t.Errorf("frame %d: %+v, was %+v", n, after[n][0], before[n][0])
		}
	}
}

func TestRemoveAndReset(t *testing.T) {
	w := newWorld(t, nil)
	for i, id := range []int{4, 9, 2} {
		w.prompt(i, id, click(dot(id, i)), both(i)...) // the last stays pending
		if i == 1 {
			w.commit()
		}
	}
	if got := w.tracker.Conditioned(); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("conditioned frames %v", got)
	}
	if !w.tracker.Remove(9) || w.tracker.Remove(9) {
		t.Error("remove says the wrong thing")
	}
	if got := w.tracker.Objects(); !slices.Equal(got, []int{4, 2}) {
		t.Errorf("objects %v", got)
	}
	if _, err := w.tracker.Clear(0, 9); !errors.Is(err, ErrUnknownObject) {
		t.Errorf("clearing an unknown object: %v", err)
	}
	if got := w.tracker.Objects(); !slices.Equal(got, []int{4, 2}) {
		t.Errorf("clearing an unknown object made it known: %v", got)
	}
	w.tracker.Reset()
	if err := w.tracker.Commit(); !errors.Is(err, ErrNoObjects) || len(w.tracker.Objects()) != 0 {
		t.Errorf("after a reset: %v, %v", err, w.tracker.Objects())
	}
	// The frame's picture was encoded already, and nothing of the old object is fed back.
	calls := w.network.Calls.EncodeImage.Load()
	if got := w.prompt(2, 4, click(first(2)), both(2)...); len(got) != 1 || !got[0].near(first(2)) {
		t.Errorf("after a reset: %+v", got)
	}
	if got := w.network.Calls.EncodeImage.Load() - calls; got != 0 {
		t.Errorf("%d encodings more", got)
	}
}

func TestAnotherPictureOfTheSameNumberIsEncoded(t *testing.T) {
	w := newWorld(t, nil)
	w.prompt(0, 1, click(first(0)), both(0)...)
	w.tracker.Reset()
	frame := w.scene.Frame(0, second(0))
	defer frame.Release()
	frame.Picture.Meta.Epoch = 1
	p := click(first(0))
	p.Width, p.Height = width, height
	r, err := w.tracker.Prompt(frame, 1, p)
	if err != nil {
		t.Fatal(err)
	}
	if got := look(r); got[0].area != 0 {
		t.Errorf("the picture of the epoch before was prompted: %+v", got)
	}
}

func TestPromptsAreCommittedInTheirOrder(t *testing.T) {
	// Of two equally near frames the one prompted first takes part.
	for _, order := range [][]int{{0, 20, 8, 12}, {20, 0, 8, 12}} {
		three := 3
		w := newWorld(t, func(o *Options) { o.MaxConditioning = &three })
		for _, n := range order {
			w.prompt(n, 1, click(first(n)), both(n)...)
		}
		w.prompt(order[0], 1, click(first(order[0])), both(order[0])...) // again: keeps its place
		w.commit()
		w.step(10, memory.Forward, both(10)...)
		want := slices.Sorted(slices.Values([]int{8, 12, order[0]}))
		if tr := w.traced(10, 1); !slices.Equal(tr.Conditioning, want) {
			t.Errorf("prompted in the order %v: frame 10 attends to %v, want %v", order, tr.Conditioning, want)
		}
	}
}
