package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maskstream/rle"
)

// film is a short one of the test scene, on which the box stands around object 1 at first.
const (
	film    = "testscene:?size=320x180&frames=6&pace=0"
	filmBox = "209,51,272,113"
)

// trackLines runs tracker track, which has to succeed, and decodes its lines.
func trackLines[T any](t *testing.T, arguments ...string) []T {
	t.Helper()
	stdout, stderr, status := call(t, "", append([]string{"track"}, arguments...)...)
	if status != exitDone || stderr != "" {
		t.Fatalf("exit status %d, stderr %q", status, stderr)
	}
	return decodeLines[T](t, stdout)
}

func decodeLines[T any](t *testing.T, text string) (lines []T) {
	t.Helper()
	for decoder := json.NewDecoder(strings.NewReader(text)); decoder.More(); {
		var line T
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestTraceNamesStepAndSourceFrames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	trackLines[any](t, film, "--box", "1@2:"+filmBox, "--every", "2", "--reverse", "--trace", path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type key struct {
		step, frame int
		direction   string
	}
	var got []key
	for _, line := range decodeLines[traceLine](t, string(text)) {
		got = append(got, key{line.Step, line.Frame, string(line.Direction)})
		if line.Object != 1 || len(line.Conditioning) != 1 || line.Conditioning[0] != 2 || line.Tokens == 0 {
			t.Errorf("line %+v", line)
		}
	}
	// Step 0 is the prompt on frame 2, which attends to nothing, step 1 the forward pass and step 2 the reverse one.
	want := []key{{1, 4, "forward"}, {2, 0, "reverse"}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("trace %v, want %v", got, want)
	}
}

func TestNothingThatIsReadIsWrittenOver(t *testing.T) {
	folder := t.TempDir()
	picture, script, fresh := filepath.Join(folder, "0.png"), filepath.Join(folder, "script.json"), filepath.Join(folder, "fresh")
	for copied, from := range map[string]string{picture: "frames/00000.png", script: "sessions/forward_ball_and_man.json"} {
		text, err := os.ReadFile("../../integration/testdata/nano/" + from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		arguments []string
		says      string
	}{
		"the input":          {[]string{picture, "--box", "1,2,30,40", "--overlay", picture}, "--overlay " + picture + " would write over the input"},
		"the script":         {[]string{film, "--script", script, "--out", folder + "/../" + filepath.Base(folder) + "/script.json"}, "would write over --script"},
		"a mask":             {[]string{film, "--mask", "2@1:" + picture, "--trace", picture}, "--trace " + picture + " would write over --mask"},
		"two results in one": {[]string{film, "--box", filmBox, "--out", fresh, "--trace", folder + "/./fresh"}, "would write over --out"},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr, status := call(t, "", append([]string{"track"}, c.arguments...)...)
			if status != exitUsage || !strings.Contains(stderr, c.says) {
				t.Errorf("exit status %d, stderr %q", status, stderr)
			}
		})
	}
	for _, path := range []string{picture, script} {
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if _, err := os.Stat(fresh); err == nil {
		t.Error("a result was begun")
	}
	trackLines[any](t, film, "--box", filmBox, "--max-frames", "1", "--trace", os.DevNull, "--overlay", "", "--out", "-")
}

func TestWhatPointsBesideThePictureIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ flag, value, says string }{
		"point to the right": {"--point", "1209,90", "--point 1209,90: it is outside the picture, which is 320×180"},
		"point above":        {"--point", "2@3:9,-1", "--point 9,-1: it is outside"},
		"box below":          {"--box", "10,180,20,190", "--box 10,180,20,190: it is outside"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, status := call(t, "", "track", film, c.flag, c.value)
			if status != exitUsage || stdout != "" || !strings.Contains(stderr, c.says) {
				t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
			}
		})
	}
	trackLines[any](t, film, "--box", "-5,-5,400,400", "--point", "2@0:320,180", "--max-frames", "1")
}

func TestAnObjectWithoutAResultIsOccludedAndNotLost(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.json")
	text := `{"steps":[{"op":"add_points_or_box","frame":0,"object":1,"box":[209,51,272,113]},
	 {"op":"add_points_or_box","frame":400,"object":2,"points":[[100,100]],"labels":[1]},
	 {"op":"add_points_or_box","frame":800,"object":3,"points":[[100,100]],"labels":[1]}]}` // 16 s apart
	if err := os.WriteFile(script, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	lines := trackLines[rle.Frame](t, "testscene:?size=320x180&frames=801&pace=0", "--script", script)
	for i, f := range lines {
		for k, o := range f.Objects[:len(f.Objects)-1] {
			if o.State != rle.Occluded || o.Area != 0 || o.ObjectScore != nil || o.PredictedIoU != nil {
				t.Errorf("line %d, object %d: %+v", i, k+1, o)
			}
		}
	}
	if len(lines) != 3 || len(lines[2].Objects) != 3 {
		t.Errorf("lines %+v", lines)
	}
}
