package integration

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/transport/v5"
	"github.com/pion/webrtc/v4"

	"maskstream/rle"
)

// whepClient is a viewer without a browser.
type whepClient struct {
	t        *testing.T
	pc       *webrtc.PeerConnection
	delete   func() // ends the session as WHEP says
	location string

	mu       sync.Mutex
	arrivals []any // what came, in order: viewed and *rle.Frame
	parts    map[uint32][][]byte
	messages int
	channel  *webrtc.DataChannel
	changed  chan struct{} // closed and replaced with every arrival
}

// viewed is one picture that came.
type viewed struct {
	rtp  uint32
	nals [][]byte // of H.264; the whole frame of VP8
	key  bool
}

// whepOptions are what a client is like.
type whepOptions struct {
	codecs []webrtc.RTPCodecParameters // nil: constrained baseline H.264
	plain  bool                        // takes no data channels
	net    transport.Net
	deaf   func() bool // while true, nothing is read from the channel and the track

	smallWindow bool // takes little before it has read that
}

func h264Codec(number uint8, profile string) webrtc.RTPCodecParameters {
	return webrtc.RTPCodecParameters{PayloadType: webrtc.PayloadType(number), RTPCodecCapability: webrtc.RTPCodecCapability{
		MimeType: webrtc.MimeTypeH264, ClockRate: 90000, SDPFmtpLine: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=" + profile,
		RTCPFeedback: []webrtc.RTCPFeedback{{Type: "nack"}, {Type: "nack", Parameter: "pli"}},
	}}
}

var vp8Codec = webrtc.RTPCodecParameters{PayloadType: 96, RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000,
	RTCPFeedback: []webrtc.RTCPFeedback{{Type: "nack"}, {Type: "nack", Parameter: "pli"}}}}

// newWHEPClient makes a client and its offer.
func newWHEPClient(t *testing.T, o whepOptions) (c *whepClient, offer string) {
	t.Helper()
	if o.codecs == nil {
		o.codecs = []webrtc.RTPCodecParameters{h264Codec(102, "42e01f")}
	}
	media, chain := &webrtc.MediaEngine{}, &interceptor.Registry{}
	for _, codec := range o.codecs {
		if err := media.RegisterCodec(codec, webrtc.RTPCodecTypeVideo); err != nil {
			t.Fatal(err)
		}
	}
	if err := webrtc.RegisterDefaultInterceptors(media, chain); err != nil {
		t.Fatal(err)
	}
	settings := webrtc.SettingEngine{}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetICETimeouts(5*time.Second, 10*time.Second, time.Second)
	settings.DetachDataChannels()
	if o.smallWindow {
		settings.SetSCTPMaxReceiveBufferSize(8 << 10)
	}
	if o.net != nil {
		settings.SetNet(o.net)
	}
	pc, err := webrtc.NewAPI(webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(chain), webrtc.WithSettingEngine(settings)).NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		t.Fatal(err)
	}
	c = &whepClient{t: t, pc: pc, parts: map[uint32][][]byte{}, changed: make(chan struct{}), delete: func() {}}
	t.Cleanup(func() { pc.Close() })
	if _, err := pc.AddTransceiverFromKind(webrtc.RTPCodecTypeVideo, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}); err != nil {
		t.Fatal(err)
	}
	if !o.plain {
		if _, err := pc.CreateDataChannel("", nil); err != nil {
			t.Fatal(err)
		}
	}
	deaf := o.deaf
	if deaf == nil {
		deaf = func() bool { return false }
	}
	pc.OnDataChannel(func(d *webrtc.DataChannel) {
		d.OnOpen(func() {
			raw, err := d.Detach()
			if err != nil {
				t.Error(err)
				return
			}
			c.mu.Lock()
			c.channel = d
			c.mu.Unlock()
			go c.readChannel(raw, deaf)
		})
	})
	pc.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) { go c.readTrack(track, deaf) })
	description, err := pc.CreateOffer(nil)
	if err != nil {
		t.Fatal(err)
	}
	gathered := webrtc.GatheringCompletePromise(pc)
	if err := pc.SetLocalDescription(description); err != nil {
		t.Fatal(err)
	}
	<-gathered
	return c, pc.LocalDescription().SDP
}

func (c *whepClient) answer(text string) {
	c.t.Helper()
	if err := c.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: text}); err != nil {
		c.t.Fatal(err)
	}
}

// watch opens a stream of a service; query begins with ? where there is one.
func (s *service) watch(t *testing.T, stream, query string, o whepOptions) *whepClient {
	t.Helper()
	c, offer := newWHEPClient(t, o)
	status, header, answer := s.post(t, "/whep/"+stream+query, offer)
	if status != http.StatusCreated || header.Get("Content-Type") != "application/sdp" || header.Get("ETag") == "" {
		t.Fatalf("WHEP answers %d %v: %s", status, header, answer)
	}
	c.location = header.Get("Location")
	c.delete = func() { s.request(t, "DELETE", c.location, "", nil) }
	c.answer(answer)
	return c
}

// post sends an offer.
func (s *service) post(t *testing.T, path, offer string) (status int, header http.Header, body string) {
	t.Helper()
	response, err := http.Post(s.page+path, "application/sdp", strings.NewReader(offer))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

func (c *whepClient) readChannel(raw io.Reader, deaf func() bool) {
	buffer := make([]byte, 64<<10)
	for {
		for deaf() {
			time.Sleep(20 * time.Millisecond)
		}
		n, err := raw.Read(buffer)
		if err != nil {
			return
		}
		c.take(bytes.Clone(buffer[:n]))
	}
}

// take puts the chunks of a message together.
func (c *whepClient) take(chunk []byte) {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(chunk[4*i:]) }
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages++
	if len(chunk) > 12+48<<10 {
		c.t.Errorf("a chunk of %d bytes", len(chunk))
	}
	id, index, count := word(0), word(1), word(2)
	if c.parts[id] == nil {
		c.parts[id] = make([][]byte, count)
	}
	c.parts[id][index] = chunk[12:]
	for _, part := range c.parts[id] {
		if part == nil {
			return
		}
	}
	frame := &rle.Frame{}
	if err := json.Unmarshal(bytes.Join(c.parts[id], nil), frame); err != nil {
		c.t.Error(err)
		return
	}
	delete(c.parts, id)
	if uint32(frame.Seq) != id {
		c.t.Errorf("message %d is of frame %d", id, frame.Seq)
	}
	c.arrived(frame)
}

// arrived notes something; the client is locked.
func (c *whepClient) arrived(what any) {
	c.arrivals = append(c.arrivals, what)
	close(c.changed)
	c.changed = make(chan struct{})
}

// until waits until enough has come, and returns all of it.
func (c *whepClient) until(what string, enough func(pictures []viewed, frames []*rle.Frame) bool) (pictures []viewed, frames []*rle.Frame) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 60*time.Second)
	defer cancel()
	seen := 0
	for {
		c.mu.Lock()
		for _, a := range c.arrivals[seen:] {
			switch a := a.(type) {
			case viewed:
				pictures = append(pictures, a)
			case *rle.Frame:
				frames = append(frames, a)
			}
		}
		seen = len(c.arrivals)
		changed := c.changed
		c.mu.Unlock()
		if enough(pictures, frames) {
			return pictures, frames
		}
		select {
		case <-changed:
		case <-ctx.Done():
			c.t.Fatalf("waited 60 s for %s: %d pictures and %d frames of results came; the connection is %s", what, len(pictures), len(frames), c.pc.ConnectionState())
		}
	}
}

// say tells the server what was drawn, as the page does.
func (c *whepClient) say(rtp uint32) {
	c.mu.Lock()
	d := c.channel
	c.mu.Unlock()
	text, _ := json.Marshal(map[string]uint32{"drawn": rtp})
	if d != nil {
		_ = d.Send(text)
	}
}
