package sink

import (
	"context"
	"time"

	"maskstream/internal/queue"
)

// Sink is one place where results go. The sink's goroutine in a Fanout is the only caller; nothing is called after Close.
// An error means that the sink cannot go on: a fault that passes (no connection, a slow reader) is for the sink to count.
type Sink interface {
	// Write is called for every item, in order. The item is borrowed: Retain it to keep its picture.
	Write(ctx context.Context, item Item) error
	// Due is when Flush wants to be called next, asked after every call; the zero time is never.
	Due() time.Time
	// Flush is called when Due has come, and sends what has waited long enough.
	Flush(ctx context.Context, now time.Time) error
	// Close is called once, also after an error, and sends everything that waits. When ctx ends it gives up and says what is lost.
	Close(ctx context.Context) error
}

// dropper is a sink that drops by itself, where nothing takes what it sends.
type dropper interface {
	// Dropped is how many results were lost since the start. It is called from any goroutine.
	Dropped() int64
}

// Options is how a Fanout treats one sink.
type Options struct {
	// Capacity of the queue; 0 is 16.
	Capacity int
	// Policy of the queue. A sink that waits is one whose loss matters: its failure ends Publish and Run with an error. The
	// failure of one that drops is logged, and the others go on.
	Policy queue.Policy
	// Kinds is what the sink gets.
	Kinds Kinds
}

// Stats is what a sink did since the start.
type Stats struct {
	Name    string
	Queued  int   // items waiting now
	Written int64 // items given to the sink
	Dropped int64 // items that a full queue, an end in haste, a failed sink, or one that reaches nobody lost
	Failed  bool  // the sink has ended with an error
}
