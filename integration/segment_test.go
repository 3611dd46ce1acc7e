package integration

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"maskstream/rle"
)

// annotation is a record of tracker segment, and of the reference's automatic mask generator.
type annotation struct {
	Segmentation   rle.COCO     `json:"segmentation"`
	Area           float64      `json:"area"`
	BBox           [4]float64   `json:"bbox"`
	PredictedIoU   float64      `json:"predicted_iou"`
	PointCoords    [][2]float64 `json:"point_coords"`
	StabilityScore float64      `json:"stability_score"`
	CropBox        [4]float64   `json:"crop_box"`
}

const amgPicture = "testdata/nano/amg/picture.png"

// TestAutomaticMasksEqualTheReference runs the built-in model on a picture on which SAM2AutomaticMaskGenerator was recorded with
// the same weights.
func TestAutomaticMasksEqualTheReference(t *testing.T) {
	var cases []struct {
		Name        string          `json:"name"`
		Options     json.RawMessage `json:"options"`
		Annotations []annotation    `json:"annotations"`
	}
	read(t, "testdata/nano/amg/expected.json", &cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			var got []annotation
			parse(t, must(t, "segment", amgPicture, "--auto", "--options", options(t, string(c.Options))).stdout, &got)
			if len(got) != len(c.Annotations) {
				t.Fatalf("%d masks, the reference has %d", len(got), len(c.Annotations))
			}
			for i, want := range c.Annotations {
				got[i].equals(t, i, want)
			}
		})
	}
}

func (a annotation) equals(t *testing.T, i int, want annotation) {
	t.Helper()
	mine, err := rle.ParseCOCO(a.Segmentation)
	if err != nil {
		t.Fatal(err)
	}
	reference, err := rle.ParseCOCO(want.Segmentation)
	if err != nil {
		t.Fatal(err)
	}
	if iou, err := rle.IoU(mine, reference); err != nil || iou < 0.99 {
		t.Errorf("mask %d: IoU %.4f, %v", i, iou, err)
	}
	if a.Area != float64(mine.Area()) {
		t.Errorf("mask %d: area %v of a mask of %d", i, a.Area, mine.Area())
	}
	near := func(what string, got, want []float64, within float64) {
		for k := range want {
			if math.Abs(got[k]-want[k]) > within {
				t.Errorf("mask %d: %s %v, the reference has %v", i, what, got, want)
				return
			}
		}
	}
	near("box", a.BBox[:], want.BBox[:], 1)
	near("crop box", a.CropBox[:], want.CropBox[:], 0)
	near("point", a.PointCoords[0][:], want.PointCoords[0][:], 1e-3)
	near("predicted IoU and stability", []float64{a.PredictedIoU, a.StabilityScore}, []float64{want.PredictedIoU, want.StabilityScore}, 1e-3)
}

// read parses a file.
func read(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parse(t, string(data), into)
}

func parse(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %.200q", err, text)
	}
}

// options writes a file of options.
func options(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "options.json")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPromptsOnSeveralPicturesAreAnArrayEach(t *testing.T) {
	const other = "testdata/nano/frames/00000.png"
	var got [][]annotation
	parse(t, must(t, "segment", amgPicture, other, "--box", "3@1:60,60,140,200", "--point", "1@1:100,100", "--point", "1@1:5,5,0").stdout, &got)
	if len(got) != 2 || len(got[0]) != 0 || len(got[1]) != 2 {
		t.Fatalf("%d arrays", len(got))
	}
	if points := got[1][0].PointCoords; !slices.Equal(points, [][2]float64{{100, 100}, {5, 5}}) {
		t.Errorf("the first object has points %v", points)
	}
	var one []annotation
	parse(t, must(t, "segment", other, "--box", "3@0:60,60,140,200").stdout, &one)
	if len(one) != 1 || one[0].Segmentation != got[1][1].Segmentation || len(one[0].PointCoords) != 0 {
		t.Errorf("alone the picture is answered with %+v", one)
	}
}

func TestWhatIsFoundOnTheFirstFrameIsTracked(t *testing.T) {
	found := options(t, `{"points_per_side":6,"pred_iou_thresh":0.3,"stability_score_thresh":0.5}`)
	var masks []annotation
	parse(t, must(t, "segment", "testdata/nano/frames/00000.png", "--auto", "--options", found).stdout, &masks)
	if len(masks) == 0 {
		t.Fatal("nothing was found: the test shows nothing")
	}
	lines := strings.Split(strings.TrimSpace(must(t, "track", "testdata/nano/frames", "--auto", "--options", found, "--max-frames", "2").stdout), "\n")
	if want := len(masks) + 2; len(lines) != want { // a line for each prompt, and one a frame
		t.Fatalf("%d lines, want %d", len(lines), want)
	}
	for i, line := range lines[len(masks):] {
		var f rle.Frame
		parse(t, line, &f)
		if f.Frame != i || f.Direction != rle.Forward || len(f.Objects) != len(masks) {
			t.Errorf("frame %d has %d objects, direction %s", f.Frame, len(f.Objects), f.Direction)
		}
		for k, o := range f.Objects {
			if o.ID != k+1 {
				t.Errorf("object %d has id %d", k, o.ID)
			}
		}
	}
}

func TestMistakesInWhatToSegmentAreSaid(t *testing.T) {
	folder := t.TempDir()
	for name, c := range map[string]struct {
		arguments []string
		status    int
		says      string
	}{
		"no prompt":               {[]string{"segment", amgPicture}, 2, "nothing to segment: point at an object with --point X,Y or --box X0,Y0,X1,Y1, or take everything with --auto"},
		"auto and a point":        {[]string{"segment", amgPicture, "--auto", "--point", "1,1"}, 2, "none of the others can be"},
		"options without auto":    {[]string{"segment", amgPicture, "--point", "1,1", "--options", "x.json"}, 2, "--options x.json are for --auto"},
		"unknown option":          {[]string{"segment", amgPicture, "--auto", "--options", options(t, `{"points":1}`)}, 2, `unknown field "points"`},
		"no such picture":         {[]string{"segment", amgPicture, "--point", "1@1:1,1"}, 2, "there is no picture 1"},
		"two boxes":               {[]string{"segment", amgPicture, "--box", "1,1,2,2", "--box", "1,1,3,3"}, 2, "another box already"},
		"an overlay of two":       {[]string{"segment", amgPicture, amgPicture, "--auto", "--overlay", "o.png"}, 2, "--overlay draws over one picture"},
		"no such file":            {[]string{"segment", filepath.Join(folder, "none.png"), "--auto"}, 1, "none.png"},
		"nothing to track":        {[]string{"track", "testdata/nano/frames", "--auto", "--options", options(t, `{"points_per_side":1,"pred_iou_thresh":1}`)}, 1, "lower pred_iou_thresh"},
		"track by auto and a box": {[]string{"track", "testdata/nano/frames", "--auto", "--box", "1,1,9,9"}, 2, "none of the others can be"},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, c.arguments...)
			if r.status != c.status || !strings.Contains(r.stderr, c.says) || r.stdout != "" {
				t.Errorf("status %d, stdout %.100q, stderr %q", r.status, r.stdout, r.stderr)
			}
		})
	}
}
