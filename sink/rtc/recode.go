package rtc

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"maskstream/frames"
	"maskstream/internal/queue"
)

// Encoder codes pictures for a browser. One goroutine calls it.
type Encoder interface {
	// Encode borrows the picture. key asks for one that is decodable without those before.
	Encode(p *frames.Picture, key bool) (*frames.Coded, error)
	// Close frees what is open; Encode opens it again.
	Close()
}

const (
	idleAfter  = 5 * time.Second        // without a picture the encoder is freed
	keyEvery   = 300 * time.Millisecond // key pictures on demand, at most
	recodeRoom = 2                      // pictures that wait for the encoder
)

// recoder codes a stream's pictures again, for all viewers of one codec, while one of them needs it.
type recoder struct {
	encoder Encoder
	log     *slog.Logger
	deliver func(*picture)

	in      *queue.Queue[*frames.Picture]
	wantKey atomic.Bool
	idle    atomic.Bool // nobody needed it at the last picture
}

func newRecoder(e Encoder, log *slog.Logger, deliver func(*picture)) *recoder {
	r := &recoder{encoder: e, log: log, deliver: deliver, in: queue.New(recodeRoom, queue.DropOldest, (*frames.Picture).Release)}
	r.idle.Store(true)
	return r
}

// put borrows the picture and does not wait.
func (r *recoder) put(p *frames.Picture) {
	if r.idle.Swap(false) {
		r.wantKey.Store(true) // what came before was not coded
	}
	_ = r.in.Put(context.Background(), p.Retain()) // an error says that the stream has ended
}

// run codes until the queue is closed.
func (r *recoder) run() {
	defer r.encoder.Close()
	packets := newPacketizer()
	var lastKey time.Time
	complaint := ""
	for {
		p, ok := r.take()
		if !ok {
			return
		}
		if p == nil {
			r.encoder.Close()
			continue
		}
		now := time.Now()
		key := now.Sub(lastKey) >= keyEvery && r.wantKey.Swap(false)
		coded, err := r.encoder.Encode(p, key)
		stamp := p.Meta.RTP
		p.Release()
		if err != nil {
			if complaint != err.Error() {
				complaint = err.Error()
				r.log.Warn("a preview picture failed", "error", err)
			}
			continue
		}
		if coded.Key {
			lastKey = now
		}
		r.deliver(packets.picture(coded, stamp, now, false))
	}
}

// take waits for a picture; nil says that none has come for a while.
func (r *recoder) take() (p *frames.Picture, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), idleAfter)
	defer cancel()
	p, err := r.in.Take(ctx)
	switch {
	case err == nil:
		return p, true
	case ctx.Err() != nil:
		return nil, true
	}
	return nil, false
}
