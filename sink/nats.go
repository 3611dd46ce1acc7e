package sink

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"maskstream/configs"
	"maskstream/rle"
)

// headerRoom is kept free of every message for its header: Content-Type and a Nats-Msg-Id of a stream name of 64 bytes and
// five numbers.
const headerRoom = 512

// StreamOptions is how one stream is published.
type StreamOptions struct {
	Prefix string // first tokens of every subject
	Stream string // one token
	Frames bool   // also whole frames of results
	Batch  rle.Limits
}

// NATS publishes one stream: a batch per object on <prefix>.<stream>.object.<id>, frames of results, events, status. Its
// goroutine is the only one that may wait for the socket.
type NATS struct {
	connection *Connection
	options    StreamOptions
	base       string // <prefix>.<stream>.

	batcher *rle.Batcher
}

// NewNATS publishes over a connection that others share; it refuses names that are no subject tokens.
func NewNATS(connection *Connection, o StreamOptions) (*NATS, error) {
	// The client library lets wildcards and empty tokens through.
	if err := errors.Join(configs.CheckStreamName(o.Stream), configs.CheckPrefix(o.Prefix)); err != nil {
		return nil, fmt.Errorf("NATS subject: %w", err)
	}
	return &NATS{connection: connection, options: o, base: o.Prefix + "." + o.Stream + ".", batcher: rle.NewBatcher(o.Batch)}, nil
}

// Write publishes what the item completes. What cannot go out now is dropped and counted by the connection; no such thing
// ends the sink.
func (n *NATS) Write(_ context.Context, item Item) error {
	switch {
	case item.Result != nil:
		n.batches(n.batcher.Add(item.Result, time.Now()))
		if n.options.Frames && n.up(1) {
			messages, err := rle.EncodeFrame(item.Result, n.room())
			n.send("frame", messages, err)
		}
	case item.Event != nil:
		n.batches(n.removed(item.Event)) // its last masks, and then the news
		if n.up(1) {
			message, err := rle.EncodeEvent(*item.Event, n.room())
			n.send("event", []rle.Message{message}, err)
		}
	case item.Status != nil && n.up(1):
		data, err := rle.Marshal(item.Status)
		n.send("status", []rle.Message{{Data: data}}, err)
	}
	return nil
}

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
func (n *NATS) Flush(_ context.Context, now time.Time) error {
	n.batches(n.batcher.Due(now))
	return nil
}

// Close publishes the batches that are open. The connection stays.
func (n *NATS) Close(context.Context) error {
	n.batches(n.batcher.Flush())
	return nil
}

func (n *NATS) batches(batches []rle.Batch) {
	if len(batches) == 0 || !n.up(len(batches)) {
		return
	}
	for _, batch := range batches {
		messages, err := rle.EncodeBatch(batch, n.room())
		n.send("object."+strconv.Itoa(batch.Object), messages, err)
	}
}

// up says whether encoding is worth it; without a connection the messages count as dropped.
func (n *NATS) up(messages int) bool {
	if n.connection.Connected() {
		return true
	}
	n.connection.droppedDown.Add(int64(messages))
	return false
}

// room is how many bytes of data one message may have; at least 1, since 0 would be no limit.
func (n *NATS) room() int { return max(1, n.connection.limit()-headerRoom) }

// send publishes what was encoded, in order. Parts of one thing are worth nothing without each other, so the first that
// fails ends it.
func (n *NATS) send(kind string, messages []rle.Message, encoding error) {
	if encoding != nil {
		n.connection.droppedLarge.Add(1)
		n.connection.trouble.tellOnce("NATS message dropped", encoding)
		return
	}
	for i, m := range messages {
		if len(m.Omitted) > 0 {
			n.connection.droppedLarge.Add(int64(len(m.Omitted)))
			n.connection.trouble.tellOnce("NATS frame message without some objects", fmt.Errorf("objects %v: %w", m.Omitted, errTooLarge))
		}
		header := nats.Header{"Content-Type": []string{"application/json"}}
		if m.ID != "" {
			header["Nats-Msg-Id"] = []string{m.ID}
		}
		if err := n.connection.publish(&nats.Msg{Subject: n.base + kind, Header: header, Data: m.Data}); err != nil {
			n.connection.droppedFailed.Add(int64(len(messages) - i - 1))
			return
		}
	}
}
