package rle

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"io"
	"os"
	"slices"
	"testing"
)

// vectors is what pycocotools says about some masks, and about some pairs of them.
type vectors struct {
	Masks []struct {
		Name   string   `json:"name"`
		Size   [2]int   `json:"size"`
		Counts string   `json:"counts"`
		Runs   []uint32 `json:"runs"` // absent where there are many
		Area   int64    `json:"area"`
		BBox   [4]int   `json:"bbox"`
		Bits   []byte   `json:"bits_row_major_zlib_base64"`
	} `json:"masks"`
	Pairs []struct {
		A            string  `json:"a"`
		B            string  `json:"b"`
		IoU          float64 `json:"iou"`
		Union        int64   `json:"union_area"`
		Intersection int64   `json:"intersection_area"`
	} `json:"pairs"`
}

func readVectors(t testing.TB) vectors {
	t.Helper()
	file, err := os.Open("testdata/vectors.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.NewDecoder(plain).Decode(&v); err != nil {
		t.Fatal(err)
	}
	if len(v.Masks) < 39 || len(v.Pairs) < 20 {
		t.Fatalf("%d masks and %d pairs: a part of testdata/vectors.json.gz is gone", len(v.Masks), len(v.Pairs))
	}
	return v
}

// unpackBits undoes zlib and numpy.packbits: one byte per pixel.
func unpackBits(t testing.TB, packed []byte, pixels int) []byte {
	t.Helper()
	plain, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	packed, err = io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	bitmap := make([]byte, pixels)
	for i := range bitmap {
		bitmap[i] = packed[i/8] >> (7 - i%8) & 1
	}
	return bitmap
}

func TestEveryMaskIsAsPycocotoolsHasIt(t *testing.T) {
	for _, want := range readVectors(t).Masks {
		t.Run(want.Name, func(t *testing.T) {
			height, width := want.Size[0], want.Size[1]
			mask, err := Parse(height, width, want.Counts)
			if err != nil {
				t.Fatal(err)
			}
			if got := mask.COCO(); got != (COCO{Size: want.Size, Counts: want.Counts}) {
				t.Errorf("COCO of the parsed mask is %.60v", got)
			}
			if want.Runs != nil && !slices.Equal(mask.Runs, want.Runs) {
				t.Errorf("runs %.60v, want %.60v", mask.Runs, want.Runs)
			}
			if got := mask.Area(); got != want.Area {
				t.Errorf("area %d, want %d", got, want.Area)
			}
			if got := mask.Box(); got != want.BBox {
				t.Errorf("box %v, want %v", got, want.BBox)
			}
			if want.Bits == nil {
				t.Fatal("no bitmap to compare with")
			}
			bitmap := unpackBits(t, want.Bits, height*width)
			if got := FromBits(height, width, bitmap).Counts(); got != want.Counts {
				t.Errorf("counts from the bitmap %.60q, want %.60q", got, want.Counts)
			}
			decoded := bytes.Repeat([]byte{7}, height*width)
			if err := mask.Decode(decoded); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(decoded, bitmap) {
				t.Error("decoded pixels differ from the bitmap")
			}
		})
	}
}

func TestEveryPairIsAsPycocotoolsHasIt(t *testing.T) {
	v := readVectors(t)
	masks := make(map[string]Mask)
	for _, m := range v.Masks {
		mask, err := Parse(m.Size[0], m.Size[1], m.Counts)
		if err != nil {
			t.Fatal(err)
		}
		masks[m.Name] = mask
	}
	for _, want := range v.Pairs {
		t.Run(want.A+"+"+want.B, func(t *testing.T) {
			a, b := masks[want.A], masks[want.B]
			if got, err := IoU(a, b); err != nil || got != want.IoU {
				t.Errorf("IoU %v (%v), want %v", got, err, want.IoU)
			}
			for op, area := range map[Op]int64{Union: want.Union, Intersection: want.Intersection} {
				merged, err := Merge(op, a, b)
				if err != nil {
					t.Fatal(err)
				}
				if got := merged.Area(); got != area {
					t.Errorf("merge %b has area %d, want %d", op, got, area)
				}
				if err := merged.Validate(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
