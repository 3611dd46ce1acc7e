package tensor

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"unsafe"
)

func TestReleasedBlocksAreReused(t *testing.T) {
	pool := NewPool("test", Host(), 0)
	for range 10 {
		a, err := pool.New(Float32, 3, 5)
		if err != nil {
			t.Fatal(err)
		}
		if p := uintptr(unsafe.Pointer(&a.Float32s()[0])); p%hostAlignment != 0 {
			t.Fatalf("block at %x is not aligned", p)
		}
		a.Release()
	}
	if s := pool.Stats(); s.Allocations != 1 {
		t.Errorf("%d allocations, want 1", s.Allocations)
	}
	NoLeaks(t, pool)
}

func TestBudgetIsHeldAndIdleBlocksMakeRoom(t *testing.T) {
	pool := NewPool("small", Host(), 1024)
	a, err := pool.New(Uint8, 1024)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.New(Uint8, 1); !errors.Is(err, ErrExhausted) {
		t.Fatalf("got %v, want ErrExhausted", err)
	}
	a.Release()
	b, err := pool.New(Uint8, 512) // another size: the idle block has to go first
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	NoLeaks(t, pool)
}

func TestReleasingTwicePanics(t *testing.T) {
	a, err := NewPool("test", Host(), 0).New(Float32, 1)
	if err != nil {
		t.Fatal(err)
	}
	a.Release()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	a.Release()
}

func TestViewKeepsItsParentAlive(t *testing.T) {
	pool := NewPool("test", Host(), 0)
	a, err := pool.New(Float32, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	copy(a.Float32s(), []float32{0, 1, 2, 3, 4, 5})
	v := a.Index(1)
	a.Release()
	if pool.Stats().Live != 1 {
		t.Error("the parent was released under its view")
	}
	if got := v.Float32s(); !slices.Equal(got, []float32{3, 4, 5}) {
		t.Errorf("got %v", got)
	}
	v.Release()
	NoLeaks(t, pool)
}

func TestMovingIsFreeAtHomeAndCountedElsewhere(t *testing.T) {
	here, there := NewPool("here", Host(), 0), NewPool("there", Host(), 0)
	a, err := here.New(Float32, 4)
	if err != nil {
		t.Fatal(err)
	}
	copy(a.Float32s(), []float32{1, 2, 3, 4})
	same, err := a.To(here)
	if err != nil || same != a {
		t.Fatalf("To(home) gave %p, %v", same, err)
	}
	moved, err := a.To(there)
	if err != nil || moved == a {
		t.Fatalf("To(there) gave %p, %v", moved, err)
	}
	if !slices.Equal(moved.Float32s(), a.Float32s()) {
		t.Error("contents differ")
	}
	if got := there.Stats().MovedIn; got != 16 {
		t.Errorf("%d bytes counted, want 16", got)
	}
	for _, x := range []*Tensor{a, same, moved} {
		x.Release()
	}
	NoLeaks(t, here, there)
}

func TestBlocksOfSizesThatDoNotComeAgainAreGivenBack(t *testing.T) {
	pool := NewPool("test", Host(), 0)
	for size := 1; size <= 200; size++ { // as a batch that grows
		var all []*Tensor
		for range 10 {
			a, err := pool.New(Uint8, 64*(1+size%20)+64)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, a)
		}
		for _, a := range all {
			a.Release()
		}
		if s := pool.Stats(); s.LiveBytes+s.IdleBytes > 2*s.PeakBytes {
			t.Fatalf("%d bytes are kept, at most %d were ever live", s.LiveBytes+s.IdleBytes, s.PeakBytes)
		}
	}
	a, err := pool.New(Uint8, 64) // the pool still works, and what is asked for often stays
	if err != nil {
		t.Fatal(err)
	}
	a.Release()
	before := pool.Stats().Allocations
	for range 100 {
		a, err := pool.New(Uint8, 64)
		if err != nil {
			t.Fatal(err)
		}
		a.Release()
	}
	if after := pool.Stats().Allocations; after != before {
		t.Errorf("%d allocations more", after-before)
	}
	NoLeaks(t, pool)
}

func TestPuttingPartsTogetherCountsWhatMoved(t *testing.T) {
	here, there := NewPool("here", Host(), 0), NewPool("there", Host(), 0)
	whole, err := here.New(Float32, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, pool := range []*Pool{here, there} {
		part, err := pool.New(Float32, 3)
		if err != nil {
			t.Fatal(err)
		}
		for at := range part.Float32s() {
			part.Float32s()[at] = float32(10*i + at)
		}
		if err := whole.Put(3*i, part); err != nil {
			t.Fatal(err)
		}
		part.Release()
	}
	if got, want := whole.Float32s(), []float32{0, 1, 2, 10, 11, 12}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if in := here.Stats().MovedIn; in != 12 {
		t.Errorf("%d bytes moved in, want those of one part", in)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a part beyond the end was put")
			}
		}()
		_ = whole.Put(4, whole)
	}()
	whole.Release()
	NoLeaks(t, here, there)
}

func TestStackJoinsAlongANewDimension(t *testing.T) {
	pool := NewPool("test", Host(), 0)
	var parts []*Tensor
	for i := range 3 {
		p, err := pool.New(Float32, 2)
		if err != nil {
			t.Fatal(err)
		}
		copy(p.Float32s(), []float32{float32(i), float32(-i)})
		parts = append(parts, p)
	}
	whole, err := Stack(pool, parts...)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(whole.Shape(), []int{3, 2}) || !slices.Equal(whole.Float32s(), []float32{0, 0, 1, -1, 2, -2}) {
		t.Errorf("got %v of shape %v", whole.Float32s(), whole.Shape())
	}
	for _, p := range append(parts, whole) {
		p.Release()
	}
	NoLeaks(t, pool)
}

func TestPoolIsSafeForConcurrentUse(t *testing.T) {
	pool := NewPool("test", Host(), 0)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 200 {
				a, err := pool.New(Float32, 1+i%7)
				if err != nil {
					t.Error(err)
					return
				}
				b := a.Index(0)
				a.Release()
				b.Release()
			}
		})
	}
	group.Wait()
	NoLeaks(t, pool)
}

func TestBFloat16RoundsToNearestEven(t *testing.T) {
	for _, c := range []struct {
		in   uint32
		want uint16
	}{
		{0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81}, {0x7f7fffff, 0x7f80}, {0xff800000, 0xff80}, {0x80000000, 0x8000},
	} {
		if got := ToBFloat16(math.Float32frombits(c.in)); got != c.want {
			t.Errorf("%08x: got %04x, want %04x", c.in, got, c.want)
		}
	}
	if b := ToBFloat16(float32(math.NaN())); !math.IsNaN(float64(FromBFloat16(b))) {
		t.Error("a NaN was rounded to a number")
	}
}
