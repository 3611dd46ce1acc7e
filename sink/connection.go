package sink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// NATSOptions is where and as whom to publish.
type NATSOptions struct {
	URL             string // nats://, tls://, ws://, wss://; user:password@ or token@ in it; several with commas
	CredentialsFile string // a user's .creds
	TokenFile       string // read again at every reconnect, so that a token may change
	CAFile          string // PEM; empty: the system's
	Name            string // of the connection, for the server's operator
	Log             *slog.Logger
}

// Connection is one NATS connection, shared by the streams of the process. It reconnects for ever, also where the server is
// down at the start. While it is down, what is published is dropped and counted, so that no stale mask comes after an outage.
type Connection struct {
	nc     *nats.Conn
	log    *slog.Logger
	where  string        // the servers without secrets
	closed chan struct{} // by the client library

	published, bytes  atomic.Int64
	droppedDown       atomic.Int64
	droppedLarge      atomic.Int64
	droppedFailed     atomic.Int64
	reconnects        atomic.Int64
	lastComplaintUnix atomic.Int64
}

// ConnectionStats is what a connection did since the start.
type ConnectionStats struct {
	Connected  bool
	Published  int64 // messages
	Bytes      int64
	Down       int64 // messages dropped without a connection
	TooLarge   int64 // messages dropped over the server's max_payload: a bug, since batches are split
	Failed     int64 // messages dropped by other errors
	Reconnects int64
	Buffered   int // bytes not yet written to the socket
}

// errTooLarge and errDown are causes of a drop.
var (
	errTooLarge = errors.New("message is larger than the server's max_payload")
	errDown     = errors.New("no connection")
)

// Connect tries each server once, for 2 s at most, and then goes on in the background: a server that is down is no error. It
// fails only for options that can never work: no URL, a file that is not there. Errors and logs hold no secret.
func Connect(o NATSOptions) (*Connection, error) {
	where, err := checkServers(o.URL)
	if err != nil {
		return nil, err
	}
	c := &Connection{log: o.Log, where: where, closed: make(chan struct{})}
	options := []nats.Option{
		nats.Name(o.Name),
		nats.MaxReconnects(-1),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(), // a changed password or token must not end the service
		nats.CustomReconnectDelay(backOff),
		nats.PingInterval(20 * time.Second),
		nats.ReconnectBufSize(-1), // no replay
		nats.ReconnectOnFlusherError(),
		nats.ConnectHandler(func(nc *nats.Conn) { c.log.Info("NATS connected", "server", nc.ConnectedAddr()) }),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.reconnects.Add(1)
			c.log.Info("NATS connected again", "server", nc.ConnectedAddr())
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.log.Warn("NATS connection lost, masks are dropped until it is back", "server", c.where, "error", err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { c.complain("NATS does not connect, trying on", err) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.complain("NATS error", err) }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	}
	credentials, err := o.credentials()
	if err != nil {
		return nil, err
	}
	if c.nc, err = nats.Connect(o.URL, append(options, credentials...)...); err != nil {
		return nil, fmt.Errorf("NATS %s: %w", where, err)
	}
	return c, nil
}

// credentials turns files into options, after a look whether they can be read.
func (o NATSOptions) credentials() ([]nats.Option, error) {
	var options []nats.Option
	if o.CredentialsFile != "" {
		if _, err := os.ReadFile(o.CredentialsFile); err != nil {
			return nil, fmt.Errorf("NATS credentials: %w", err)
		}
		options = append(options, nats.UserCredentials(o.CredentialsFile))
	}
	if o.TokenFile != "" {
		token, err := readToken(o.TokenFile)
		if err != nil {
			return nil, err
		}
		options = append(options, nats.TokenHandler(func() string {
			if fresh, err := readToken(o.TokenFile); err == nil {
				token = fresh
			}
			return token
		}))
	}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("NATS certificate authority: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("NATS certificate authority: %s holds no PEM certificate", o.CAFile)
		}
		options = append(options, nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}))
	}
	return options, nil
}

func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("NATS token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("NATS token: %s is empty", path)
	}
	return token, nil
}

// checkServers parses the list before the client library does, whose errors quote the URL with its password.
func checkServers(list string) (withoutSecrets string, err error) {
	var hosts []string
	for server := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(server))
		if err != nil || u.Host == "" {
			return "", errors.New("NATS URL does not parse: write nats://host:4222, with special characters of user and password percent-encoded")
		}
		hosts = append(hosts, u.Scheme+"://"+u.Host)
	}
	return strings.Join(hosts, ","), nil
}

// backOff waits 0.2 s at first and 5 s at most, with jitter so that many clients do not come back at once.
func backOff(attempts int) time.Duration {
	wait := min(5*time.Second, 200*time.Millisecond<<min(attempts, 5))
	return wait*3/4 + time.Duration(time.Now().UnixNano()%int64(wait/2))
}

// complain logs at most one line every 10 s.
func (c *Connection) complain(message string, err error) {
	now, last := time.Now().Unix(), c.lastComplaintUnix.Load()
	if now-last >= 10 && c.lastComplaintUnix.CompareAndSwap(last, now) {
		c.log.Warn(message, "server", c.where, "error", err)
	}
}

// Connected says whether messages go out now.
func (c *Connection) Connected() bool { return c.nc.IsConnected() }

// Client is the connection itself, for what is no publishing of results: requests and replies. It is borrowed: Close ends it, and
// nobody else may, or set its handlers.
func (c *Connection) Client() *nats.Conn { return c.nc }

// limit is how many bytes of header and data one message may have on the server that we are connected to.
func (c *Connection) limit() int { return int(min(c.nc.MaxPayload(), 1<<20)) }

// publish sends or drops, and counts. The client library copies the message. It may wait for a full socket.
func (c *Connection) publish(m *nats.Msg) error {
	size := len(m.Data) + headerSize(m.Header)
	switch {
	case !c.nc.IsConnected():
		c.droppedDown.Add(1)
		return errDown
	case int64(size) > c.nc.MaxPayload():
		c.droppedLarge.Add(1)
		c.complain("NATS message dropped", fmt.Errorf("%s, %d bytes: %w", m.Subject, size, errTooLarge))
		return errTooLarge
	}
	if err := c.nc.PublishMsg(m); err != nil {
		if errors.Is(err, nats.ErrReconnectBufExceeded) {
			c.droppedDown.Add(1)
			return errDown
		}
		c.droppedFailed.Add(1)
		c.complain("NATS message dropped", err)
		return err
	}
	c.published.Add(1)
	c.bytes.Add(int64(size))
	return nil
}

// headerSize is what a header takes on the wire: the version line, a line each, an empty line.
func headerSize(h nats.Header) int {
	size := len("NATS/1.0\r\n") + len("\r\n")
	for key, values := range h {
		for _, value := range values {
			size += len(key) + len(": ") + len(value) + len("\r\n")
		}
	}
	return size
}

// Stats says what the connection did.
func (c *Connection) Stats() ConnectionStats {
	buffered, err := c.nc.Buffered()
	if err != nil {
		buffered = 0 // there is no socket
	}
	return ConnectionStats{
		Connected: c.nc.IsConnected(), Published: c.published.Load(), Bytes: c.bytes.Load(), Down: c.droppedDown.Load(),
		TooLarge: c.droppedLarge.Load(), Failed: c.droppedFailed.Load(), Reconnects: c.reconnects.Load(), Buffered: max(buffered, 0),
	}
}

// Close sends what the socket has not taken yet and ends the connection; without one, or when ctx ends first, the error says
// how much was lost. Close the sinks before.
func (c *Connection) Close(ctx context.Context) error {
	if !c.nc.IsConnected() {
		c.nc.Close()
		<-c.closed
		if lost := c.droppedDown.Load(); lost > 0 {
			return fmt.Errorf("NATS %s: %w at the end, %d messages were dropped", c.where, errDown, lost)
		}
		return nil
	}
	flush, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := c.nc.FlushWithContext(flush); err != nil {
		lost := c.Stats().Buffered
		c.nc.Close()
		<-c.closed
		return fmt.Errorf("NATS %s: %w with %d bytes not sent", c.where, err, lost)
	}
	if err := c.nc.Drain(); err != nil {
		c.nc.Close()
	}
	select {
	case <-c.closed:
	case <-flush.Done():
		c.nc.Close()
		<-c.closed
	}
	return nil
}
