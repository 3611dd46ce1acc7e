package rtc

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
)

const (
	mailboxRoom  = 128         // pictures and masks
	mostBuffered = 256 << 10   // bytes on the channel; above it masks are left out
	mostUndrawn  = 2 * 90_000  // RTP ticks that a page may be behind what it was sent
	hungAfter    = time.Second // without a word of a page that is behind
	channelWait  = time.Second // for the data channel to open, before pictures go without masks
)

// event is one thing for a viewer: a picture or masks.
type event struct {
	picture *picture
	masks   *message
}

// viewer is one client. Its goroutine alone writes to the connection.
type viewer struct {
	server *Server
	stream *Stream
	secret string
	offer  *offer
	wishes wishes

	pc      *webrtc.PeerConnection // the server's lock guards that it is set
	track   *webrtc.TrackLocalStaticRTP
	channel *webrtc.DataChannel // nil where the client takes none

	// in
	mail      chan event
	connected chan struct{}
	opened    chan struct{} // the data channel
	lost      atomic.Bool   // the client asks for a key picture, or one was not delivered
	drawn     atomic.Pointer[drawn]

	passing atomic.Bool // the source's own pictures go to it, after a key one

	// of the goroutine
	hold     hold
	sequence uint16
	needKey  bool
	passed   bool   // the last picture was the source's own
	last     uint32 // RTP stamp of the last picture taken
	begun    bool

	once sync.Once
	done chan struct{}
}

// drawn is what the page said last.
type drawn struct {
	rtp uint32
	at  time.Time
}

func newViewer(s *Server, stream *Stream, secret string, o *offer, w wishes) *viewer {
	return &viewer{server: s, stream: stream, secret: secret, offer: o, wishes: w, mail: make(chan event, mailboxRoom), connected: make(chan struct{}),
		opened: make(chan struct{}), needKey: true, done: make(chan struct{})}
}

// deliver does not wait. A picture that finds no room breaks the chain of those after it.
func (v *viewer) deliver(e event) {
	select {
	case v.mail <- e:
	default:
		v.stream.dropped[dropMailbox].Add(1)
		if e.picture != nil {
			v.lost.Store(true)
		}
	}
}

// close may be called from anywhere, pion's callbacks too, and more than once.
func (v *viewer) close(why string) {
	v.once.Do(func() {
		close(v.done)
		v.stream.leave(v)
		v.server.leave(v)
		v.server.options.Log.Debug("viewer has left", "stream", v.stream.name, "why", why)
	})
}

// run is the viewer's goroutine.
func (v *viewer) run() {
	if !v.ready() {
		return
	}
	v.stream.join(v)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if due := v.hold.due(); !due.IsZero() {
			timer.Reset(time.Until(due))
		}
		select {
		case <-v.done:
			return
		case e := <-v.mail:
			if e.masks != nil {
				v.masks(e.masks)
			} else {
				v.picture(e.picture)
			}
		case now := <-timer.C:
			v.send(v.hold.overdue(now)...)
		}
	}
}

// ready waits until there is a connection, and a channel for masks if the client takes one: the first pictures would go without
// theirs.
func (v *viewer) ready() bool {
	select {
	case <-v.done:
		return false
	case <-v.connected:
	}
	if v.channel == nil {
		return true
	}
	timer := time.NewTimer(channelWait)
	defer timer.Stop()
	select {
	case <-v.done:
		return false
	case <-v.opened:
	case <-timer.C:
	}
	return true
}

// picture takes one of the two codings of each picture: the source's own from a key picture on, else the one that is made here.
func (v *viewer) picture(p *picture) {
	if v.lost.Swap(false) {
		v.needKey = true
		v.passing.Store(false) // until the source's next key picture
	}
	switch {
	case v.begun && !after(p.rtp, v.last): // the other coding of one that has gone
		return
	case p.passed && (!v.passed || v.needKey) && !p.key, !p.passed && v.passing.Load() && v.passed && !v.needKey:
		return
	case !p.passed && (v.needKey || v.passed) && !p.key:
		v.stream.recoders[v.offer.codec].wantKey.Store(true)
		return
	}
	v.needKey, v.passed, v.last, v.begun = false, p.passed, p.rtp, true
	if p.passed {
		v.passing.Store(true)
	}
	if v.wishes.locked && v.channel != nil {
		v.send(v.hold.add(p)...)
	} else {
		v.send(p)
	}
}

func (v *viewer) send(pictures ...*picture) {
	for _, p := range pictures {
		for i, payload := range p.payloads {
			header := rtp.Header{Version: 2, SequenceNumber: v.sequence, Timestamp: p.rtp, Marker: i == len(p.payloads)-1}
			v.sequence++
			_ = v.track.WriteRTP(&rtp.Packet{Header: header, Payload: payload}) // a broken connection says so itself
		}
	}
}

// masks sends a frame of results and lets the pictures go that waited for it.
func (v *viewer) masks(m *message) {
	f := m.frame
	if reason, ok := v.sendMasks(m); !ok {
		v.stream.dropped[reason].Add(1)
	}
	if !f.Past {
		v.send(v.hold.masks(f.RTP, time.Now())...)
	}
}

func (v *viewer) sendMasks(m *message) (reason, bool) {
	switch {
	case v.channel == nil || v.channel.ReadyState() != webrtc.DataChannelStateOpen:
		return 0, true
	case v.buffered() > mostBuffered:
		return dropBuffered, false
	case v.hung(m.frame.RTP):
		return dropHung, false
	}
	payload, err := m.payload(v.wishes)
	if err != nil {
		return dropSend, false
	}
	if len(payload) == 0 {
		return 0, true
	}
	for _, c := range chunks(uint32(m.frame.Seq), payload) {
		if err := v.channel.Send(c); err != nil {
			return dropSend, false
		}
	}
	return 0, true
}

func (v *viewer) buffered() uint64 {
	if v.channel == nil {
		return 0
	}
	return v.channel.BufferedAmount()
}

// hung says whether the page has stopped to draw. What waits in the browser then is not to be seen in the channel's own buffer.
func (v *viewer) hung(rtp uint32) bool {
	d := v.drawn.Load()
	return d != nil && int32(rtp-d.rtp) > mostUndrawn && time.Since(d.at) > hungAfter
}

// heard takes what the page says on the channel: {"drawn":RTP}.
func (v *viewer) heard(m webrtc.DataChannelMessage) {
	var said struct {
		Drawn *uint32 `json:"drawn"`
	}
	if json.Unmarshal(m.Data, &said) == nil && said.Drawn != nil {
		v.drawn.Store(&drawn{*said.Drawn, time.Now()})
	}
}
