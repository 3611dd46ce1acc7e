package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"maskstream/rle"
)

// TestOffloadModesGiveEqualMasksAndState goes forward, corrects, goes on and goes back with 1, 2 and 4 objects on the built-in model,
// with frames and memories at home in either pool: every mask and every logit, pointer and score that is stored has to be the same.
func TestOffloadModesGiveEqualMasksAndState(t *testing.T) {
	scene := newHeldScene(t)
	step := func(op string, frame, object int) string {
		b := scene.box(1+object%3, frame)
		return fmt.Sprintf(`{"op":%q,"frame":%d,"object":%d,"box":[%g,%g,%g,%g]}`, op, frame, object, b[0], b[1], b[2], b[3])
	}
	for _, objects := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("%d objects", objects), func(t *testing.T) {
			var steps []string
			for object := 1; object <= objects; object++ {
				steps = append(steps, step("add_points_or_box", 2, object))
			}
			steps = append(steps, `{"op":"propagate","start_frame":2,"max_frames":4}`, step("add_points_or_box", 4, objects),
				`{"op":"propagate","start_frame":4,"max_frames":2}`, `{"op":"propagate","start_frame":5,"reverse":true}`)
			folder := t.TempDir()
			script, state := filepath.Join(folder, "script.json"), filepath.Join(folder, "state.safetensors")
			if err := os.WriteFile(script, []byte(`{"steps":[`+strings.Join(steps, ",")+`]}`), 0o666); err != nil {
				t.Fatal(err)
			}
			var wantMasks []string
			var wantState []byte
			for _, flags := range [][]string{nil, {"--offload-video"}, {"--offload-state"}, {"--offload-video", "--offload-state"}} {
				var masks []string
				tracked := 0
				for _, f := range trackLines[rle.Frame](t, slices.Concat([]string{"testscene:?size=320x180&fps=12&frames=7&pace=0", "--script", script, "--low-res", state}, flags)...) {
					text, err := json.Marshal(f.Objects)
					if err != nil {
						t.Fatal(err)
					}
					masks = append(masks, string(text))
					for _, o := range f.Objects {
						if o.Area > 0 {
							tracked++
						}
					}
				}
				stored, err := os.ReadFile(state)
				if err != nil {
					t.Fatal(err)
				}
				if flags == nil {
					wantMasks, wantState = masks, stored
					if want := objects + 5 + 1 + 3 + 6; len(masks) != want || tracked < len(masks)*objects/2 {
						t.Fatalf("%d lines, want %d; %d masks are not empty", len(masks), want, tracked)
					}
				}
				if !slices.Equal(masks, wantMasks) {
					t.Errorf("%v: the masks differ", flags)
				}
				if !bytes.Equal(stored, wantState) {
					t.Errorf("%v: the state differs", flags)
				}
			}
		})
	}
}
