package propagate

// Cases that every implementation must get right and that can be checked without weights, by their numbers.

import (
	"errors"
	"slices"
	"testing"

	"maskstream/memory"
)

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
