package integration

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"maskstream/model/checkpoint"
	"maskstream/rle"
)

// bounds of an equal implementation. The reference itself moves by these when its pixels are disturbed by 2e-6.
type bounds struct {
	iou           float64 // of every mask, empty equals empty
	pixels        float64 // or at most this share of the picture differs
	median, worst float64 // of the largest difference in each low-resolution map
	span          float64 // instead of these where it is set: the largest difference over the map's range
}

// TestSessionsEqualTheReference replays sessions that facebookresearch/sam2 was recorded with, through the program.
func TestSessionsEqualTheReference(t *testing.T) {
	random64 := []string{"track", "testdata/random64/frames", "--model", "testdata/random64/model.pt", "--model-config", "testdata/random64/model.yaml"}
	strict := bounds{iou: 0.995, median: 5e-4, worst: 5e-3}
	// Where non-overlap decides between two nearly equal maps, rounding alone moves a mask by half a percent of the picture.
	overlap := bounds{iou: 0.995, pixels: 0.005, median: 5e-4, worst: 5e-3}
	for name, within := range map[string]bounds{
		"correct_reference_default": strict, "correct_then_repropagate": strict, "forward_box": strict, "four_objects_two_keyframes": strict,
		"masks_forward": overlap, "masks_non_overlap": overlap, "offload_and_two_cond_frames": strict, "reverse_from_middle": strict,
	} {
		t.Run(name, func(t *testing.T) {
			at := filepath.Join("testdata/random64/sessions", name)
			replay(t, session{at + ".json", at}, within, random64...)
		})
	}
}

// TestSessionsOfTheBuiltInModel are recorded with the embedded weights, whose logits span more and round harder.
func TestSessionsOfTheBuiltInModel(t *testing.T) {
	for _, name := range []string{"forward_ball_and_man", "click_correct_reverse"} {
		t.Run(name, func(t *testing.T) {
			at := filepath.Join("testdata/nano/sessions", name)
			replay(t, session{at + ".json", at}, bounds{iou: 0.99, median: 5e-3, worst: 5e-2}, "track", "testdata/nano/frames")
		})
	}
}

// session is a script and, at a path without its endings, what the reference answered.
type session struct{ script, recorded string }

// replay runs one session and compares every mask and every map with what the reference answered.
func replay(t *testing.T, s session, within bounds, command ...string) {
	folder := t.TempDir()
	masks, maps := filepath.Join(folder, "masks.jsonl"), filepath.Join(folder, "maps.safetensors")
	must(t, append(command, "--script", s.script, "--out", masks, "--low-res", maps)...)

	var want []recordedFrame
	data, err := os.ReadFile(s.recorded + ".expected.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	got := readLines(t, masks)
	if len(got) != len(want) {
		t.Fatalf("%d lines, the reference gave %d", len(got), len(want))
	}
	for i, w := range want {
		w.compare(t, got[i], within)
	}
	compareMaps(t, s.recorded+".safetensors", maps, within)
}

// recordedFrame is what the reference said about one frame, or about the removal of an object.
type recordedFrame struct {
	Step    int        `json:"step"`
	Frame   *int       `json:"frame"`
	Objects []int      `json:"objects"`
	Masks   []rle.COCO `json:"masks"`
}

// line is a frame of results or a removal.
type line struct {
	rle.Frame
	Removed   *int  `json:"removed"`
	Remaining []int `json:"remaining"`
}

func readLines(t *testing.T, path string) (lines []line) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var l line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			t.Fatalf("line %d: %v", len(lines)+1, err)
		}
		lines = append(lines, l)
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

func (w recordedFrame) compare(t *testing.T, got line, within bounds) {
	t.Helper()
	if w.Frame == nil {
		if got.Removed == nil || !slices.Equal(got.Remaining, w.Objects) {
			t.Errorf("step %d: remaining %v, want %v", w.Step, got.Remaining, w.Objects)
		}
		return
	}
	if got.Step == nil || *got.Step != w.Step || got.Frame.Frame != *w.Frame || len(got.Objects) != len(w.Objects) {
		t.Fatalf("step %d frame %d with %d objects, want step %d frame %d with %d", *got.Step, got.Frame.Frame, len(got.Objects), w.Step, *w.Frame, len(w.Objects))
	}
	for i, o := range got.Objects {
		if o.ID != w.Objects[i] {
			t.Fatalf("step %d frame %d: object %d in the place of %d", w.Step, *w.Frame, o.ID, w.Objects[i])
		}
		a, errA := rle.ParseCOCO(o.Segmentation)
		b, errB := rle.ParseCOCO(w.Masks[i])
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if iou, differ := overlapOf(t, a, b); iou < within.iou && differ > within.pixels*float64(a.Height*a.Width) {
			t.Errorf("step %d frame %d object %d: IoU %.5f, %.0f pixels differ", w.Step, *w.Frame, o.ID, iou, differ)
		}
	}
}

// overlapOf is the IoU of two masks, 1 where both are empty, and the number of pixels that differ.
func overlapOf(t *testing.T, a, b rle.Mask) (iou, differ float64) {
	t.Helper()
	both, err := rle.Merge(rle.Intersection, a, b)
	if err != nil {
		t.Fatal(err)
	}
	inter := float64(both.Area())
	union := float64(a.Area()+b.Area()) - inter
	if union == 0 {
		return 1, 0
	}
	return inter / union, union - inter
}

func compareMaps(t *testing.T, wantPath, gotPath string, within bounds) {
	t.Helper()
	want, err := checkpoint.Open(wantPath)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	got, err := checkpoint.Open(gotPath)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	var largest, shares []float64 // of a map's differences, and over its range
	for _, name := range want.Names() {
		if !strings.HasSuffix(name, "/low_res_logits") {
			continue
		}
		w, err := want.Float32s(name)
		if err != nil {
			t.Fatal(err)
		}
		g, err := got.Float32s(name)
		if err != nil {
			t.Fatal(err)
		}
		gotShape, _ := got.Shape(name)
		wantShape, _ := want.Shape(name)
		if g = thinned(g, gotShape, wantShape); len(g) != len(w) {
			t.Fatalf("%s: %v values, want %v", name, gotShape, wantShape)
		}
		if gated := w[0] < -1000; gated != (g[0] < -1000) {
			t.Errorf("%s: the object is absent in one of the two", name)
		}
		var most float64
		for i := range w {
			d := math.Abs(float64(w[i]) - float64(g[i]))
			if math.IsNaN(d) {
				d = math.Inf(1)
			}
			most = max(most, d)
		}
		largest, shares = append(largest, most), append(shares, most/float64(slices.Max(w)-slices.Min(w)))
	}
	slices.Sort(largest)
	slices.Sort(shares)
	median, worst := largest[len(largest)/2], largest[len(largest)-1]
	t.Logf("%d maps: median %.6f, worst %.6f; over their range %.2g and %.2g", len(largest), median, worst, shares[len(shares)/2], shares[len(shares)-1])
	if within.span > 0 {
		if share := shares[len(shares)-1]; !(share <= within.span) {
			t.Errorf("logits differ by %g of their range, at most %g", share, within.span)
		}
		return
	}
	if median > within.median || worst > within.worst {
		t.Errorf("logits differ by %.6f (median) and %.6f (worst), at most %g and %g", median, worst, within.median, within.worst)
	}
}

// thinned keeps the rows and columns of a map that a recording of that shape has: every k-th.
func thinned(x []float32, shape, want []int) []float32 {
	if len(shape) != 2 || len(want) != 2 || want[0] == shape[0] {
		return x
	}
	var kept []float32
	k := shape[0] / want[0]
	for row := 0; row < shape[0]; row += k {
		for column := 0; column < shape[1]; column += k {
			kept = append(kept, x[row*shape[1]+column])
		}
	}
	return kept
}
