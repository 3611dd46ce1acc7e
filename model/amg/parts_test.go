package amg

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"maskstream/rle"
)

// optionTexts are options as people write them, and what is said to them; "" takes them.
var optionTexts = map[string]struct{ text, says string }{
	"none":                       {`{}`, ""},
	"all of the reference's":     {`{"points_per_side":12,"points_per_batch":16,"pred_iou_thresh":0.2,"stability_score_thresh":0.4,"stability_score_offset":1.0,"mask_threshold":0.0,"box_nms_thresh":0.7,"crop_n_layers":1,"crop_nms_thresh":0.7,"crop_overlap_ratio":0.34,"crop_n_points_downscale_factor":2,"point_grids":null,"min_mask_region_area":5,"output_mode":"coco_rle","use_m2m":true,"multimask_output":false}`, ""},
	"grids":                      {`{"point_grids":[[[0.5,0.5]]]}`, ""},
	"grids and null":             {`{"points_per_side":null,"point_grids":[[]]}`, ""},
	"both":                       {`{"points_per_side":3,"point_grids":[[]]}`, "exactly one of points_per_side and point_grids"},
	"unknown key":                {`{"points":3}`, `unknown field "points"`},
	"not an object":              {`[]`, "wrong options"},
	"two objects":                {`{}{}`, "after the closing brace"},
	"no points":                  {`{"points_per_side":0}`, "points_per_side 0"},
	"too large a batch":          {`{"points_per_batch":1048576}`, "points_per_batch 1048576"},
	"too many points":            {`{"points_per_side":5000}`, "points_per_side 5000"},
	"no batch":                   {`{"points_per_batch":0}`, "points_per_batch 0"},
	"threshold":                  {`{"pred_iou_thresh":1.5}`, "pred_iou_thresh 1.5"},
	"overlap":                    {`{"crop_overlap_ratio":1}`, "crop_overlap_ratio 1"},
	"many layers":                {`{"crop_n_layers":9}`, "crop_n_layers 9"},
	"no point left":              {`{"points_per_side":4,"crop_n_layers":2,"crop_n_points_downscale_factor":3}`, "leaves no point in crop layer 2"},
	"downscale":                  {`{"crop_n_points_downscale_factor":0}`, "crop_n_points_downscale_factor 0"},
	"negative offset":            {`{"stability_score_offset":-1}`, "stability_score_offset -1"},
	"negative area":              {`{"min_mask_region_area":-1}`, "min_mask_region_area -1"},
	"another form":               {`{"output_mode":"binary_mask"}`, "coco_rle"},
	"too few grids":              {`{"point_grids":[[]],"crop_n_layers":1}`, "point_grids has 1"},
	"a point beside the picture": {`{"point_grids":[[[0,1.5]]]}`, "point 0 of list 0"},
}

func TestOptionsAreReadStrictly(t *testing.T) {
	for name, c := range optionTexts {
		t.Run(name, func(t *testing.T) {
			_, err := ParseOptions([]byte(c.text))
			if (c.says == "") != (err == nil) || err != nil && (!errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
	if o, err := ParseOptions([]byte(`{}`)); err != nil || !reflect.DeepEqual(o, Default()) {
		t.Errorf("no options are %+v, %v", o, err)
	}
}

func TestCropsAreTheReferences(t *testing.T) {
	o := options(func(o *Options) { o.CropNLayers = 2 })
	var got []box
	for _, c := range o.crops(480, 320) {
		got = append(got, c.box)
	}
	want := []box{{0, 0, 480, 320}, {0, 0, 295, 215}, {0, 106, 295, 320}, {186, 0, 480, 215}, {186, 106, 480, 320}}
	if !slices.Equal(got[:5], want) || len(got) != 1+4+16 {
		t.Errorf("crops %v, want %v and 16 more", got, want)
	}
	// The second layer overlaps by half as much and its crops end with the picture.
	if first, last := got[5], got[20]; first != (box{0, 0, 161, 121}) || last != (box{321, 201, 480, 320}) {
		t.Errorf("the second layer goes from %v to %v", first, last)
	}
}

func TestPointsLieInTheMiddleOfTheirCellsRowByRow(t *testing.T) {
	points := 5
	o := options(func(o *Options) { o.PointsPerSide, o.CropNPointsDownscale = &points, 2 })
	got := o.points(crop{box{10, 10, 30, 18}, 1}) // int(5/2) a side
	if want := [][2]float32{{5, 2}, {15, 2}, {5, 6}, {15, 6}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWhatACropCutsOffIsDropped(t *testing.T) {
	c := crop{box{100, 0, 200, 90}, 1}
	for name, k := range map[string]struct {
		mask box
		want bool
	}{
		"inside":                             {box{121, 30, 179, 60}, false},
		"20 pixels from an edge":             {box{120, 30, 170, 60}, true},
		"at the picture's own edge":          {box{130, 0, 170, 60}, false},
		"near both edges on the right":       {box{130, 30, 199, 60}, true},
		"at the bottom of the crop only":     {box{130, 30, 170, 71}, true},
		"empty, in the corner of the crop":   {box{100, 0, 100, 0}, true},
		"empty, in the picture's own corner": {box{0, 0, 0, 0}, false},
	} {
		if got := c.cutOff(k.mask, 300, 200); got != k.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestDuplicatesOfABetterBoxAreSuppressed(t *testing.T) {
	for name, c := range map[string]struct {
		boxes  []box
		scores []float32
		want   []int
	}{
		"none":                            {nil, nil, nil},
		"by score":                        {[]box{{0, 0, 10, 10}, {0, 0, 10, 9}, {50, 50, 60, 60}}, []float32{0.5, 0.9, 0.7}, []int{1, 2}},
		"the first of equals":             {[]box{{0, 0, 10, 10}, {0, 0, 10, 10}}, []float32{1, 1}, []int{0}},
		"overlap of just 0.7":             {[]box{{0, 0, 10, 10}, {0, 0, 10, 7}}, []float32{1, 0.5}, []int{0, 1}},
		"a suppressed one suppresses not": {[]box{{0, 0, 100, 10}, {20, 0, 110, 10}, {40, 0, 130, 10}}, []float32{3, 2, 1}, []int{0, 2}},
		"boxes without area":              {[]box{{5, 5, 5, 5}, {5, 5, 5, 5}, {0, 3, 9, 3}}, []float32{1, 2, 3}, []int{2, 1, 0}},
	} {
		if got := suppress(c.boxes, c.scores, 0.7); !slices.Equal(got, c.want) {
			t.Errorf("%s: kept %v, want %v", name, got, c.want)
		}
	}
}

func TestHolesAreFilledAndSpecksRemoved(t *testing.T) {
	parse := func(rows string) (cells []float32) {
		for _, r := range strings.ReplaceAll(rows, " ", "") {
			cells = append(cells, map[rune]float32{'#': 3, '.': -3, '0': 0, 'H': filledHole, 'S': removedSpeck}[r])
		}
		return cells
	}
	for name, c := range map[string]struct {
		side, area    int
		before, after string
	}{
		"a hole and a speck":           {5, 1, "####. #.##. ####. ..... .....", "####. #H##. ####. ..... ....."},
		"a speck of one":               {4, 1, ".... .#.. .... ....", ".... .S.. .... ...."},
		"too large by one":             {4, 1, ".... .##. .... ....", ".... .##. .... ...."},
		"joined at a corner":           {4, 2, "#... .#.. .... ....", "S... .S.. .... ...."},
		"at the border too":            {3, 1, "### ### ##.", "### ### ##H"},
		"zero is background":           {3, 1, "### #0# ###", "### #H# ###"},
		"a speck in a hole: as it was": {5, 8, "##### #...# #.#.# #...# #####", "##### #HHH# #HSH# #HHH# #####"},
	} {
		cells := parse(c.before)
		clean(cells, c.side, c.area)
		if !slices.Equal(cells, parse(c.after)) {
			t.Errorf("%s: %v", name, cells)
		}
	}
}

func TestRecordsHaveTheReferencesKeysAndBoxes(t *testing.T) {
	bits := make([]byte, 12)
	bits[5] = 1 // x 1, y 1 of 4×3
	found := []candidate{{mask: rle.FromBits(3, 4, bits), iou: 0.5, stability: 0.25, point: [2]float32{1.5, 1}, crop: crop{box{0, 0, 4, 3}, 0}}}
	found[0].box = boxOf(found[0].mask)
	data, err := json.Marshal(records(found))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"segmentation":{"size":[3,4],"counts":"417"},"area":1,"bbox":[1,1,0,0],"predicted_iou":0.5,"point_coords":[[1.5,1]],"stability_score":0.25,"crop_box":[0,0,4,3]}]`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	if got := boxOf(rle.Empty(3, 4)); got != (box{}) {
		t.Errorf("an empty mask has box %v", got)
	}
}
