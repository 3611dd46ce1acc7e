package rle

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestT21RLE(t *testing.T) {
	for _, c := range []struct {
		name   string
		bitmap []byte
		runs   []uint32
	}{
		{"two rows of three", []byte{0, 1, 0, 0, 1, 1}, []uint32{2, 2, 1, 1}},
		{"empty", []byte{0, 0, 0, 0, 0, 0}, []uint32{6}},
		{"full", []byte{1, 1, 1, 1, 1, 1}, []uint32{0, 6}},
		{"any non-zero is set", []byte{0, 255, 0, 0, 128, 2}, []uint32{2, 2, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := FromBits(2, 3, c.bitmap); !slices.Equal(got.Runs, c.runs) {
				t.Errorf("runs %v, want %v", got.Runs, c.runs)
			}
		})
	}
	if got := FromBits(2, 3, []byte{0, 1, 0, 0, 1, 1}).COCO(); got != (COCO{Size: [2]int{2, 3}, Counts: "221O"}) {
		t.Errorf("COCO is %v", got)
	}
	if got := Empty(2, 3); !slices.Equal(got.Runs, []uint32{6}) {
		t.Errorf("Empty has runs %v", got.Runs)
	}
}

// counts is the table of strings that the round trip and the fuzz test share. refused is a part of the error, "" where there is none.
var counts = []struct {
	name          string
	height, width int
	counts        string
	refused       string
}{
	{"two by three", 2, 3, "221O", ""},
	{"first pixel set", 1, 1, "01", ""},
	{"no pixels", 0, 5, "0", ""},
	{"no pixels, no runs", 0, 0, "", ""},
	{"an empty run inside", 2, 2, "2020N", ""},
	{"an empty run at the end", 2, 2, "40", ""},
	{"1080p empty", 1080, 1920, "PPYo1", ""},
	{"the most pixels there can be", 1, math.MaxUint32, "oooooo3", ""},
	{"no runs", 2, 3, "", "0 runs in 0 bytes end 6 pixels before"},
	{"too few pixels", 2, 3, "22", "2 runs in 2 bytes end 2 pixels before those of 2×3"},
	{"too many pixels", 2, 3, "223", "run 2 at byte 2 is 3 pixels long where 2×3 has 2 left"},
	{"a negative run", 2, 3, "2O", "run 1 at byte 1 is -1 pixels long"},
	{"a run negative by its difference", 2, 3, "221M", "run 3 at byte 3 is -1 pixels long"},
	{"a number cut off", 1080, 1920, "PPYo", "run 0: not the runs of a mask: the number at byte 0 is cut off"},
	{"a character too high", 2, 3, "22p", "byte 2 is 'p'"},
	{"a character too low", 2, 3, "2/1O", "byte 1 is '/'"},
	{"a space", 2, 3, "22 1O", "byte 2 is ' '"},
	{"a byte beyond ASCII", 2, 3, "22\xff", "byte 2 is 'ÿ'"},
	{"a number longer than it need be", 2, 3, "22QP01O", "longer than it need be"},
	{"a negative number longer than it need be", 2, 3, "22oO", "longer than it need be"},
	{"a number without end", 2, 3, strings.Repeat("o", 100), "the number at byte 0 has more than 7 groups"},
	{"a run of 33 bits", 2, 3, "PPPPPP4", "run 0 at byte 0 is 4294967296 pixels long"},
	{"a negative height", -2, -3, "221O", "-2×-3 is negative"},
	{"more pixels than 32 bits", 65536, 65536, "0", "65536×65536 has more than 2³²−1 pixels"},
	{"a product that wraps around", math.MaxInt64, 2, "0", "more than 2³²−1 pixels"},
}

func TestCountsThatAreNoMaskAreRefusedAndOthersComeBack(t *testing.T) {
	for _, c := range counts {
		t.Run(c.name, func(t *testing.T) {
			mask, err := ParseCOCO(COCO{Size: [2]int{c.height, c.width}, Counts: c.counts})
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Fatalf("error %v, want one that says %q", err, c.refused)
				}
				if !errors.Is(err, ErrSize) && !errors.Is(err, ErrCounts) {
					t.Errorf("error %v wraps no sentinel", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := mask.Validate(); err != nil {
				t.Error(err)
			}
			if got := mask.Counts(); got != c.counts {
				t.Errorf("comes back as %q", got)
			}
		})
	}
}

func TestTheLongestNumbersComeBack(t *testing.T) {
	const most = math.MaxUint32
	mask := Mask{Height: 1, Width: most, Runs: []uint32{0, most - 1, 0, 0, 1, 0}}
	back, err := Parse(1, most, mask.Counts())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(back.Runs, mask.Runs) {
		t.Errorf("runs %v, want %v", back.Runs, mask.Runs)
	}
}

func TestAMaskWhoseRunsDoNotAddUpIsInvalid(t *testing.T) {
	for _, mask := range []Mask{
		{Height: 2, Width: 3, Runs: []uint32{2, 2, 1}},
		{Height: 2, Width: 3, Runs: []uint32{2, 5}},
		{Height: 2, Width: 3},
		{Height: 1, Width: 1, Runs: []uint32{1, math.MaxUint32, 1}},
		{Height: 0, Width: 3, Runs: []uint32{0, 9}},
	} {
		if err := mask.Validate(); !errors.Is(err, ErrCounts) {
			t.Errorf("%v: error %v", mask, err)
		}
		if err := mask.Decode(make([]byte, 6)); !errors.Is(err, ErrCounts) {
			t.Errorf("%v: decode error %v", mask, err)
		}
		mask.Area()
		mask.Box()
		mask.EachColumn(func(int, int, int) {})
		mask.Counts()
		if _, err := Merge(Union, mask, mask); err != nil {
			t.Error(err)
		}
	}
	if err := (Mask{Height: -1, Width: 1}).Validate(); !errors.Is(err, ErrSize) {
		t.Errorf("error %v", err)
	}
}

func TestDecodeIntoTheWrongLengthIsRefused(t *testing.T) {
	if err := Empty(2, 3).Decode(make([]byte, 5)); !errors.Is(err, ErrSize) {
		t.Errorf("error %v", err)
	}
}
