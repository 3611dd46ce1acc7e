package sink

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"maskstream/configs"
	"maskstream/rle"
)

// StreamOptions is how one stream is published.
type StreamOptions struct {
	Prefix string // first tokens of every subject
	Stream string // one token
	Frames bool   // also whole frames of results
	Batch  rle.Limits
	Store  *Store // where results and events are stored; nil publishes them live
	Hold   bool   // with a store: wait while much waits in it, instead of dropping what is oldest there
}

// NATS publishes one stream: a batch per object on <prefix>.<stream>.object.<id>, frames of results, events, status. Its
// goroutine is the only one that may wait for the socket.
type NATS struct {
	options StreamOptions
	kept    outlet // of results and events
	live    outlet // of status, which is worth nothing later

	batcher *rle.Batcher
	dropped atomic.Int64 // results
}

// outlet is a way for messages of one stream to leave.
type outlet interface {
	// up says whether encoding is worth it; where it is not, so many messages count as dropped.
	up(messages int) bool
	// room is how many bytes of data one message may have; 0: any number.
	room() int
	// send takes what was encoded for <prefix>.<stream>.<kind>, in order, or the error of encoding. False says that it is lost, which is
	// counted.
	send(ctx context.Context, kind string, messages []rle.Message, encoding error) bool
}

// NewNATS publishes over a connection that others share; it refuses names that are no subject tokens.
func NewNATS(connection *Connection, o StreamOptions) (*NATS, error) {
	// The client library lets wildcards and empty tokens through.
	if err := errors.Join(configs.CheckStreamName(o.Stream), configs.CheckPrefix(o.Prefix)); err != nil {
		return nil, fmt.Errorf("NATS subject: %w", err)
	}
	base := o.Prefix + "." + o.Stream + "."
	n := &NATS{options: o, live: &liveOutlet{connection, base}, batcher: rle.NewBatcher(o.Batch)}
	n.kept = n.live
	if o.Store != nil {
		n.kept = &storeOutlet{o.Store, base, o.Hold}
	}
	return n, nil
}

// Write publishes what the item completes. What cannot go out is dropped and counted; no such thing ends the sink.
func (n *NATS) Write(ctx context.Context, item Item) error {
	switch {
	case item.Result != nil:
		sent := n.batches(ctx, n.batcher.Add(item.Result, time.Now()))
		if n.options.Frames {
			sent = n.frame(ctx, item.Result) && sent
		}
		if !sent {
			n.dropped.Add(1)
		}
	case item.Event != nil:
		n.batches(ctx, n.removed(item.Event)) // its last masks, and then the news
		if n.kept.up(1) {
			message, err := rle.EncodeEvent(*item.Event, n.kept.room())
			n.kept.send(ctx, "event", []rle.Message{message}, err)
		}
	case item.Status != nil && n.live.up(1):
		data, err := rle.Marshal(item.Status)
		n.live.send(ctx, "status", []rle.Message{{Data: data}}, err)
	}
	return nil
}

// Dropped is how many results did not go out, or not whole. Of results that waited in a batch, those of the longest one count.
func (n *NATS) Dropped() int64 { return n.dropped.Load() }

// removed is the batch of an object that an event says is gone.
func (n *NATS) removed(event *rle.Event) []rle.Batch {
	if event.Type != rle.ObjectRemoved || event.Object == nil {
		return nil
	}
	return n.batcher.End(*event.Object)
}

// Due is when the oldest batch has its age.
func (n *NATS) Due() time.Time {
	due, ok := n.batcher.NextDue()
	if !ok {
		return time.Time{}
	}
	return due
}

// Flush publishes the batches that have their age.
func (n *NATS) Flush(ctx context.Context, now time.Time) error {
	n.waited(ctx, n.batcher.Due(now))
	return nil
}

// Close publishes the batches that are open. The connection and the store stay.
func (n *NATS) Close(ctx context.Context) error {
	n.waited(ctx, n.batcher.Flush())
	return nil
}

// waited publishes batches whose results were written before.
func (n *NATS) waited(ctx context.Context, batches []rle.Batch) {
	longest := 0
	for _, b := range batches {
		longest = max(longest, len(b.Masks))
	}
	if !n.batches(ctx, batches) {
		n.dropped.Add(int64(longest))
	}
}

// batches says whether all of them have gone out.
func (n *NATS) batches(ctx context.Context, batches []rle.Batch) bool {
	if len(batches) == 0 {
		return true
	}
	if !n.kept.up(len(batches)) {
		return false
	}
	sent := true
	for _, batch := range batches {
		messages, err := rle.EncodeBatch(batch, n.kept.room())
		sent = n.kept.send(ctx, "object."+strconv.Itoa(batch.Object), messages, err) && sent
	}
	return sent
}

func (n *NATS) frame(ctx context.Context, frame *rle.Frame) bool {
	if !n.kept.up(1) {
		return false
	}
	messages, err := rle.EncodeFrame(frame, n.kept.room())
	return n.kept.send(ctx, "frame", messages, err)
}
