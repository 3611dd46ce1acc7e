package frames

import (
	"errors"
	"sync"
	"testing"

	"maskstream/tensor"
)

// frameAt is a frame of 3·8·8 floats (768 bytes) that owns a gray 4×4 picture; freed counts pictures handed back.
func frameAt(t *testing.T, pool *tensor.Pool, index int, freed *int) *Frame {
	t.Helper()
	pixels, err := pool.New(tensor.Float32, 1, 3, 8, 8)
	if err != nil {
		t.Fatal(err)
	}
	pixels.Float32s()[0] = float32(index)
	p := &Picture{Width: 4, Height: 4, Format: Gray8, Planes: [3][]byte{make([]byte, 16)}, Strides: [3]int{4}, Meta: Meta{Frame: index}}
	f := NewFrame(pixels, p.Own(func() { *freed++ }))
	f.Index = index
	return f
}

func TestStoreKeepsTheNewestAndReleasesTheOldest(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		kept   int
		bytes  int64
		freed  int // of ten pictures, before the store is cleared
	}{
		"by count":                  {Limits{Frames: 4, Pictures: true}, 4, 4 * (768 + 16), 6},
		"by bytes":                  {Limits{Bytes: 3 * 784, Pictures: true}, 3, 3 * 784, 7},
		"without pictures":          {Limits{Frames: 4}, 4, 4 * 768, 10},
		"no limit":                  {Limits{Pictures: true}, 10, 10 * 784, 0},
		"smaller than any frame":    {Limits{Bytes: 1, Pictures: true}, 1, 784, 9},
		"one frame, without planes": {Limits{Frames: 1}, 1, 768, 10},
	} {
		t.Run(name, func(t *testing.T) {
			pool := tensor.NewPool("test", tensor.Host(), 0)
			defer tensor.NoLeaks(t, pool)
			store, freed := NewStore(c.limits, pool), 0
			for i := range 10 {
				f := frameAt(t, pool, 100+2*i, &freed) // indices may have gaps
				if err := store.Add(f); err != nil {
					t.Fatal(err)
				}
				f.Release()
			}
			if n, bytes := store.Len(); n != c.kept || bytes != c.bytes {
				t.Errorf("%d frames of %d bytes kept, want %d of %d", n, bytes, c.kept, c.bytes)
			}
			if freed != c.freed {
				t.Errorf("%d pictures handed back, want %d", freed, c.freed)
			}
			oldest, _ := store.Oldest()
			newest, ok := store.Newest()
			if !ok || newest != 118 || oldest != 118-2*(c.kept-1) {
				t.Errorf("holds %d to %d", oldest, newest)
			}
			f, err := store.At(newest)
			if err != nil || f.Pixels.Float32s()[0] != 118 || f.Picture.Meta.Frame != 118 || f.Picture.Width != 4 {
				t.Errorf("newest frame: %v %v", f, err)
			}
			for _, gone := range []int{oldest - 2, newest - 1, newest + 2} {
				if _, err := store.At(gone); !errors.Is(err, ErrGone) {
					t.Errorf("frame %d: %v", gone, err)
				}
			}
			store.Clear()
			f.Release() // outlives the store
			if freed != 10 {
				t.Errorf("%d pictures handed back at the end", freed)
			}
		})
	}
}

func TestStoreInAnotherPoolCopiesAndSurfacesItsBudget(t *testing.T) {
	live, past := tensor.NewPool("live", tensor.Host(), 0), tensor.NewPool("past", tensor.Host(), 2*768)
	defer tensor.NoLeaks(t, live, past)
	store, freed := NewStore(Limits{}, past), 0
	var last error
	for i := range 3 {
		f := frameAt(t, live, i, &freed)
		last = store.Add(f)
		f.Release()
	}
	if !errors.Is(last, tensor.ErrExhausted) {
		t.Errorf("third frame: %v", last)
	}
	if n, _ := store.Len(); n != 2 {
		t.Errorf("%d frames kept", n)
	}
	store.Clear()
}

func TestStoreRefusesAnIndexThatDoesNotGrow(t *testing.T) {
	pool := tensor.NewPool("test", tensor.Host(), 0)
	defer tensor.NoLeaks(t, pool)
	store, freed := NewStore(Limits{}, pool), 0
	f := frameAt(t, pool, 7, &freed)
	defer f.Release()
	if err := store.Add(f); err != nil {
		t.Fatal(err)
	}
	if err := store.Add(f); err == nil {
		t.Error("added twice")
	}
	store.Clear()
	if err := store.Add(f); err != nil {
		t.Errorf("after Clear: %v", err)
	}
	store.Clear()
}

func TestStoreIsReadWhileItGrows(t *testing.T) {
	pool := tensor.NewPool("test", tensor.Host(), 0)
	store := NewStore(Limits{Frames: 5, Pictures: true}, pool)
	var group sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if newest, ok := store.Newest(); ok {
					if f, err := store.At(newest); err == nil {
						if got := f.Pixels.Float32s()[0]; got != float32(f.Index) {
							t.Errorf("frame %d holds %v", f.Index, got)
						}
						f.Release()
					}
				}
			}
		})
	}
	for i := range 300 {
		f := frameAt(t, pool, i, new(int))
		if err := store.Add(f); err != nil {
			t.Error(err)
		}
		f.Release()
	}
	close(stop)
	group.Wait()
	store.Clear()
	tensor.NoLeaks(t, pool)
}
