package rle

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// roughBlobs are n maps of side×side logits: smooth with a rough edge, some empty, some full.
func roughBlobs(n, side int) [][]float32 {
	random := rand.New(rand.NewPCG(5, uint64(n)))
	maps := make([][]float32, n)
	for i := range maps {
		maps[i] = make([]float32, side*side)
		x, y, r := random.Float64()*float64(side), random.Float64()*float64(side), random.Float64()*float64(side)/2
		for at := range maps[i] {
			away := math.Hypot(float64(at%side)-x, float64(at/side)-y)
			maps[i][at] = float32(r - away + random.NormFloat64())
			switch i % 11 {
			case 7:
				maps[i][at] = -9
			case 9:
				maps[i][at] = 9
			}
		}
	}
	return maps
}

// canvas is the map at its full size, as torch.nn.functional.interpolate(mode="bilinear", align_corners=False) makes it.
func canvas(logits []float32, lowH, lowW, height, width int) []float32 {
	position := func(i, low, full int) (k, next int, near, far float32) {
		at := max(float32(float32(low)/float32(full)*(float32(i)+0.5))-0.5, 0)
		k = min(int(at), low-1)
		far = min(at-float32(k), 1)
		return k, min(k+1, low-1), 1 - far, far
	}
	out := make([]float32, height*width)
	for y := range height {
		top, bottom, nearY, farY := position(y, lowH, height)
		for x := range width {
			left, right, nearX, farX := position(x, lowW, width)
			a := float32(nearX*logits[top*lowW+left]) + float32(farX*logits[top*lowW+right])
			b := float32(nearX*logits[bottom*lowW+left]) + float32(farX*logits[bottom*lowW+right])
			out[y*width+x] = float32(nearY*a) + float32(farY*b)
		}
	}
	return out
}

func above(values []float32, threshold float32) []byte {
	bits := make([]byte, len(values))
	for i, v := range values {
		if v > threshold {
			bits[i] = 1
		}
	}
	return bits
}

func TestMasksMadeInChunksEqualTheFullCanvas(t *testing.T) {
	const low, height, width = 24, 67, 101
	for _, n := range []int{0, 1, 33, 300} {
		for _, threshold := range []float32{0, 1, -1, 0.3} {
			t.Run(fmt.Sprintf("%d above %v", n, threshold), func(t *testing.T) {
				var chunks Chunks
				var encoder Encoder
				maps := roughBlobs(n, low)
				masks := chunks.Encode(threshold, maps, low, low, height, width)
				if len(masks) != n {
					t.Fatalf("%d masks", len(masks))
				}
				for i, got := range masks {
					want := FromBits(height, width, above(canvas(maps[i], low, low, height, width), threshold))
					if err := got.Validate(); err != nil || !Equal(got, want) {
						t.Errorf("mask %d is another than on a full canvas, error %v", i, err)
					}
					if area := encoder.AreaAbove(threshold, maps[i], low, low, height, width); area != want.Area() {
						t.Errorf("mask %d: area %d, want %d", i, area, want.Area())
					}
				}
				if chunks.Moved.Masks != n {
					t.Errorf("counted %+v", chunks.Moved)
				}
			})
		}
	}
}

func TestBuffersDoNotGrowWithTheNumberOfMasks(t *testing.T) {
	const low, height, width = 24, 67, 101
	of := func(maps [][]float32) int {
		var chunks Chunks
		chunks.Encode(0, maps, low, low, height, width)
		return cap(chunks.borders)
	}
	maps := roughBlobs(ChunkMasks, low)
	many := maps
	for range 8 {
		many = append(many[:len(many):len(many)], maps...)
	}
	if one, nine := of(maps), of(many); nine > one {
		t.Errorf("room for %d changes after %d masks, and for %d after %d", one, len(maps), nine, len(many))
	}
}

func TestManyMasksTakeAFifthOfTheirCanvasesAtMost(t *testing.T) {
	const n, low, height, width = 300, 64, 135, 240
	maps := roughBlobs(n, low)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var chunks Chunks
	masks := chunks.Encode(0, maps, low, low, height, width)
	runtime.ReadMemStats(&after)
	// Everything that was ever allocated, against a float and a byte for each pixel of all masks at once.
	if got, canvases := after.TotalAlloc-before.TotalAlloc, uint64(n*height*width*5); got > canvases/5 {
		t.Errorf("%d bytes for %d masks, their canvases take %d", got, len(masks), canvases)
	}
}

// alternating is a map whose mask at its own size has exactly so many boundary pairs.
func alternating(pairs, side int) []float32 {
	logits := make([]float32, side*side)
	for at := range logits {
		v := float32(-1)
		if min(at, pairs)%2 == 1 {
			v = 1
		}
		logits[at%side*side+at/side] = v // at counts down the columns
	}
	return logits
}

func TestTheCrossoverLiesAtExactly16384PairsAMask(t *testing.T) {
	const side = 192
	for name, c := range map[string]struct {
		pairs []int
		want  Moves
	}{
		"at the crossover":          {[]int{16384, 16384}, Moves{Masks: 2, Copies: 1, Sparse: 1}},
		"on average":                {[]int{16385, 16383}, Moves{Masks: 2, Copies: 1, Sparse: 1}},
		"one pair more":             {[]int{16384, 16385}, Moves{Masks: 2, Copies: 2, Dense: 1}},
		"dense from the first mask": {[]int{36863, 1}, Moves{Masks: 2, Copies: 2, Dense: 1}},
		"one dense among three":     {[]int{36863, 1, 1}, Moves{Masks: 3, Copies: 1, Sparse: 1}},
		"one mask":                  {[]int{3}, Moves{Masks: 1, Copies: 1}},
		"none":                      {nil, Moves{}},
		"empty masks":               {[]int{0, 0, 0}, Moves{Masks: 3, Copies: 1, Sparse: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var maps [][]float32
			for _, pairs := range c.pairs {
				maps = append(maps, alternating(pairs, side))
			}
			var chunks Chunks
			masks := chunks.Encode(0, maps, side, side, side, side)
			if chunks.Moved != c.want {
				t.Errorf("moved as %+v, want %+v", chunks.Moved, c.want)
			}
			for i, mask := range masks {
				if want := FromBits(side, side, above(maps[i], 0)); !Equal(mask, want) {
					t.Errorf("mask %d is not that of its map", i)
				}
				if changes := len(mask.Runs) - 1; changes != c.pairs[i] { // the first pixel is not set
					t.Errorf("mask %d has %d pairs, want %d: the test is wrong", i, changes, c.pairs[i])
				}
			}
		})
	}
}

func TestOneMaskAloneIsNeverSparse(t *testing.T) {
	if Sparse(1, 0) || Sparse(0, 0) || !Sparse(2, 0) {
		t.Error("a batch is sparse from two masks on")
	}
}

func TestPlacedMaskIsTheMaskOnItsCanvas(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for range 200 {
		h, w := 1+random.IntN(9), 1+random.IntN(9)
		x, y := random.IntN(4), random.IntN(4)
		height, width := y+h+random.IntN(3), x+w+random.IntN(3)
		bits, whole := make([]byte, h*w), make([]byte, height*width)
		for i := range bits {
			bits[i] = byte(random.IntN(3) % 2)
			whole[(y+i/w)*width+x+i%w] = bits[i]
		}
		got, err := FromBits(h, w, bits).Place(x, y, height, width)
		if err != nil {
			t.Fatal(err)
		}
		if want := FromBits(height, width, whole); got.Validate() != nil || got.Counts() != want.Counts() {
			t.Fatalf("%d×%d at %d,%d of %d×%d: runs %v, want %v", h, w, x, y, height, width, got.Runs, want.Runs)
		}
	}
	if _, err := Empty(3, 3).Place(1, 0, 3, 3); !errors.Is(err, ErrSize) {
		t.Errorf("a mask over the border gave %v", err)
	}
	if _, err := (Mask{Height: 0, Width: 4, Runs: []uint32{5}}).Place(0, 0, 9, 9); !errors.Is(err, ErrCounts) {
		t.Errorf("a damaged mask gave %v", err)
	}
}
