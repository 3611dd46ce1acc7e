package propagate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"maskstream/model/modeltest"
	"maskstream/rle"
	"maskstream/tensor"
)

// add points at object id (1 on the first dot, others on the second) on a frame.
func add(frame, id string) string {
	at := map[bool]string{true: "[70, 40]", false: "[240, 120]"}[id == "1"]
	return `{"op": "add_points_or_box", "frame": ` + frame + `, "object": ` + id + `, "points": [` + at + `], "labels": [1]}`
}

func TestASessionSpeaksInTheReferencesOrder(t *testing.T) {
	lines := func(direction string, step, from, to int, objects ...int) []line {
		var all []line
		by := 1
		if to < from {
			by = -1
		}
		for n := from; n != to+by; n += by {
			all = append(all, line{step, n, direction, objects})
		}
		return all
	}
	for _, c := range []struct {
		name   string
		length int
		every  int
		steps  []string
		want   []line
	}{
		{"a prompt, then a pass to the end from the earliest prompted frame", 9, 1, []string{add("5", "1"), add("3", "2"), `{"op": "propagate"}`},
			slices.Concat(lines("prompt", 0, 5, 5, 1), lines("prompt", 1, 3, 3, 1, 2), lines("forward", 2, 3, 8, 1, 2))},
		{"max_frames is one less than there are lines", 9, 1, []string{add("0", "1"), `{"op": "propagate", "max_frames": 3}`, `{"op": "propagate", "start_frame": 4, "max_frames": 0}`},
			slices.Concat(lines("prompt", 0, 0, 0, 1), lines("forward", 1, 0, 3, 1), lines("forward", 2, 4, 4, 1))},
		{"and no more than the clip has", 9, 1, []string{add("0", "1"), `{"op": "propagate", "start_frame": 6, "max_frames": 30}`},
			slices.Concat(lines("prompt", 0, 0, 0, 1), lines("forward", 1, 6, 8, 1))},
		{"a start before the first prompt tracks from the future", 9, 1, []string{add("5", "1"), `{"op": "propagate", "start_frame": 2}`},
			slices.Concat(lines("prompt", 0, 5, 5, 1), lines("forward", 1, 2, 8, 1))},
		{"reverse goes down to 0", 9, 1, []string{add("4", "1"), `{"op": "propagate", "reverse": true}`},
			slices.Concat(lines("prompt", 0, 4, 4, 1), lines("reverse", 1, 4, 0, 1))},
		{"reverse for max_frames and one more", 9, 1, []string{add("4", "1"), `{"op": "propagate", "start_frame": 8, "max_frames": 2, "reverse": true}`},
			slices.Concat(lines("prompt", 0, 4, 4, 1), lines("reverse", 1, 8, 6, 1))},
		{"reverse from 0 is frame 0", 9, 1, []string{add("4", "1"), `{"op": "propagate", "start_frame": 0, "reverse": true}`},
			slices.Concat(lines("prompt", 0, 4, 4, 1), lines("reverse", 1, 0, 0, 1))},
		{"remove, also of an unknown object", 9, 1, []string{add("0", "1"), add("0", "7"), add("0", "3"), `{"op": "remove_object", "object": 7}`, `{"op": "remove_object", "object": 99}`, `{"op": "propagate", "max_frames": 1}`},
			slices.Concat(lines("prompt", 0, 0, 0, 1), lines("prompt", 1, 0, 0, 1, 7), lines("prompt", 2, 0, 0, 1, 7, 3),
				[]line{{3, -1, "removed", []int{1, 3}}, {4, -1, "removed", []int{1, 3}}}, lines("forward", 5, 0, 1, 1, 3))},
		{"removing the last leaves a fresh session", 9, 1, []string{add("0", "1"), `{"op": "remove_object", "object": 1}`, add("2", "2"), `{"op": "propagate", "max_frames": 0}`},
			slices.Concat(lines("prompt", 0, 0, 0, 1), []line{{1, -1, "removed", []int{}}}, lines("prompt", 2, 2, 2, 2), lines("forward", 3, 2, 2, 2))},
		{"clearing a prompt shows its frame", 9, 1, []string{add("0", "1"), add("4", "1"), `{"op": "clear_prompts", "frame": 4, "object": 1}`, `{"op": "propagate", "max_frames": 0}`},
			slices.Concat(lines("prompt", 0, 0, 0, 1), lines("prompt", 1, 4, 4, 1), lines("prompt", 2, 4, 4, 1), lines("forward", 3, 0, 0, 1))},
		{"a reset says nothing", 9, 1, []string{add("0", "1"), `{"op": "propagate", "max_frames": 1}`, `{"op": "reset"}`, add("5", "2"), `{"op": "propagate", "max_frames": 1}`},
			slices.Concat(lines("prompt", 0, 0, 0, 1), lines("forward", 1, 0, 1, 1), lines("prompt", 3, 5, 5, 2), lines("forward", 4, 5, 6, 2))},
		{"every third frame", 11, 3, []string{add("3", "1"), `{"op": "propagate"}`, `{"op": "propagate", "start_frame": 6, "max_frames": 1, "reverse": true}`},
			slices.Concat(lines("prompt", 0, 3, 3, 1), []line{{1, 3, "forward", []int{1}}, {1, 6, "forward", []int{1}}, {1, 9, "forward", []int{1}}, {2, 6, "reverse", []int{1}}, {2, 3, "reverse", []int{1}}})},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			got, _, err := play(t, w, c.length, c.every, `{"steps": [`+strings.Join(c.steps, ", ")+`]}`)
			if err != nil {
				t.Fatal(err)
			}
			same := func(a, b line) bool {
				return a.step == b.step && a.frame == b.frame && a.direction == b.direction && slices.Equal(a.objects, b.objects)
			}
			if !slices.EqualFunc(got, c.want, same) {
				t.Errorf("\n got %v\nwant %v", got, c.want)
			}
		})
	}
}

func TestASessionEndsWithAnErrorThatNamesTheStep(t *testing.T) {
	for _, c := range []struct {
		name  string
		every int
		steps string
		says  string
		is    error
	}{
		{"a prompt behind the end", 1, add("9", "1"), "step 0 (add_points_or_box): frame 9: ", ErrPastEnd},
		{"a start behind the end", 1, add("0", "1") + `, {"op": "propagate", "start_frame": 9}`, "step 1 (propagate): frame 9: ", ErrPastEnd},
		{"a reverse start behind the end", 1, add("0", "1") + `, {"op": "propagate", "start_frame": 9, "reverse": true}`, "step 1 (propagate): frame 9: ", ErrPastEnd},
		{"a prompt between the processed frames", 3, add("4", "1"), "step 0 (add_points_or_box): frame 4 is passed over", nil},
		{"a start between them", 2, add("4", "1") + `, {"op": "propagate", "start_frame": 5}`, "step 1 (propagate): frame 5 is passed over", nil},
		{"a clear between them", 2, add("4", "1") + `, {"op": "clear_prompts", "frame": 5, "object": 1}`, "step 1 (clear_prompts): frame 5 is passed over", nil},
		{"clearing an unknown object", 1, add("4", "1") + `, {"op": "clear_prompts", "frame": 4, "object": 2}`, "step 1 (clear_prompts): object 2: ", ErrUnknownObject},
		{"a pass without objects", 1, `{"op": "propagate"}`, "step 0 (propagate): ", ErrNoObjects},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil)
			_, _, err := play(t, w, 9, c.every, `{"steps": [`+c.steps+`]}`)
			if err == nil || !strings.HasPrefix(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error %v, want %q", err, c.says)
			}
			if _, _, err := play(t, w, 9, 1, `{"steps": [`+add("2", "1")+`, {"op": "propagate"}]}`); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestASessionStopsWhenAskedTo(t *testing.T) {
	w := newWorld(t, nil)
	s, err := ParseScript([]byte(`{"steps": [` + add("0", "1") + `, {"op": "propagate"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	err = NewSession(w.tracker, discs{w.scene, 9, 1}, s).Run(ctx, func(Outcome) error {
		if seen++; seen == 3 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || seen != 3 {
		t.Errorf("%v after %d lines", err, seen)
	}
	full := errors.New("disk full")
	err = NewSession(w.tracker, discs{w.scene, 9, 1}, s).Run(t.Context(), func(Outcome) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("the report's error is lost: %v", err)
	}
}

func TestOnePassForgetsWhatNobodyWants(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps string
		back  bool
	}{
		{"one pass", add("30", "1") + `, ` + add("0", "2") + `, {"op": "propagate", "start_frame": 0}, {"op": "remove_object", "object": 1}`, false},
		{"a second pass", add("0", "1") + `, {"op": "propagate", "max_frames": 3}, {"op": "propagate"}`, true},
		{"a reverse pass", add("9", "1") + `, {"op": "propagate", "reverse": true}`, true},
		{"a correction", add("0", "1") + `, {"op": "propagate"}, ` + add("9", "1"), true},
		{"a prompt taken back", add("0", "1") + `, {"op": "propagate"}, {"op": "clear_prompts", "frame": 0, "object": 1}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := ParseScript([]byte(`{"steps": [` + c.steps + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			if s.LooksBack() != c.back {
				t.Errorf("looks back: %t", s.LooksBack())
			}
			var shown [2][][]seen
			var peaks [2]int64
			for i, bounded := range []bool{false, true} {
				w := newWorld(t, func(o *Options) {
					if bounded {
						o.Retention = s.Retention(o.Policy(modeltest.New(tensor.NewPool("", tensor.Host(), 0), size).Config()))
					}
				})
				if _, shown[i], err = play(t, w, 60, 1, `{"steps": [`+c.steps+`]}`); err != nil {
					t.Fatal(err)
				}
				peaks[i] = w.pool.Stats().PeakBytes
			}
			if !slices.EqualFunc(shown[0], shown[1], slices.Equal[[]seen]) {
				t.Error("what is forgotten was wanted")
			}
			if less := peaks[1] < peaks[0]/2; less == c.back {
				t.Errorf("at most %d bytes, %d where everything is kept", peaks[1], peaks[0])
			}
		})
	}
}

func TestCoordinatesAreOfTheVideoSize(t *testing.T) {
	w := newWorld(t, nil)
	_, shown, err := play(t, w, 9, 1, `{"video_size": [640, 640], "steps": [{"op": "add_points_or_box", "frame": 0, "object": 1, "points": [[120, 160]], "labels": [1]}]}`)
	if err != nil || !shown[0][0].near(first(0)) {
		t.Errorf("%v %+v", err, shown)
	}
}

func TestDistancesCountProcessedFrames(t *testing.T) {
	w := newWorld(t, nil)
	if _, _, err := play(t, w, 50, 5, `{"steps": [`+add("10", "1")+`, {"op": "propagate"}]}`); err != nil {
		t.Fatal(err)
	}
	if tr := w.traced(9, 1); !slices.Equal(tr.Conditioning, []int{2}) || !slices.Equal(tr.Recent, span(3, 8)) {
		t.Errorf("picture 45, the tenth processed, attends to %+v", tr)
	}
}

func TestAMaskStepIsItsMask(t *testing.T) {
	w := newWorld(t, nil)
	coco := rle.Mask{Height: height, Width: width, Runs: []uint32{40 * height, 40 * height, 240 * height}}.COCO()
	s := &Script{Options: DefaultScriptOptions(), Steps: []Op{{Verb: AddMask, Frame: new(int), Object: new(int), Mask: &coco}}}
	area := 0
	err := NewSession(w.tracker, discs{w.scene, 9, 1}, s).Run(t.Context(), func(o Outcome) error {
		for _, v := range o.Result.Objects[0].Logits.Float32s() {
			if v > 0 {
				area++
			}
		}
		return nil
	})
	if err != nil || area != 4*lowRes {
		t.Errorf("%v, %d cells", err, area)
	}
}
