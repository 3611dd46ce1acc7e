package propagate

import (
	_ "embed"
	"encoding/json"
	"testing"

	"maskstream/rle"
	"maskstream/tensor"
)

//go:embed testdata/drawn.json
var drawnCases []byte // made by testdata/drawn.py

func TestDrawnMasksAreResizedAsTorchDoes(t *testing.T) {
	var cases []struct {
		Mask, Want rle.COCO
		Size, Ties int
	}
	if err := json.Unmarshal(drawnCases, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	pool := tensor.NewPool("drawn", tensor.Host(), 0)
	for _, c := range cases {
		mask, err := rle.ParseCOCO(c.Mask)
		if err != nil {
			t.Fatal(err)
		}
		want, err := rle.ParseCOCO(c.Want)
		if err != nil {
			t.Fatal(err)
		}
		pixels := make([]byte, c.Size*c.Size)
		if err := want.Decode(pixels); err != nil {
			t.Fatal(err)
		}
		got, err := drawnMask(pool, &mask, c.Size)
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for i, v := range got.Float32s() {
			if v != float32(pixels[i]) {
				wrong++
			}
		}
		if wrong > c.Ties {
			t.Errorf("%d×%d to %d: %d pixels differ", mask.Width, mask.Height, c.Size, wrong)
		}
		got.Release()
	}
	tensor.NoLeaks(t, pool)
}

func TestADrawnMaskOfTheModelsSizeIsTakenAsItIs(t *testing.T) {
	pool := tensor.NewPool("drawn", tensor.Host(), 0)
	mask := rle.Mask{Height: 3, Width: 3, Runs: []uint32{1, 3, 2, 1, 2}} // rows 0 1 0, 1 0 0, 1 0 1 would be upright
	got, err := drawnMask(pool, &mask, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := [9]float32{0, 1, 1, 1, 0, 0, 1, 0, 0} // column-major 0 1 1, 1 0 0, 1 0 0
	if [9]float32(got.Float32s()) != want {
		t.Errorf("%v, want %v", got.Float32s(), want)
	}
	got.Release()
	tensor.NoLeaks(t, pool)
}

func TestADrawnMaskIsItsOwnAnswer(t *testing.T) {
	w := newWorld(t, nil)
	mask := rle.Mask{Height: height, Width: width, Runs: []uint32{60 * height, 40 * height, 220 * height}} // columns 60 … 99
	got := w.prompt(0, 4, Prompt{Mask: &mask}, both(0)...)[0]
	if got.area != 4*lowRes || got.x != 79 && got.x != 80 || got.score != 10 {
		t.Errorf("a drawn stripe shows as %+v", got)
	}
	empty := rle.Empty(50, 70)
	if got := w.prompt(0, 4, Prompt{Mask: &empty}, both(0)...)[0]; got.area != 0 || !got.has || got.score != -10 {
		t.Errorf("an empty drawn mask shows as %+v", got)
	}
}

func BenchmarkDrawnMask1080p(b *testing.B) {
	pool := tensor.NewPool("drawn", tensor.Host(), 0)
	mask := rle.Mask{Height: 1080, Width: 1920, Runs: []uint32{600 * 1080, 500 * 1080, 820 * 1080}}
	for b.Loop() {
		t, err := drawnMask(pool, &mask, 1024)
		if err != nil {
			b.Fatal(err)
		}
		t.Release()
	}
}
