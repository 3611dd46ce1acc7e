package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"maskstream/internal/queue"
)

// Grace is how long Run goes on writing what is queued once its context has ended.
const Grace = 5 * time.Second

// ErrEnded is returned by Publish after End.
var ErrEnded = errors.New("sink: the results have ended")

// Fanout hands each item to every sink. Add all sinks first, then Run on a goroutine of its own; Publish and Stats are safe
// from anywhere.
type Fanout struct {
	log     *slog.Logger
	grace   time.Duration
	members []*member
}

// member is one sink behind its queue.
type member struct {
	name    string
	sink    Sink
	kinds   Kinds
	matters bool // Options.Policy waits

	in      *queue.Queue[Item]
	written atomic.Int64
	lost    atomic.Int64 // dropped by other causes than a full queue
	failure atomic.Pointer[error]
}

// NewFanout has no sinks yet.
func NewFanout(log *slog.Logger) *Fanout { return &Fanout{log: log, grace: Grace} }

// Add takes ownership of the sink: Run closes it. The name stands in errors, logs and metrics. Not after Run.
func (f *Fanout) Add(name string, s Sink, o Options) {
	if o.Capacity == 0 {
		o.Capacity = 16
	}
	f.members = append(f.members, &member{
		name: name, sink: s, kinds: o.Kinds, matters: o.Policy == queue.Wait,
		in: queue.New(o.Capacity, o.Policy, Item.Release),
	})
}

// Publish takes ownership of the item. It waits where a sink that waits is full; the error is ctx's, the failure of such a
// sink, or ErrEnded.
func (f *Fanout) Publish(ctx context.Context, item Item) error {
	defer item.Release()
	for _, m := range f.members {
		part, ok := m.kinds.wanted(item)
		if !ok {
			continue
		}
		err := m.in.Put(ctx, part.Retain())
		failure := m.failure.Load()
		switch {
		case err == nil:
		case !errors.Is(err, queue.ErrClosed):
			return err
		case failure == nil:
			return ErrEnded
		case m.matters:
			return *failure
		default:
			m.lost.Add(1)
		}
	}
	return nil
}

// End says that no item comes any more.
func (f *Fanout) End() {
	for _, m := range f.members {
		m.in.Close()
	}
}

// Run writes until End, or until ctx ends, then writes what is queued and closes every sink, for Grace at most after the end
// of ctx. The error joins those of sinks whose loss matters and of closing.
func (f *Fanout) Run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		f.End()
		timer := time.AfterFunc(f.grace, cancel)
		context.AfterFunc(work, func() { timer.Stop() })
	})
	defer stop()

	var group sync.WaitGroup
	errs := make([]error, len(f.members))
	for i, m := range f.members {
		group.Go(func() { errs[i] = f.run(work, m) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// run is one sink's goroutine.
func (f *Fanout) run(ctx context.Context, m *member) error {
	err := m.pump(ctx)
	if err != nil {
		err = fmt.Errorf("sink %s: %w", m.name, err)
		m.failure.Store(&err)
	}
	m.in.Close()
	m.lost.Add(int64(m.in.Len()))
	m.in.Discard()
	closing := m.sink.Close(ctx)
	switch {
	case err == nil && closing == nil:
		return nil
	case err == nil:
		err = fmt.Errorf("sink %s: %w", m.name, closing)
		m.failure.Store(&err)
	}
	if m.matters {
		return err
	}
	f.log.Error("sink failed", "sink", m.name, "error", err)
	return nil
}

func (m *member) pump(ctx context.Context) error {
	for {
		ready := m.in.Ready()
		item, ok, ended := m.in.TryTake()
		if ended {
			return nil
		}
		if ok {
			err := m.sink.Write(ctx, item)
			item.Release()
			if err != nil {
				m.lost.Add(1)
				return err
			}
			m.written.Add(1)
		}
		due := m.sink.Due()
		if now := time.Now(); !due.IsZero() && !now.Before(due) {
			if err := m.sink.Flush(ctx, now); err != nil {
				return err
			}
			continue
		}
		if ok {
			if ctx.Err() != nil {
				return nil // the grace has ended: what is left is counted as lost
			}
			continue
		}
		if err := wait(ctx, ready, due); err != nil {
			return nil
		}
	}
}

func wait(ctx context.Context, ready <-chan struct{}, due time.Time) error {
	var alarm <-chan time.Time
	if !due.IsZero() {
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-ready:
	case <-alarm:
	}
	return nil
}

// Stats says what each sink did, in the order of Add.
func (f *Fanout) Stats() []Stats {
	all := make([]Stats, len(f.members))
	for i, m := range f.members {
		all[i] = Stats{
			Name: m.name, Queued: m.in.Len(), Written: m.written.Load(), Dropped: m.in.Dropped() + m.lost.Load(), Failed: m.failure.Load() != nil,
		}
		if d, ok := m.sink.(dropper); ok {
			all[i].Dropped += d.Dropped()
		}
	}
	return all
}
