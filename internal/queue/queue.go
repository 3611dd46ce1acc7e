// Package queue joins two goroutines with a bounded first-in first-out queue whose policy says what a full queue does: wait,
// or drop its oldest item. Drops are counted and released, so that nothing dropped is lost from sight.
//
//	q := queue.New[*frames.Frame](4, queue.DropOldest, (*frames.Frame).Release)
//	err := q.Put(ctx, frame)   // takes ownership, also when it fails
//	frame, err := q.Take(ctx)  // gives ownership; queue.ErrClosed after Close and the last item
package queue

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed is returned by Put after Close, and by Take after Close and the last item.
var ErrClosed = errors.New("queue: closed")

// Policy says what Put does when the queue is full.
type Policy uint8

const (
	Wait       Policy = iota // until there is room: a file loses nothing
	DropOldest               // at once: a live stream stays live
)

// Queue is safe for concurrent use.
type Queue[T any] struct {
	release func(T)

	mu      sync.Mutex
	policy  Policy
	items   []T // ring
	head, n int
	dropped int64
	closed  bool
	changed chan struct{} // closed and replaced at every change that somebody may wait for
}

// New returns an empty queue of the given capacity. release is called for every item that is dropped and may be nil.
func New[T any](capacity int, policy Policy, release func(T)) *Queue[T] {
	if release == nil {
		release = func(T) {}
	}
	return &Queue[T]{policy: policy, release: release, items: make([]T, capacity), changed: make(chan struct{})}
}

// Put takes ownership of item, also when it returns an error: then the item has been released.
func (q *Queue[T]) Put(ctx context.Context, item T) error {
	for {
		q.mu.Lock()
		if q.closed {
			q.mu.Unlock()
			q.release(item)
			return ErrClosed
		}
		var oldest T
		drop := q.n == len(q.items) && q.policy == DropOldest
		if drop {
			oldest = q.pop()
			q.dropped++
		}
		if q.n < len(q.items) {
			q.items[(q.head+q.n)%len(q.items)] = item
			q.n++
			q.wake()
			q.mu.Unlock()
			if drop {
				q.release(oldest)
			}
			return nil
		}
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-ctx.Done():
			q.release(item)
			return ctx.Err()
		case <-changed:
		}
	}
}

// Take waits for the oldest item and gives it to the caller.
func (q *Queue[T]) Take(ctx context.Context) (T, error) {
	for {
		q.mu.Lock()
		if q.n > 0 {
			item := q.pop()
			q.wake()
			q.mu.Unlock()
			return item, nil
		}
		closed, changed := q.closed, q.changed
		q.mu.Unlock()
		var none T
		if closed {
			return none, ErrClosed
		}
		select {
		case <-ctx.Done():
			return none, ctx.Err()
		case <-changed:
		}
	}
}

// SetPolicy changes what Put does from now on.
func (q *Queue[T]) SetPolicy(policy Policy) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.policy = policy
	q.wake() // a Put that waits may not have to
}

// Ready is closed at the next change of the queue. Take the channel first, then try TryTake, then wait: no change is missed.
func (q *Queue[T]) Ready() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.changed
}

// TryTake takes the oldest item if there is one. ended says that the queue is closed and empty.
func (q *Queue[T]) TryTake() (item T, ok, ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n == 0 {
		return item, false, q.closed
	}
	item = q.pop()
	q.wake()
	return item, true, false
}

// Close lets Take hand out what is left and then end. Closing twice is harmless.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		q.wake()
	}
}

// Discard closes the queue and releases what is left, uncounted: for an end that nobody takes from any more.
func (q *Queue[T]) Discard() {
	q.Close()
	for {
		item, ok, _ := q.TryTake()
		if !ok {
			return
		}
		q.release(item)
	}
}

// Len is the number of items waiting.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n
}

// Dropped is the number of items dropped since the start.
func (q *Queue[T]) Dropped() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

func (q *Queue[T]) pop() T {
	var none T
	item := q.items[q.head]
	q.items[q.head] = none
	q.head = (q.head + 1) % len(q.items)
	q.n--
	return item
}

func (q *Queue[T]) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}
