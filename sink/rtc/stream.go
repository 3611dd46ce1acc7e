package rtc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"maskstream/frames"
	"maskstream/sink"
)

// StreamOptions are what a stream's preview needs.
type StreamOptions struct {
	NewEncoder func(frames.Codec) Encoder // called once a codec
}

// Stream is the live preview of one stream: a sink for its results, and the place where its pictures are shown.
type Stream struct {
	server *Server
	name   string

	recoders [2]*recoder // by codec

	passing *packetizer // of Show's goroutine

	mu      sync.Mutex
	viewers map[*viewer]struct{} // that get pictures
	source  source

	dropped [reasons]atomic.Int64
	running sync.WaitGroup
}

// source is what is known about the pictures.
type source struct {
	passed bool   // they can go as they are
	reason string // why not
}

func newStream(s *Server, name string, o StreamOptions) *Stream {
	stream := &Stream{server: s, name: name, viewers: map[*viewer]struct{}{}, passing: newPacketizer()}
	for codec := range stream.recoders {
		r := newRecoder(o.NewEncoder(frames.Codec(codec)), s.options.Log.With("stream", name), func(p *picture) { stream.deliver(frames.Codec(codec), p) })
		stream.recoders[codec] = r
		stream.running.Go(r.run)
	}
	return stream
}

// Source says whether the source's pictures can go as they are, and if not, why.
func (s *Stream) Source(passed bool, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.source = source{passed, reason}
}

// Show borrows a picture that has just been decoded, with its Meta complete. It does not wait; one goroutine calls it.
func (s *Stream) Show(p *frames.Picture) {
	s.mu.Lock()
	if len(s.viewers) == 0 {
		s.mu.Unlock()
		s.idle()
		return
	}
	var coded *picture
	if p.Coded != nil {
		coded = s.passing.picture(p.Coded, p.Meta.RTP, time.Now(), true)
	}
	var needed [len(s.recoders)]bool
	for v := range s.viewers {
		switch {
		case coded != nil && v.offer.plays(coded.profile):
			v.deliver(event{picture: coded})
			if coded.key {
				v.passing.Store(true)
			}
		default:
			v.passing.Store(false)
		}
		if !v.passing.Load() {
			needed[v.offer.codec] = true
		}
	}
	s.mu.Unlock()
	for codec, r := range s.recoders {
		if needed[codec] {
			r.put(p)
		} else {
			r.idle.Store(true)
		}
	}
}

func (s *Stream) idle() {
	for _, r := range s.recoders {
		r.idle.Store(true)
	}
}

// deliver gives a coded picture to the viewers that need it.
func (s *Stream) deliver(codec frames.Codec, p *picture) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.viewers {
		if v.offer.codec == codec {
			v.deliver(event{picture: p})
		}
	}
}

// Write gives a frame of results to every viewer.
func (s *Stream) Write(_ context.Context, item sink.Item) error {
	if item.Result == nil {
		return nil
	}
	m := &message{frame: item.Result}
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range s.viewers {
		v.deliver(event{masks: m})
	}
	return nil
}

// Due is never: results do not wait here.
func (s *Stream) Due() time.Time { return time.Time{} }

// Flush does nothing.
func (s *Stream) Flush(context.Context, time.Time) error { return nil }

// Close sends the viewers away and ends the encoders. Show may still be called, and does nothing.
func (s *Stream) Close(context.Context) error {
	s.server.remove(s)
	for _, r := range s.recoders {
		r.in.Discard()
	}
	s.running.Wait()
	return nil
}

func (s *Stream) join(v *viewer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-v.done:
	default:
		s.viewers[v] = struct{}{}
	}
}

func (s *Stream) leave(v *viewer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.viewers, v)
}
