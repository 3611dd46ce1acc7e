package frames

import (
	"errors"
	"math"
	"slices"
	"testing"

	"maskstream/tensor"
)

// keep adds frames of the given epochs and numbers, with indices from 0.
func keep(t *testing.T, store *Store, pool *tensor.Pool, pictures ...[2]int) {
	t.Helper()
	for i, p := range pictures {
		f := frameAt(t, pool, i, new(int))
		f.Picture.Meta.Epoch, f.Picture.Meta.Frame = p[0], p[1]
		if err := store.Add(f); err != nil {
			t.Fatal(err)
		}
		f.Release()
	}
}

func TestFramesAreFoundByTheirPicturesNumber(t *testing.T) {
	pool := tensor.NewPool("test", tensor.Host(), 0)
	defer tensor.NoLeaks(t, pool)
	store := NewStore(Limits{}, pool)
	defer store.Clear()
	keep(t, store, pool, [2]int{0, 3}, [2]int{0, 5}, [2]int{0, 9}, [2]int{1, 0}, [2]int{1, 4})
	for _, c := range []struct {
		epoch, number int
		index         int // −1: gone
		near          []int
	}{
		{0, 3, 0, []int{3}}, {0, 9, 2, []int{9}}, {1, 0, 3, []int{0}}, {1, 4, 4, []int{4}},
		{0, 4, -1, []int{3, 5}}, {0, 0, -1, []int{3}}, {0, 10, -1, []int{9}}, {1, 3, -1, []int{0, 4}}, {1, 9, -1, []int{4}}, {2, 3, -1, nil},
	} {
		f, err := store.Picture(c.epoch, c.number)
		if c.index < 0 && !errors.Is(err, ErrGone) || c.index >= 0 && (err != nil || f.Index != c.index) {
			t.Errorf("frame %d of epoch %d: %v %v", c.number, c.epoch, f, err)
		}
		if err == nil {
			f.Release()
		}
		if near := store.Near(c.epoch, c.number); !slices.Equal(near, c.near) {
			t.Errorf("near frame %d of epoch %d: %v, want %v", c.number, c.epoch, near, c.near)
		}
	}
}

func TestFromPassesOverWhatIsNotKept(t *testing.T) {
	pool := tensor.NewPool("test", tensor.Host(), 0)
	defer tensor.NoLeaks(t, pool)
	store := NewStore(Limits{}, pool)
	defer store.Clear()
	for _, index := range []int{4, 5, 8} {
		f := frameAt(t, pool, index, new(int))
		if err := store.Add(f); err != nil {
			t.Fatal(err)
		}
		f.Release()
	}
	for from, want := range map[int]int{0: 4, 4: 4, 5: 5, 6: 8, 8: 8, 9: -1} {
		f, err := store.From(from)
		if want < 0 && !errors.Is(err, ErrGone) || want >= 0 && (err != nil || f.Index != want) {
			t.Errorf("from %d: %v %v", from, f, err)
		}
		if err == nil {
			f.Release()
		}
	}
}

func TestThePastStaysWholeWhileTheStoreMovesOn(t *testing.T) {
	pool := tensor.NewPool("test", tensor.Host(), 0)
	defer tensor.NoLeaks(t, pool)
	store := NewStore(Limits{Frames: 4, Compact: true}, pool)
	for i := range 12 {
		f := frameAt(t, pool, i, new(int))
		if err := store.Add(f); err != nil {
			t.Fatal(err)
		}
		f.Release()
		if i != 5 {
			continue
		}
		all, two := store.Past(0), store.Past(2)
		store.Clear()
		for _, c := range []struct {
			past *Past
			want []int
		}{{all, []int{5, 4, 3, 2}}, {two, []int{5, 4}}} {
			var got []int
			for c.past.Len() > 0 {
				f, err := c.past.Take()
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, f.Index)
				f.Release()
			}
			if _, err := c.past.Take(); !errors.Is(err, ErrGone) || !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v, then %v", got, c.want, err)
			}
		}
	}
	left := store.Past(3)
	left.Release()
	store.Clear()
}

func TestCompactFramesComeBackToWithinHalfAByte(t *testing.T) {
	live, past := tensor.NewPool("live", tensor.Host(), 0), tensor.NewPool("past", tensor.Host(), 0)
	defer tensor.NoLeaks(t, live, past)
	store := NewStore(Limits{Compact: true}, past)
	defer store.Clear()
	const size = 32
	n := newNormalisation()
	for index, side := range []int{size, 3 * size} { // as it is, and resampled
		rgb := make([]byte, 3*side*side)
		for i := range rgb {
			rgb[i] = byte(i*7 + i/251) // every value in every channel
		}
		picture := (&Picture{Width: side, Height: side, Format: RGB24, Planes: [3][]byte{rgb}, Strides: [3]int{3 * side}}).Own(nil)
		f, err := NewConverter(size, live).Convert(picture)
		picture.Release()
		if err != nil {
			t.Fatal(err)
		}
		f.Index = index
		if err := store.Add(f); err != nil {
			t.Fatal(err)
		}
		back, err := store.At(index)
		if err != nil {
			t.Fatal(err)
		}
		var worst float64
		for i, v := range f.Pixels.Float32s() {
			gain := float64(n.gain[i/(size*size)])
			worst = max(worst, math.Abs(float64(back.Pixels.Float32s()[i]-v))/gain)
		}
		if exact := side == size; exact && worst != 0 || worst > 0.501 || !exact && worst == 0 {
			t.Errorf("from %d pixels: wrong by %.3f of a byte", side, worst)
		}
		back.Release()
		f.Release()
	}
	if n, bytes := store.Len(); n != 2 || bytes != 2*3*size*size {
		t.Errorf("%d frames of %d bytes", n, bytes)
	}
}

// BenchmarkKeptFrames is what keeping a frame and looking at it again cost.
func BenchmarkKeptFrames(b *testing.B) {
	for _, size := range []int{256, 1024} {
		for _, compact := range []bool{false, true} {
			name := map[bool]string{false: "float32", true: "uint8"}[compact]
			pool := tensor.NewPool("test", tensor.Host(), 0)
			other := tensor.NewPool("live", tensor.Host(), 0)
			pixels, err := other.New(tensor.Float32, 1, 3, size, size)
			if err != nil {
				b.Fatal(err)
			}
			for i := range pixels.Float32s() {
				pixels.Float32s()[i] = float32(i%255)/60 - 2
			}
			f := NewFrame(pixels, (&Picture{Width: 4, Height: 4}).Own(nil))
			store := NewStore(Limits{Frames: 2, Compact: compact}, pool)
			b.Run(name+"/"+map[int]string{256: "256", 1024: "1024"}[size]+"/add", func(b *testing.B) {
				for b.Loop() {
					f.Index++
					if err := store.Add(f); err != nil {
						b.Fatal(err)
					}
				}
				n, bytes := store.Len()
				b.ReportMetric(float64(bytes)/float64(n), "bytes/frame")
			})
			b.Run(name+"/"+map[int]string{256: "256", 1024: "1024"}[size]+"/at", func(b *testing.B) {
				for b.Loop() {
					kept, err := store.At(f.Index)
					if err != nil {
						b.Fatal(err)
					}
					kept.Release()
				}
			})
			store.Clear()
			f.Release()
		}
	}
}
