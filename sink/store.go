package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"maskstream/internal/spool"
	"maskstream/rle"
)

// StoreOptions is where results and events are stored.
type StoreOptions struct {
	Connection *Connection // borrowed
	Prefix     string      // first tokens of every subject
	Stream     StoredStream
	Folder     string // of the spool: what JetStream has not taken yet
	Bytes      int64  // of the spool at most
	Log        *slog.Logger
}

// Store publishes to JetStream: at least once, in order, and without duplicates, which the server recognises by their
// Nats-Msg-Id within its window of two minutes. Everything goes through a spool on disk, from which one goroutine publishes with a
// bounded number on the way and deletes what is acknowledged. So an outage costs nothing, nor does a death of this process,
// until the spool is full; then the oldest goes and is counted.
//
// The streams of the process share it. Run publishes; Close, after the sinks, waits for what is left.
type Store struct {
	connection *Connection
	js         jetstream.JetStream
	options    StoreOptions
	spool      *spool.Spool

	stored, again, failed atomic.Int64
	trouble               atomic.Pointer[error] // why nothing is stored now
}

// StoreStats is what a store did since the start.
type StoreStats struct {
	Stored  int64 // messages that the server has acknowledged
	Again   int64 // of these, messages that it had already: their first acknowledgement was lost
	Failed  int64 // things that could not be kept, or that the server will never take
	Dropped int64 // things that left the full spool for newer ones
	Waiting int64 // things in the spool
	Bytes   int64 // of the spool
}

const (
	onTheWay    = 256              // messages that are published and not acknowledged
	ackTimeout  = 10 * time.Second // a server that is busy takes its time
	storeRetry  = time.Second
	heldBack    = 1 << 20 // bytes in the spool above which a source that can wait waits; of a small spool, a quarter
	mostPending = 16 * onTheWay
)

// OpenStore takes up the spool. It fails where the folder cannot be used, and leaves the server to Run.
func OpenStore(o StoreOptions) (*Store, error) {
	js, err := jetstream.New(o.Connection.nc, jetstream.WithPublishAsyncMaxPending(mostPending), jetstream.WithPublishAsyncTimeout(ackTimeout))
	if err != nil {
		return nil, fmt.Errorf("NATS JetStream: %w", err)
	}
	disk, err := spool.Open(o.Folder, o.Bytes)
	if err != nil {
		return nil, err
	}
	if stats := disk.Stats(); stats.Records > 0 || stats.Broken > 0 {
		o.Log.Info("what the last run could not store goes out now", "messages", stats.Records, "damaged_files", stats.Broken, "folder", o.Folder)
	}
	return &Store{connection: o.Connection, js: js, options: o, spool: disk}, nil
}

// Run publishes what is put until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	up := s.connection.nc.StatusChanged(nats.CONNECTED)
	defer s.connection.nc.RemoveStatusListener(up)
	for ctx.Err() == nil {
		err := s.publish(ctx, false)
		s.trouble.Store(&err)
		if err == nil || ctx.Err() != nil {
			continue
		}
		if !errors.Is(err, errDown) { // which the connection tells
			s.connection.trouble.tell("NATS JetStream takes nothing, it waits on disk", err)
		}
		select {
		case <-ctx.Done():
		case <-up:
		case <-time.After(storeRetry):
		}
	}
	return nil
}

// Ready says why nothing is stored now.
func (s *Store) Ready() error {
	if err := s.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// Stats says what the store did.
func (s *Store) Stats() StoreStats {
	disk := s.spool.Stats()
	return StoreStats{Stored: s.stored.Load(), Again: s.again.Load(), Failed: s.failed.Load(), Dropped: disk.Dropped, Waiting: disk.Records, Bytes: disk.Bytes}
}

// Close stores what is left until ctx ends; the error says how much waits on disk for the next run.
func (s *Store) Close(ctx context.Context) error {
	err := s.publish(ctx, true)
	waiting := s.spool.Stats().Records
	closing := s.spool.Close()
	if waiting > 0 {
		err = fmt.Errorf("NATS JetStream: %d messages wait in %s for the next run: %w", waiting, s.options.Folder, cmp.Or(err, errDown))
	}
	return errors.Join(err, closing)
}

// storeOutlet keeps what it is given until JetStream has it.
type storeOutlet struct {
	store *Store
	base  string // <prefix>.<stream>.
	hold  bool
}

func (o *storeOutlet) up(int) bool { return true }

// room is any: what is too large for the server is split when it is published, since the server may be another one then.
func (o *storeOutlet) room() int { return 0 }

func (o *storeOutlet) send(ctx context.Context, kind string, messages []rle.Message, encoding error) bool {
	if encoding != nil {
		o.store.connection.tooLarge(encoding)
		return false
	}
	kept := true
	for _, m := range messages {
		kept = o.store.put(ctx, letter{o.base + kind, m.ID, m.Data}, o.hold) && kept
	}
	return kept
}

// put keeps a letter. With hold it waits first, while much is in the spool and ctx has not ended.
func (s *Store) put(ctx context.Context, l letter, hold bool) bool {
	for hold {
		changed := s.spool.Changed()
		if s.spool.Stats().Waiting < min(heldBack, s.options.Bytes/4) {
			break
		}
		select {
		case <-ctx.Done():
			hold = false
		case <-changed:
		}
	}
	before := s.spool.Stats().Dropped
	if err := s.spool.Append(l.pack()); err != nil {
		s.failed.Add(1)
		s.connection.trouble.tellOnce("a message could not be kept for NATS JetStream and is lost", err)
		return false
	}
	if s.spool.Stats().Dropped > before {
		s.connection.trouble.tellOnce("the spool is full, the oldest messages are lost", fmt.Errorf("%s has %d bytes: raise nats.spool.bytes", s.options.Folder, s.options.Bytes))
	}
	return true
}
