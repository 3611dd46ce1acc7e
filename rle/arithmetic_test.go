package rle

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// randomBits has runs of about mean pixels in row-major order.
func randomBits(random *rand.Rand, n int, mean float64) []byte {
	bitmap := make([]byte, n)
	set := byte(random.IntN(2))
	for i := range bitmap {
		if random.Float64() < 1/mean {
			set ^= 1
		}
		bitmap[i] = set
	}
	return bitmap
}

func decode(t testing.TB, m Mask) []byte {
	t.Helper()
	bitmap := make([]byte, m.Height*m.Width)
	if err := m.Decode(bitmap); err != nil {
		t.Fatal(err)
	}
	return bitmap
}

// boxOf is Box by looking at every pixel.
func boxOf(bitmap []byte, height, width int) [4]int {
	x0, y0, x1, y1 := width, height, -1, -1
	for y := range height {
		for x := range width {
			if bitmap[y*width+x] != 0 {
				x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
			}
		}
	}
	if x1 < 0 {
		return [4]int{}
	}
	return [4]int{x0, y0, x1 - x0 + 1, y1 - y0 + 1}
}

// splitRuns is the same mask with empty runs in it.
func splitRuns(random *rand.Rand, m Mask) Mask {
	var runs []uint32
	for _, run := range m.Runs {
		cut := uint32(random.IntN(int(run) + 1))
		runs = append(runs, cut, 0, run-cut)
	}
	return Mask{Height: m.Height, Width: m.Width, Runs: runs}
}

func TestArithmeticOnRunsIsThatOfPixels(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][2]int{{1, 1}, {1, 9}, {9, 1}, {2, 2}, {7, 13}, {64, 64}, {65, 40}, {33, 100}} {
		for _, mean := range []float64{1.5, 10, 1000} {
			t.Run(fmt.Sprintf("%d×%d runs of %v", size[0], size[1], mean), func(t *testing.T) {
				height, width := size[0], size[1]
				bitmaps := make([][]byte, 3)
				masks := make([]Mask, 3)
				for i := range masks {
					bitmaps[i] = randomBits(random, height*width, mean)
					canonical := FromBits(height, width, bitmaps[i])
					masks[i] = splitRuns(random, canonical)
					if !bytes.Equal(decode(t, masks[i]), bitmaps[i]) {
						t.Fatal("decoded pixels differ from the bitmap")
					}
					if !Equal(masks[i], canonical) {
						t.Error("the same pixels in other runs are not Equal")
					}
					if got, want := masks[i].Box(), boxOf(bitmaps[i], height, width); got != want {
						t.Errorf("box %v, want %v", got, want)
					}
					if got, want := masks[i].Area(), int64(bytes.Count(bitmaps[i], []byte{1})); got != want {
						t.Errorf("area %d, want %d", got, want)
					}
				}
				if Equal(masks[0], masks[1]) != bytes.Equal(bitmaps[0], bitmaps[1]) {
					t.Error("Equal of two masks is wrong")
				}
				union, common := make([]byte, height*width), make([]byte, height*width)
				for i := range union {
					union[i] = bitmaps[0][i] | bitmaps[1][i] | bitmaps[2][i]
					common[i] = bitmaps[0][i] & bitmaps[1][i] & bitmaps[2][i]
				}
				for op, want := range map[Op][]byte{Union: union, Intersection: common} {
					got, err := Merge(op, masks...)
					if err != nil {
						t.Fatal(err)
					}
					if got.Counts() != FromBits(height, width, want).Counts() {
						t.Errorf("merge %b differs, or is not canonical", op)
					}
				}
			})
		}
	}
}

func TestMergeOfOneMaskIsCanonicalAndItsOwn(t *testing.T) {
	mask := Mask{Height: 2, Width: 2, Runs: []uint32{1, 0, 1, 1, 0, 1, 0}}
	for _, op := range []Op{Union, Intersection} {
		got, err := Merge(op, mask)
		if err != nil || fmt.Sprint(got.Runs) != "[2 2]" {
			t.Errorf("runs %v, error %v", got.Runs, err)
		}
	}
	canonical := Mask{Height: 2, Width: 2, Runs: []uint32{2, 2}}
	got, err := Merge(Union, canonical)
	if err != nil {
		t.Fatal(err)
	}
	if got.Runs[0] = 9; canonical.Runs[0] != 2 {
		t.Error("the merged mask shares its runs")
	}
}

func TestMasksOfUnequalSizeDoNotMix(t *testing.T) {
	a, b := Empty(2, 3), Empty(3, 2)
	if _, err := IoU(a, b); !errors.Is(err, ErrSize) {
		t.Errorf("IoU error %v", err)
	}
	if _, err := Merge(Union, a, b); !errors.Is(err, ErrSize) {
		t.Errorf("merge error %v", err)
	}
	if _, err := Merge(Union); !errors.Is(err, ErrSize) {
		t.Errorf("merge of nothing: error %v", err)
	}
	if Equal(a, b) {
		t.Error("Equal though the sizes differ")
	}
}

func TestColumnsAreTheSetPixels(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		height, width := 1+random.IntN(9), 1+random.IntN(9)
		bitmap := make([]byte, height*width)
		for i := range bitmap {
			bitmap[i] = byte(random.IntN(3) / 2)
		}
		painted := make([]byte, height*width)
		before := -1
		FromBits(height, width, bitmap).EachColumn(func(x, y0, y1 int) {
			if at := x*height + y0; at < before || y0 >= y1 || y1 > height {
				t.Fatalf("column %d, rows %d to %d after %d", x, y0, y1, before)
			}
			before = x*height + y1
			for y := y0; y < y1; y++ {
				painted[y*width+x] = 1
			}
		})
		if !bytes.Equal(painted, bitmap) {
			t.Fatalf("%d×%d: %v, want %v", height, width, painted, bitmap)
		}
	}
	Mask{Height: 0, Width: 3, Runs: []uint32{0, 4}}.EachColumn(func(int, int, int) { t.Error("a picture without pixels has a set one") })
}
