package propagate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const wholeScript = `{"video_size": [320, 180],
 "options": {"fill_hole_area": 4, "non_overlap_masks": true, "add_all_frames_to_correct_as_cond": false,
             "clear_non_cond_mem_around_input": true, "max_cond_frames_in_attn": 2},
 "offload": {"offload_video_to_cpu": true, "offload_state_to_cpu": true},
 "steps": [
  {"op": "add_points_or_box", "frame": 0, "object": 1, "points": [[120, 90]], "labels": [1], "box": [90, 40, 170, 150], "clear_old_points": true},
  {"op": "add_mask", "frame": 2, "object": 2, "mask": {"size": [2, 3], "counts": "221O"}},
  {"op": "propagate", "start_frame": 0, "max_frames": 9, "reverse": false},
  {"op": "remove_object", "object": 2147483647},
  {"op": "clear_prompts", "frame": 8, "object": 1},
  {"op": "reset"}]}`

func TestScriptsAreRead(t *testing.T) {
	s, err := ParseScript([]byte(wholeScript))
	if err != nil {
		t.Fatal(err)
	}
	if *s.VideoSize != [2]int{320, 180} || s.Offload != (Offload{true, true}) || s.Options != (ScriptOptions{FillHoleArea: 4, NonOverlapMasks: true, ClearAroundInput: true, MaxConditioning: 2}) {
		t.Errorf("read as %+v", s)
	}
	if op := s.Steps[0]; op.Verb != AddPointsOrBox || *op.Frame != 0 || *op.Object != 1 || op.Points[0] != [2]float32{120, 90} || op.Labels[0] != 1 || *op.Box != [4]float32{90, 40, 170, 150} || !*op.ClearOldPoints {
		t.Errorf("the first step was read as %+v", op)
	}
	if op := s.Steps[2]; *op.StartFrame != 0 || *op.MaxFrames != 9 || op.Reverse {
		t.Errorf("the third step was read as %+v", op)
	}
	o := s.TrackerOptions(nil, nil)
	if o.FillHoleArea != 4 || o.CorrectAsConditioning || !o.ClearAroundInput || *o.MaxConditioning != 2 || o.Retention.Spatial != 0 {
		t.Errorf("the tracker's options are %+v", o)
	}

	s, err = ParseScript([]byte(`{"video_size": null, "options": {"fill_hole_area": null}, "steps": [{"op": "propagate", "start_frame": null, "box": null}]}`))
	if err != nil || s.VideoSize != nil || s.Options != (ScriptOptions{FillHoleArea: 8, CorrectAsConditioning: true, MaxConditioning: -1}) || s.Steps[0].StartFrame != nil {
		t.Errorf("defaults: %v %+v", err, s)
	}
}

// wrongScripts are steps that do not fit, and what the error says of them.
var wrongScripts = []struct{ name, step, says string }{
	{"no object", `7`, "a step is an object"},
	{"null", `null`, "a step is an object"},
	{"no op", `{}`, `"op" is missing`},
	{"op of another type", `{"op": 3}`, `"op" is no string`},
	{"unknown op", `{"op": "add_points"}`, "(add_points): unknown op; known are add_points_or_box"},
	{"frame missing", `{"op": "add_points_or_box", "object": 1, "points": [[1, 2]], "labels": [1]}`, `"frame" is missing`},
	{"frame null", `{"op": "add_points_or_box", "frame": null, "object": 1, "points": [[1, 2]], "labels": [1]}`, `"frame" is missing`},
	{"object missing", `{"op": "clear_prompts", "frame": 1}`, `"object" is missing`},
	{"mask missing", `{"op": "add_mask", "frame": 1, "object": 1}`, `"mask" is missing`},
	{"a field of another verb", `{"op": "add_mask", "frame": 1, "object": 1, "mask": {"size": [2, 3], "counts": "221O"}, "points": []}`, `"points" does not belong to it; it takes frame, object, mask`},
	{"a field of another verb that is false", `{"op": "remove_object", "object": 1, "reverse": false}`, `"reverse" does not belong to it`},
	{"a field where none is taken", `{"op": "reset", "frame": 1}`, "it takes nothing"},
	{"a misspelt field", `{"op": "propagate", "strat_frame": 1}`, `"strat_frame" does not belong to it`},
	{"another case", `{"op": "propagate", "Reverse": true}`, `"Reverse" does not belong to it`},
	{"a frame below 0", `{"op": "propagate", "start_frame": -1}`, "start_frame -1"},
	{"a frame of another type", `{"op": "propagate", "start_frame": "first"}`, `"start_frame": a string does not fit`},
	{"a fraction of a frame", `{"op": "propagate", "max_frames": 1.5}`, `"max_frames": a number 1.5 does not fit`},
	{"an id too large", `{"op": "remove_object", "object": 2147483648}`, "object 2147483648"},
	{"a point of one number", `{"op": "add_points_or_box", "frame": 0, "object": 1, "points": [[1, 2], [1]], "labels": [1, 1]}`, "points[1]: 1 numbers where there must be 2"},
	{"a point of three numbers", `{"op": "add_points_or_box", "frame": 0, "object": 1, "points": [[1, 2, 3]], "labels": [1]}`, "points[0]: 3 numbers"},
	{"a box of three numbers", `{"op": "add_points_or_box", "frame": 0, "object": 1, "box": [1, 2, 3]}`, "box: 3 numbers where there must be 4"},
	{"a coordinate that is none", `{"op": "add_points_or_box", "frame": 0, "object": 1, "box": [1, 2, 3, 1e99]}`, `"box": a number 1e99 does not fit`},
	{"points without labels", `{"op": "add_points_or_box", "frame": 0, "object": 1, "points": [[1, 2]]}`, "1 points but 0 labels"},
	{"no point and no box", `{"op": "add_points_or_box", "frame": 0, "object": 1}`, "at least one"},
	{"a box added to points", `{"op": "add_points_or_box", "frame": 0, "object": 1, "box": [1, 2, 3, 4], "clear_old_points": false}`, "before any point"},
	{"a mask size of one number", `{"op": "add_mask", "frame": 1, "object": 1, "mask": {"size": [2], "counts": "221O"}}`, "mask.size: 1 numbers"},
	{"a mask that is cut off", `{"op": "add_mask", "frame": 1, "object": 1, "mask": {"size": [2, 3], "counts": "22"}}`, "mask: "},
	{"a mask of another type", `{"op": "add_mask", "frame": 1, "object": 1, "mask": "221O"}`, `"mask": a string does not fit`},
	{"a mask of no pixels", `{"op": "add_mask", "frame": 1, "object": 1, "mask": {"size": [0, 0], "counts": ""}}`, "the mask is 0×0"},
}

func TestAWrongStepIsNamed(t *testing.T) {
	for _, c := range wrongScripts {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseScript([]byte(`{"steps": [{"op": "reset"}, ` + c.step + `]}`))
			if err == nil || !strings.HasPrefix(err.Error(), "session script: step 1 (") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want one that names step 1 and says %q", err, c.says)
			}
			if strings.ContainsRune(err.Error(), '\n') {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestAWrongScriptIsRefused(t *testing.T) {
	for _, c := range []struct{ name, script, says string }{
		{"empty", ``, "it is empty"},
		{"cut off", `{"steps": [`, "cut off"},
		{"no JSON", "{\n \"steps\": [}", "line 2, column 12: "},
		{"another type", `[]`, "line 1, column 1: an array does not fit"},
		{"two objects", `{"steps": [{"op": "reset"}]} {}`, "after the closing brace"},
		{"no steps", `{}`, "there are none"},
		{"an unknown key", `{"step": []}`, `unknown field "step"`},
		{"an unknown option", `{"options": {"fill_holes": 3}, "steps": [{"op": "reset"}]}`, `unknown field "fill_holes"`},
		{"an option of another type", `{"options": {"fill_hole_area": true}, "steps": [{"op": "reset"}]}`, `"fill_hole_area": a bool does not fit`},
		{"negative hole area", `{"options": {"fill_hole_area": -1}, "steps": [{"op": "reset"}]}`, "fill_hole_area -1"},
		{"one conditioning frame", `{"options": {"max_cond_frames_in_attn": 1}, "steps": [{"op": "reset"}]}`, "at least 2"},
		{"a size of one number", `{"video_size": [3], "steps": [{"op": "reset"}]}`, "video_size: 1 numbers where there must be 2"},
		{"a size of zero", `{"video_size": [3, 0], "steps": [{"op": "reset"}]}`, "video_size [3 0]"},
		{"a size too large", `{"video_size": [99999, 9], "steps": [{"op": "reset"}]}`, "1…16384"},
		{"a size of another type", `{"video_size": "3x4", "steps": [{"op": "reset"}]}`, "a string does not fit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseScript([]byte(c.script))
			if err == nil || !strings.HasPrefix(err.Error(), "session script: ") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want one that says %q", err, c.says)
			}
		})
	}
}

func TestAScriptMadeByHandIsHeldToTheSameRules(t *testing.T) {
	w := newWorld(t, nil)
	for _, op := range []Op{{Verb: AddPointsOrBox}, {Verb: ClearPrompts}, {Verb: RemoveObject}, {Verb: Propagate, Box: &[4]float32{}}, {Verb: "stop"}} {
		err := NewSession(w.tracker, discs{w.scene, 9, 1}, &Script{Options: DefaultScriptOptions(), Steps: []Op{op}}).Run(t.Context(), nil)
		if err == nil || !strings.HasPrefix(err.Error(), "step 0 ("+string(op.Verb)+"): ") {
			t.Errorf("%s: %v", op.Verb, err)
		}
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add([]byte(wholeScript))
	for _, c := range wrongScripts {
		f.Add([]byte(`{"steps": [` + c.step + `]}`))
	}
	f.Add([]byte(`{"video_size": [1, 16384], "steps": [{"op": "propagate"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseScript(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "session script: ") {
				t.Errorf("error %q", err)
			}
			return
		}
		// What was read is valid, and says the same when it is written and read again.
		written, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseScript(written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		rewritten, err := json.Marshal(again)
		if err != nil || string(rewritten) != string(written) {
			t.Errorf("written %s, rewritten %s (%v)", written, rewritten, err)
		}
		for _, op := range s.Steps {
			if _, err := op.prompt(640, 480); err != nil && (op.Verb == AddMask || op.Verb == AddPointsOrBox) {
				t.Errorf("%+v: %v", op, err)
			}
		}
	})
}

func TestErrorsOfAPromptCanBeTold(t *testing.T) {
	_, err := ParseScript([]byte(`{"steps": [{"op": "add_points_or_box", "frame": 0, "object": 1}]}`))
	if !errors.Is(err, ErrPrompt) {
		t.Errorf("%v is no ErrPrompt", err)
	}
}
