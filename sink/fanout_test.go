package sink

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"maskstream/internal/queue"
	"maskstream/rle"
)

// recorder keeps what it was given, each time after gate allows it.
type recorder struct {
	gate   chan struct{} // nil: at once
	failAt int           // the n-th write fails, from 1

	mu      sync.Mutex
	items   []Item
	due     time.Time
	flushed int
	closed  int
}

var errBroken = errors.New("broken")

func (r *recorder) Write(ctx context.Context, item Item) error {
	if r.gate != nil {
		select {
		case <-r.gate:
		case <-ctx.Done():
			return nil
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	item.Picture = nil
	r.items = append(r.items, item)
	if len(r.items) == r.failAt {
		return errBroken
	}
	return nil
}

func (r *recorder) Due() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.due
}

func (r *recorder) Flush(context.Context, time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushed++
	r.due = time.Time{}
	return nil
}

func (r *recorder) Close(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed++
	return nil
}

func (r *recorder) seqs() (seqs []int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range r.items {
		seqs = append(seqs, i.Result.Seq)
	}
	return seqs
}

// start runs the fanout and returns what Run will say.
func start(ctx context.Context, f *Fanout) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	return ended
}

func TestEndWritesWhatIsQueuedInOrderAndReleasesEveryPicture(t *testing.T) {
	noGoroutinesLeft(t)
	var pool pictures
	file, live := &recorder{}, &recorder{}
	f := NewFanout(quiet())
	f.Add("file", file, Options{Capacity: 2, Policy: queue.Wait, Kinds: Results})
	f.Add("live", live, Options{Capacity: 100, Policy: queue.DropOldest, Kinds: Results | Pictures})
	ended := start(t.Context(), f)
	for n := range 50 {
		if err := f.Publish(t.Context(), Item{Result: result(n), Picture: pool.new(4, 4)}); err != nil {
			t.Fatal(err)
		}
	}
	f.End()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for _, r := range []*recorder{file, live} {
		seqs := r.seqs()
		if len(seqs) != 50 || seqs[0] != 0 || seqs[49] != 49 || r.closed != 1 {
			t.Errorf("written %v, closed %d times", seqs, r.closed)
		}
	}
	if err := f.Publish(t.Context(), Item{Result: result(0), Picture: pool.new(4, 4)}); !errors.Is(err, ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
	if n := pool.live.Load(); n != 0 {
		t.Errorf("%d pictures were not released", n)
	}
}

func TestSlowLiveSinkDropsItsOldestAndDelaysNobody(t *testing.T) {
	noGoroutinesLeft(t)
	var pool pictures
	slow, quick := &recorder{gate: make(chan struct{})}, &recorder{}
	f := NewFanout(quiet())
	f.Add("slow", slow, Options{Capacity: 3, Policy: queue.DropOldest, Kinds: Results | Pictures})
	f.Add("quick", quick, Options{Capacity: 3, Policy: queue.Wait, Kinds: Results})
	ended := start(t.Context(), f)
	publish := func(n int) {
		if err := f.Publish(t.Context(), Item{Result: result(n), Picture: pool.new(4, 4)}); err != nil {
			t.Fatal(err)
		}
	}
	publish(0)
	until(t, "the slow sink to hold frame 0", func() bool { return f.Stats()[0].Queued == 0 })
	for n := 1; n < 20; n++ {
		publish(n)
	}
	f.End()
	close(slow.gate)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := slow.seqs(); len(got) != 4 || got[0] != 0 || got[1] != 17 || got[3] != 19 {
		t.Errorf("slow sink got %v, want 0 and the newest three", got)
	}
	if s := f.Stats(); len(quick.seqs()) != 20 || s[0].Dropped != 16 || s[0].Written != 4 || s[1].Dropped != 0 || s[1].Written != 20 {
		t.Errorf("stats %+v", s)
	}
	if n := pool.live.Load(); n != 0 {
		t.Errorf("%d pictures were not released", n)
	}
}

func TestFailureOfAFileEndsPublishing(t *testing.T) {
	noGoroutinesLeft(t)
	file, live := &recorder{failAt: 2}, &recorder{}
	f := NewFanout(quiet())
	f.Add("file", file, Options{Capacity: 1, Policy: queue.Wait, Kinds: Results})
	f.Add("live", live, Options{Policy: queue.DropOldest, Kinds: Results})
	ended := start(t.Context(), f)
	var err error
	for n := 0; n < 1000 && err == nil; n++ {
		err = f.Publish(t.Context(), Item{Result: result(n)})
	}
	if !errors.Is(err, errBroken) {
		t.Errorf("publish: %v", err)
	}
	f.End()
	if err := <-ended; !errors.Is(err, errBroken) || file.closed != 1 {
		t.Errorf("run: %v, closed %d times", err, file.closed)
	}
}

func TestFailureOfALiveSinkIsCountedAndTheOthersGoOn(t *testing.T) {
	noGoroutinesLeft(t)
	broken, live := &recorder{failAt: 1}, &recorder{}
	f := NewFanout(quiet())
	f.Add("broken", broken, Options{Policy: queue.DropOldest, Kinds: Results})
	f.Add("live", live, Options{Capacity: 64, Policy: queue.DropOldest, Kinds: Results})
	ended := start(t.Context(), f)
	for n := range 30 {
		if err := f.Publish(t.Context(), Item{Result: result(n)}); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			until(t, "the failure", func() bool { return f.Stats()[0].Failed })
		}
	}
	f.End()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if s := f.Stats(); len(live.seqs()) != 30 || !s[0].Failed || s[0].Written != 0 || s[0].Dropped != 30 {
		t.Errorf("stats %+v", s)
	}
}

func TestCancelledRunStillWritesWhatIsQueued(t *testing.T) {
	noGoroutinesLeft(t)
	r := &recorder{gate: make(chan struct{}, 100)}
	f := NewFanout(quiet())
	f.Add("file", r, Options{Policy: queue.Wait, Kinds: Results})
	ctx, cancel := context.WithCancel(t.Context())
	ended := start(ctx, f)
	for n := range 10 {
		if err := f.Publish(t.Context(), Item{Result: result(n)}); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for range 10 {
		r.gate <- struct{}{}
	}
	if err := <-ended; err != nil || len(r.seqs()) != 10 || r.closed != 1 {
		t.Errorf("%v, written %v", err, r.seqs())
	}
}

func TestStuckSinkIsGivenUpAfterTheGraceAndItsItemsCount(t *testing.T) {
	noGoroutinesLeft(t)
	var pool pictures
	r := &recorder{gate: make(chan struct{})}
	f := NewFanout(quiet())
	f.grace = 20 * time.Millisecond
	f.Add("stuck", r, Options{Policy: queue.DropOldest, Kinds: Results | Pictures})
	ctx, cancel := context.WithCancel(t.Context())
	ended := start(ctx, f)
	for n := range 10 {
		if err := f.Publish(t.Context(), Item{Result: result(n), Picture: pool.new(2, 2)}); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if s := f.Stats()[0]; s.Written+s.Dropped != 10 || s.Dropped < 8 || r.closed != 1 || pool.live.Load() != 0 {
		t.Errorf("stats %+v, %d pictures live", s, pool.live.Load())
	}
}

func TestSinkIsFlushedWhenItIsDue(t *testing.T) {
	noGoroutinesLeft(t)
	r := &recorder{}
	f := NewFanout(quiet())
	f.Add("due", r, Options{Policy: queue.Wait, Kinds: Results})
	ended := start(t.Context(), f)
	r.mu.Lock()
	r.due = time.Now().Add(30 * time.Millisecond)
	r.mu.Unlock()
	if err := f.Publish(t.Context(), Item{Result: result(0)}); err != nil {
		t.Fatal(err)
	}
	until(t, "the flush", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.flushed == 1 })
	f.End()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestSinkGetsOnlyTheKindsItWants(t *testing.T) {
	var pool pictures
	picture := pool.new(2, 2)
	defer picture.Release()
	for name, c := range map[string]struct {
		kinds Kinds
		item  Item
		want  bool
	}{
		"result":                {Results, Item{Result: result(1)}, true},
		"event for results":     {Results | Pictures, Item{Event: &rle.Event{}}, false},
		"event":                 {Events, Item{Event: &rle.Event{}}, true},
		"status":                {Statuses, Item{Status: &rle.Status{}}, true},
		"status for a file":     {Results | Removals, Item{Status: &rle.Status{}}, false},
		"removal for a file":    {Results | Removals, Item{Removed: &rle.Removed{}}, true},
		"picture of no result":  {Pictures, Item{Picture: picture}, false},
		"picture with a result": {Results | Pictures, Item{Result: result(1), Picture: picture}, true},
	} {
		part, ok := c.kinds.wanted(c.item)
		if ok != c.want || ok && part != c.item {
			t.Errorf("%s: got %+v, %v", name, part, ok)
		}
	}
	if part, _ := Results.wanted(Item{Result: result(1), Picture: picture}); part.Picture != nil {
		t.Error("a sink that does not draw holds the picture")
	}
}
