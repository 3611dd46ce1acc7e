package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"
)

// ServerOptions is how the HTTP door listens and whom it lets in.
type ServerOptions struct {
	Listen       string   // host:port
	AnyPort      bool     // where the port is taken, use a free one instead of failing: for the demo
	Token        string   // clients send it as "Authorization: Bearer …"; required off loopback
	AllowOrigins []string // other pages that may use the API, "https://host[:port]"
	Checks       []Check  // of readiness, besides the streams
	Collectors   []Collector
	Live         Live // nil where there is no WebRTC preview
	Log          *slog.Logger
}

// Check is one part of the service that has to be there for it to be ready.
type Check struct {
	Name  string
	Ready func() error // quick; the error is shown, so it holds no secret
}

// Server is the HTTP door: the API, the page, previews, health and metrics.
type Server struct {
	service  *Service
	options  ServerOptions
	metrics  http.Handler
	listener net.Listener
}

// shutdownGrace is how long requests under way may take at the end.
const shutdownGrace = 3 * time.Second

// socketBuffer is small, so that a slow viewer sees a late picture and not seconds of old ones.
const socketBuffer = 256 << 10

// NewServer listens; Run serves. It refuses to listen beyond loopback without a token.
func NewServer(service *Service, o ServerOptions) (*Server, error) {
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("http.listen %q: write host:port, for example 127.0.0.1:8080", o.Listen)
	}
	if o.Token == "" && !loopback(host) {
		return nil, fmt.Errorf("http.listen %s is not loopback: set http.token_file, so that not everybody on the network steers the tracker", o.Listen)
	}
	metrics, err := newMetrics(service, o.Collectors, o.Log)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	listener, err := net.Listen("tcp", o.Listen)
	if errors.Is(err, syscall.EADDRINUSE) && o.AnyPort {
		o.Log.Info("HTTP port is taken, using another one", "listen", o.Listen)
		listener, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("http.listen %s: another program uses this port: end it, or choose another port", o.Listen)
	case err != nil:
		return nil, fmt.Errorf("http.listen: %w", err)
	}
	return &Server{service: service, options: o, metrics: metrics, listener: listener}, nil
}

// URL is where the page is.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Loopback says that only this machine reaches the page.
func (s *Server) Loopback() bool {
	host, _, err := net.SplitHostPort(s.listener.Addr().String())
	return err == nil && loopback(host)
}

// Run serves until ctx ends, lets requests under way finish, and closes what does not end by itself, such as previews.
func (s *Server) Run(ctx context.Context) error {
	server := &http.Server{
		Handler:           s.guard(s.routes()),
		BaseContext:       func(net.Listener) context.Context { return ctx }, // previews end with it
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(s.options.Log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if tcp, ok := c.(*net.TCPConn); ok {
				if err := tcp.SetWriteBuffer(socketBuffer); err != nil {
					s.options.Log.Debug("socket buffer stays as it is", "error", err)
				}
			}
			return ctx
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s.listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("http server: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	err := server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-ended
	if err != nil {
		return fmt.Errorf("http server: %w", err)
	}
	return nil
}

// Close gives the port back where Run was not called.
func (s *Server) Close() error { return s.listener.Close() }
