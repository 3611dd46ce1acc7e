package queue

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestFullLiveQueueDropsItsOldestAndReleasesIt(t *testing.T) {
	var released []int
	q := New(2, DropOldest, func(i int) { released = append(released, i) })
	for i := range 5 {
		if err := q.Put(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	if q.Dropped() != 3 || len(released) != 3 || released[0] != 0 {
		t.Errorf("dropped %d, released %v", q.Dropped(), released)
	}
	if v, err := q.Take(t.Context()); err != nil || v != 3 {
		t.Errorf("took %d, %v", v, err)
	}
}

func TestFullFileQueueWaitsAndLosesNothing(t *testing.T) {
	q := New[int](2, Wait, nil)
	var group sync.WaitGroup
	group.Go(func() {
		defer q.Close()
		for i := range 100 {
			if err := q.Put(context.Background(), i); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range 100 {
		if v, err := q.Take(t.Context()); err != nil || v != i {
			t.Fatalf("took %d, %v, want %d", v, err, i)
		}
	}
	if _, err := q.Take(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	group.Wait()
}

func TestPutThatFailsReleasesItsItem(t *testing.T) {
	released := 0
	q := New(1, Wait, func(int) { released++ })
	if err := q.Put(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := q.Put(ctx, 2); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	q.Discard()
	if err := q.Put(t.Context(), 3); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if released != 3 {
		t.Errorf("%d items released, want 3", released)
	}
}
