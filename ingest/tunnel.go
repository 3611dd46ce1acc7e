package ingest

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
)

func (t *target) rtsp() bool { return t.scheme == "rtsp" || t.scheme == "rtsps" }

// tunnelled says whether FFmpeg is led through a tunnel: it can encrypt RTSP itself, but in version 5.1 it then checks no
// certificate, and has no option for that.
func (t *target) tunnelled() bool { return t.kind == kindNetwork && t.scheme == "rtsps" }

// tunnel is one TLS connection to a camera. FFmpeg connects to its address on loopback, in plain and once, and both are joined.
// Should somebody else on this machine be quicker, they have what they could have had without us, and FFmpeg tries again.
type tunnel struct {
	listener net.Listener
	far      net.Conn
	running  sync.WaitGroup

	mu     sync.Mutex
	near   net.Conn // nil until FFmpeg has come
	closed bool
}

func openTunnel(ctx context.Context, o Options, t *target) (*tunnel, error) {
	far, err := dialTLS(ctx, o, t)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		_ = far.Close()
		return nil, &Error{Op: "opening", Source: t.shown, Kind: ErrUnreachable, Detail: err.Error()}
	}
	n := &tunnel{listener: listener, far: far}
	n.running.Go(n.run)
	return n, nil
}

// through is what FFmpeg is given instead of the camera's address.
func (t *target) through(n *tunnel) string {
	_, path, _ := strings.Cut(strings.TrimPrefix(t.bare, t.scheme+"://"), "/")
	return "rtsp://" + t.login + n.listener.Addr().String() + "/" + path
}

func (n *tunnel) run() {
	near, err := n.listener.Accept()
	_ = n.listener.Close()
	if err != nil || !n.join(near) {
		return
	}
	n.running.Go(func() {
		_, _ = io.Copy(n.far, near)
		n.end()
	})
	_, _ = io.Copy(near, n.far)
	n.end()
}

// join takes the connection over, unless the tunnel has been closed.
func (n *tunnel) join(near net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		_ = near.Close()
		return false
	}
	n.near = near
	return true
}

// end closes both sides: where one has ended, the other has nothing left to say.
func (n *tunnel) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	_ = errors.Join(n.listener.Close(), n.far.Close())
	if n.near != nil {
		_ = n.near.Close()
	}
}

// close ends the tunnel and waits until nothing of it is left.
func (n *tunnel) close() {
	n.end()
	n.running.Wait()
}
