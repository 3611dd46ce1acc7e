package rle

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// interpolated is the plain way: every output pixel by itself, in float32, sideways first.
func interpolated(logits []float32, lowH, lowW, height, width int) []float32 {
	source := func(i, low, full int) (int, int, float32) {
		at := max(0, float32(low)/float32(full)*(float32(i)+0.5)-0.5)
		k := min(int(at), low-1)
		return k, min(k+1, low-1), at - float32(k)
	}
	picture := make([]float32, height*width)
	for y := range height {
		y0, y1, fy := source(y, lowH, height)
		for x := range width {
			x0, x1, fx := source(x, lowW, width)
			top := logits[y0*lowW+x0]*(1-fx) + logits[y0*lowW+x1]*fx
			bottom := logits[y1*lowW+x0]*(1-fx) + logits[y1*lowW+x1]*fx
			picture[y*width+x] = top*(1-fy) + bottom*fy
		}
	}
	return picture
}

// blobs is a smooth map above 0 within discs; noise is added to each logit.
func blobs(random *rand.Rand, lowH, lowW, discs int, radius, noise float64) []float32 {
	logits := make([]float32, lowH*lowW)
	for i := range logits {
		logits[i] = -12
	}
	for range discs {
		cx, cy := random.Float64()*float64(lowW), random.Float64()*float64(lowH)
		r := radius * (0.5 + random.Float64())
		for i := range logits {
			distance := math.Hypot(float64(i%lowW)-cx, float64(i/lowW)-cy)
			logits[i] = max(logits[i], float32(min(12, r-distance)))
		}
	}
	for i := range logits {
		logits[i] += float32(noise * random.NormFloat64())
	}
	return logits
}

const tie = 1e-5 // nearer to 0 than this, a value's sign is rounding

// resizes are sizes of logits and picture.
var resizes = [][4]int{
	{64, 64, 270, 480}, // up, by different factors
	{64, 64, 479, 853}, // odd
	{65, 130, 200, 131},
	{256, 256, 256, 256}, // as it is
	{64, 48, 64, 301},
	{256, 256, 101, 77}, // down
	{100, 70, 33, 200},  // down and up
	{300, 7, 299, 8},
	{1, 1, 5, 7},
	{1, 9, 12, 30},
	{9, 1, 30, 12},
	{2, 2, 1, 1},
	{70, 70, 1, 300},
}

func TestLogitsBecomeTheRunsOfTheInterpolatedPicture(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var encoder Encoder // one for all: sizes change under it
	for _, s := range resizes {
		for name, logits := range map[string][]float32{
			"blobs":   blobs(random, s[0], s[1], 3, float64(min(s[0], s[1]))/6, 0),
			"rough":   blobs(random, s[0], s[1], 3, float64(min(s[0], s[1]))/6, 4),
			"noise":   blobs(random, s[0], s[1], 0, 0, 100),
			"inside":  slices.Repeat([]float32{3}, s[0]*s[1]),
			"outside": slices.Repeat([]float32{-3}, s[0]*s[1]),
			"zero":    make([]float32, s[0]*s[1]),
			"absent":  slices.Repeat([]float32{-1024}, s[0]*s[1]),
		} {
			t.Run(fmt.Sprintf("%s %d×%d to %d×%d", name, s[0], s[1], s[2], s[3]), func(t *testing.T) {
				mask := encoder.FromLogits(logits, s[0], s[1], s[2], s[3])
				checkPixels(t, mask, interpolated(logits, s[0], s[1], s[2], s[3]))
			})
		}
	}
}

// checkPixels compares a mask with the picture of which it should be what is above 0.
func checkPixels(t *testing.T, mask Mask, picture []float32) {
	t.Helper()
	wrong, ties := 0, 0
	bitmap := decode(t, mask)
	for i, value := range picture {
		switch {
		case (bitmap[i] != 0) == (value > 0):
		case math.Abs(float64(value)) < tie:
			ties++
		default:
			wrong++
		}
	}
	if wrong > 0 || ties > len(picture)/1000 {
		t.Errorf("%d of %d pixels differ, and %d ties", wrong, len(picture), ties)
	}
	if canonical := FromBits(mask.Height, mask.Width, bitmap); !slices.Equal(canonical.Runs, mask.Runs) {
		t.Error("the runs are not canonical")
	}
}

func TestMasksEqualWhatTorchInterpolates(t *testing.T) {
	data, err := os.ReadFile("testdata/interpolate.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Low    [2]int `json:"low"`
		Size   [2]int `json:"size"`
		Bumpy  int    `json:"bumpy"`
		Counts string `json:"counts"`
		Ties   int    `json:"ties"`
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	var encoder Encoder
	for _, c := range cases {
		t.Run(fmt.Sprintf("%v to %v bumpy %d", c.Low, c.Size, c.Bumpy), func(t *testing.T) {
			got := encoder.FromLogits(formula(c.Low[0], c.Low[1], c.Bumpy), c.Low[0], c.Low[1], c.Size[0], c.Size[1])
			want, err := Parse(c.Size[0], c.Size[1], c.Counts)
			if err != nil {
				t.Fatal(err)
			}
			differing := int64(0)
			for length, pixel := range overlay(got.Runs, want.Runs) {
				if pixel == onlyA || pixel == onlyB {
					differing += int64(length)
				}
			}
			if differing > int64(c.Ties) {
				t.Errorf("%d pixels differ where torch's values have %d ties", differing, c.Ties)
			}
		})
	}
}

// formula is a map that testdata/interpolate.py computes as well: small whole numbers over 8, exact in float32.
func formula(lowH, lowW, bumpy int) []float32 {
	logits := make([]float32, lowH*lowW)
	state := uint32(1)
	for y := range lowH {
		for x := range lowW {
			state = state*1664525 + 1013904223
			dx, dy := 2*x-lowW, 2*y-lowH
			value := lowH*lowW/5 - dx*dx - dy*dy + bumpy*(int(state>>24)-128)
			logits[y*lowW+x] = float32(max(-255, min(255, value))) / 8
		}
	}
	return logits
}

func TestNaNIsNotInside(t *testing.T) {
	nan := float32(math.NaN())
	var encoder Encoder
	got := encoder.FromLogits([]float32{1, nan, 1, 1, 1, 1}, 2, 3, 2, 3)
	// Its left neighbour looks at it with a weight of 0, which is NaN all the same.
	if bitmap := decode(t, got); !slices.Equal(bitmap, []byte{0, 0, 1, 1, 1, 1}) {
		t.Errorf("pixels %v", bitmap)
	}
	all := encoder.FromLogits(slices.Repeat([]float32{nan}, 100*100), 100, 100, 37, 201)
	if !Equal(all, Empty(37, 201)) {
		t.Errorf("runs %v", all.Runs)
	}
}

func TestOverlappingObjectsKeepThePixelsWhereTheyAreHighest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var encoder Encoder
	for _, s := range resizes {
		t.Run(fmt.Sprintf("%d×%d to %d×%d", s[0], s[1], s[2], s[3]), func(t *testing.T) {
			maps := make([][]float32, 6)
			pictures := make([][]float32, len(maps))
			for i := range maps {
				if i == 2 {
					continue // absent
				}
				maps[i] = blobs(random, s[0], s[1], 2, float64(min(s[0], s[1]))/3, 0.5)
				if i == 5 {
					maps[i] = maps[1] // equal everywhere: the first keeps all
				}
				pictures[i] = interpolated(maps[i], s[0], s[1], s[2], s[3])
			}
			masks := encoder.FromLogitsNonOverlapping(maps, s[0], s[1], s[2], s[3])
			bitmaps := make([][]byte, len(masks))
			for i, mask := range masks {
				bitmaps[i] = decode(t, mask)
			}
			wrong, ties, taken := 0, 0, 0
			for p := range s[2] * s[3] {
				best, second := -1, float32(math.Inf(-1))
				owners := 0
				for i, picture := range pictures {
					owners += int(bitmaps[i][p])
					switch {
					case picture == nil:
					case best < 0 || picture[p] > pictures[best][p]:
						if best >= 0 {
							second = pictures[best][p]
						}
						best = i
					case i != 5 || best != 1: // the copy is no rival: it must always lose
						second = max(second, picture[p])
					}
				}
				value := pictures[best][p]
				if owners > 1 {
					t.Fatalf("pixel %d has %d owners", p, owners)
				}
				if value > 0 && second > 0 {
					taken++
				}
				switch {
				case (bitmaps[best][p] == 1) == (value > 0) && (owners == 1) == (value > 0):
				case math.Abs(float64(value)) < tie || value-second < tie:
					ties++
				default:
					wrong++
				}
			}
			if wrong > 0 || ties > s[2]*s[3]/1000 {
				t.Errorf("%d pixels have the wrong owner, and %d ties", wrong, ties)
			}
			if min(s[0], s[1]) >= 48 && taken == 0 {
				t.Error("nothing overlaps: the test tests nothing")
			}
			if masks[2].Area() != 0 || masks[5].Area() != 0 {
				t.Error("an absent object or a copy has pixels")
			}
		})
	}
}

func TestLogitsOfAnotherLengthPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	new(Encoder).FromLogits(make([]float32, 5), 2, 3, 4, 4)
}
