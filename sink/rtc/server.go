package rtc

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/pion/transport/v5"
	"github.com/pion/webrtc/v4"
)

// Options say where viewers come in and how many. Zero values take the defaults.
type Options struct {
	UDP             string        // host:port of the one port for media; where it is taken on loopback, a free one is used
	AdditionalHosts []string      // addresses and names that browsers reach this machine by
	LowLatency      bool          // pictures do not wait for their masks, unless a viewer asks for it
	MaxViewers      int           // of all streams, 64
	Handshake       time.Duration // until a viewer has to be connected, 10 s

	Net transport.Net // instead of UDP; for tests
	Log *slog.Logger  // needed
}

// Server answers offers. Safe for concurrent use.
type Server struct {
	options  Options
	port     *port // nil with Options.Net
	settings webrtc.SettingEngine

	mu      sync.Mutex
	streams map[string]*Stream
	viewers map[string]*viewer // by their secrets
	closed  bool

	closing sync.WaitGroup // connections that are being taken down
}

// NewServer listens.
func NewServer(o Options) (*Server, error) {
	o.MaxViewers, o.Handshake = cmp.Or(o.MaxViewers, 64), cmp.Or(o.Handshake, 10*time.Second)
	s := &Server{options: o, streams: map[string]*Stream{}, viewers: map[string]*viewer{}}
	if o.Net != nil {
		s.settings = webrtc.SettingEngine{LoggerFactory: loggers{o.Log}}
		s.settings.SetNet(o.Net)
		commonSettings(&s.settings)
		return s, nil
	}
	hosts, err := resolve(o.AdditionalHosts)
	if err != nil {
		return nil, err
	}
	if s.port, err = listen(o); err != nil {
		return nil, err
	}
	if s.settings, err = s.port.settings(hosts, o.Log); err != nil {
		return nil, errors.Join(err, s.port.mux.Close())
	}
	return s, nil
}

// Address is host:port of the port for media, empty with Options.Net.
func (s *Server) Address() string {
	if s.port == nil {
		return ""
	}
	return s.port.address
}

// Loopback says that nobody on another machine can see the preview.
func (s *Server) Loopback() bool { return s.port != nil && s.port.loopback }

// Add makes a stream known, in place of an older one of the same name. Closing it takes it out again.
func (s *Server) Add(name string, o StreamOptions) *Stream {
	stream := newStream(s, name, o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[name] = stream
	return stream
}

// remove forgets a stream and sends its viewers away.
func (s *Server) remove(stream *Stream) {
	s.mu.Lock()
	if s.streams[stream.name] == stream {
		delete(s.streams, stream.name)
	}
	var gone []*viewer
	for _, v := range s.viewers {
		if v.stream == stream {
			gone = append(gone, v)
		}
	}
	s.mu.Unlock()
	for _, v := range gone {
		v.close("the stream has ended")
	}
}

// Open answers a client's offer. The session is the secret that Trickle and Close know the viewer by. The query is that of WHEP's
// address: mode=locked or low-latency, format=batches, objects=1,2.
func (s *Server) Open(ctx context.Context, name, text string, query url.Values) (session, answer string, err error) {
	o, err := readOffer(text)
	if err != nil {
		return "", "", err
	}
	w, err := readWishes(query, !s.options.LowLatency)
	if err != nil {
		return "", "", err
	}
	v, err := s.enter(name, o, w)
	if err != nil {
		return "", "", err
	}
	if answer, err = v.negotiate(ctx, text); err != nil {
		v.close("the offer could not be answered")
		return "", "", err
	}
	go v.run()
	return v.secret, answer, nil
}

// enter makes room for a viewer.
func (s *Server) enter(name string, o *offer, w wishes) (*viewer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stream, known := s.streams[name]
	switch {
	case s.closed:
		return nil, ErrClosed
	case !known:
		return nil, ErrNoStream
	case len(s.viewers) >= s.options.MaxViewers:
		return nil, ErrFull
	}
	v := newViewer(s, stream, rand.Text(), o, w)
	s.viewers[v.secret] = v
	return v, nil
}

// leave forgets a viewer and takes its connection down. Only its close calls this.
func (s *Server) leave(v *viewer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.viewers, v.secret)
	if v.pc == nil {
		return
	}
	s.closing.Go(func() { _ = v.pc.Close() }) // not here: pion may be the one who told us
}

func (s *Server) viewer(session string) (*viewer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.viewers[session]; ok {
		return v, nil
	}
	return nil, ErrNoSession
}

// Trickle takes more of a client's addresses.
func (s *Server) Trickle(session, fragment string) error {
	v, err := s.viewer(session)
	if err != nil {
		return err
	}
	return v.trickle(fragment)
}

// End ends a session at the client's wish.
func (s *Server) End(session string) error {
	v, err := s.viewer(session)
	if err != nil {
		return err
	}
	v.close("the client has ended it")
	return nil
}

// Viewers is how many there are, connecting ones among them.
func (s *Server) Viewers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.viewers)
}

// Close sends all viewers away and gives the port back.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	all := make([]*viewer, 0, len(s.viewers))
	for _, v := range s.viewers {
		all = append(all, v)
	}
	s.mu.Unlock()
	for _, v := range all {
		v.close("the service is ending")
	}
	s.closing.Wait()
	if s.port == nil {
		return nil
	}
	return s.port.mux.Close()
}
