package rtc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"

	"maskstream/frames"
)

// noEncoder codes nothing: no picture comes in these tests.
type noEncoder struct{}

func (noEncoder) Encode(*frames.Picture, bool) (*frames.Coded, error) { return nil, io.EOF }
func (noEncoder) Close()                                              {}

// journal is a log that can be read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// open starts a server with the stream "gate", which ends with the test.
func open(t *testing.T, o Options) (*Server, *Stream, *journal) {
	t.Helper()
	j := &journal{}
	o.UDP, o.Log = "127.0.0.1:0", slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	stream := s.Add("gate", StreamOptions{NewEncoder: func(frames.Codec) Encoder { return noEncoder{} }})
	t.Cleanup(func() {
		if err := stream.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, stream, j
}

// clientOffer is the offer of a client that never connects.
func clientOffer(t *testing.T) string {
	t.Helper()
	pc, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	if _, err := pc.AddTransceiverFromKind(webrtc.RTPCodecTypeVideo, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}); err != nil {
		t.Fatal(err)
	}
	if _, err := pc.CreateDataChannel("", nil); err != nil {
		t.Fatal(err)
	}
	offer, err := pc.CreateOffer(nil)
	if err != nil {
		t.Fatal(err)
	}
	return offer.SDP
}

func nobodyIsLeft(t *testing.T, s *Server) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); s.Viewers() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d viewers are left", s.Viewers())
		}
	}
}

func TestViewerThatDoesNotConnectIsForgotten(t *testing.T) {
	s, _, j := open(t, Options{Handshake: 50 * time.Millisecond})
	if _, _, err := s.Open(t.Context(), "gate", clientOffer(t), nil); err != nil {
		t.Fatal(err)
	}
	nobodyIsLeft(t, s)
	if !strings.Contains(j.String(), "it did not connect in time") {
		t.Errorf("it went for another reason: %s", j)
	}
}

func TestAnswerHoldsEverythingAtOnce(t *testing.T) {
	s, _, _ := open(t, Options{})
	session, answer, err := s.Open(t.Context(), "gate", clientOffer(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(s.Address())
	for _, want := range []string{"a=candidate:", "127.0.0.1 " + port + " typ host", "H264/90000", "m=application", "a=sendonly", "a=end-of-candidates"} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer has no %q: %s", want, answer)
		}
	}
	if strings.Contains(answer, "VP8") {
		t.Error("the answer has a codec that is not sent")
	}
	if err := s.End(session); err != nil {
		t.Error(err)
	}
	if err := s.End(session); !errors.Is(err, ErrNoSession) {
		t.Errorf("it ends twice: %v", err)
	}
}

func TestAdditionalHostsAreInTheAnswer(t *testing.T) {
	s, _, _ := open(t, Options{AdditionalHosts: []string{"192.0.2.7"}})
	_, answer, err := s.Open(t.Context(), "gate", clientOffer(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"127.0.0.1 ", "192.0.2.7 "} {
		if !strings.Contains(answer, want) {
			t.Errorf("no address %s in %s", want, answer)
		}
	}
	if _, err := NewServer(Options{UDP: "127.0.0.1:0", AdditionalHosts: []string{"nowhere.invalid"}, Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "nowhere.invalid") {
		t.Errorf("a name that is not known: %v", err)
	}
}

func TestWhoCannotWatchLearnsWhy(t *testing.T) {
	s, stream, _ := open(t, Options{MaxViewers: 1})
	offer := clientOffer(t)
	if _, _, err := s.Open(t.Context(), "other", offer, nil); !errors.Is(err, ErrNoStream) {
		t.Errorf("another stream: %v", err)
	}
	if _, _, err := s.Open(t.Context(), "gate", strings.ReplaceAll(offer, "a=ice-ufrag", "a=no-ufrag"), nil); !errors.Is(err, ErrOffer) {
		t.Errorf("an offer without a user fragment: %v", err)
	}
	nobodyIsLeft(t, s)
	if _, _, err := s.Open(t.Context(), "gate", offer, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Open(t.Context(), "gate", offer, nil); !errors.Is(err, ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	if err := stream.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	nobodyIsLeft(t, s)
	if _, _, err := s.Open(t.Context(), "gate", offer, nil); !errors.Is(err, ErrNoStream) {
		t.Errorf("a stream that has ended: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Open(t.Context(), "gate", offer, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a server that has ended: %v", err)
	}
}

func TestTakenPortIsReplacedOnLoopbackOnly(t *testing.T) {
	for address, replaced := range map[string]bool{"127.0.0.1:0": true, "0.0.0.0:0": false} {
		taken, err := net.ListenPacket("udp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		s, err := NewServer(Options{UDP: taken.LocalAddr().String(), Log: slog.New(slog.DiscardHandler)})
		if replaced != (err == nil) {
			t.Errorf("%s is taken: %v", address, err)
		}
		if err == nil {
			if s.Address() == taken.LocalAddr().String() {
				t.Errorf("the server has the taken port %s", s.Address())
			}
			s.Close()
		} else if !strings.Contains(err.Error(), "another program uses this port") {
			t.Error(err)
		}
	}
}
