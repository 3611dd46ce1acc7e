package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Connection is one NATS connection, shared by the streams of the process. It reconnects for ever, also where the server is
// down at the start. While it is down, what is published is dropped and counted, so that no stale mask comes after an outage.
type Connection struct {
	nc      *nats.Conn
	log     *slog.Logger
	where   string        // the servers without secrets
	closed  chan struct{} // by the client library
	trouble trouble

	published, bytes atomic.Int64
	droppedDown      atomic.Int64
	droppedLarge     atomic.Int64
	droppedFailed    atomic.Int64
	denied           atomic.Int64
	reconnects       atomic.Int64
}

// ConnectionStats is what a connection did since the start.
type ConnectionStats struct {
	Connected  bool
	Published  int64 // messages that the server did not refuse
	Bytes      int64
	Down       int64 // messages dropped without a connection
	TooLarge   int64 // what did not go out over the server's max_payload: objects in frames of results, since batches are split
	Denied     int64 // messages refused by the server's permissions
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
	c := &Connection{log: o.Log, where: where, closed: make(chan struct{}), trouble: trouble{log: o.Log.With("server", where)}}
	options := []nats.Option{
		nats.Name(o.Name),
		nats.MaxReconnects(-1),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(), // a changed password or token must not end the service
		nats.CustomReconnectDelay(backOff),
		nats.PingInterval(20 * time.Second),
		nats.ReconnectBufSize(-1), // no replay
		nats.ReconnectOnFlusherError(),
		nats.ConnectHandler(func(nc *nats.Conn) {
			c.trouble.over()
			c.log.Info("NATS connected", "server", nc.ConnectedAddr())
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.reconnects.Add(1)
			c.trouble.over()
			c.log.Info("NATS connected again", "server", nc.ConnectedAddr())
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.log.Warn("NATS connection lost, masks are dropped until it is back", "server", c.where, "error", err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { c.trouble.tell("NATS does not connect, trying on", explain(err)) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.serverError(err) }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	}
	identity, err := o.identity()
	if err != nil {
		return nil, err
	}
	transport, err := o.transport()
	if err != nil {
		return nil, err
	}
	if c.nc, err = nats.Connect(o.URL, append(options, identity, transport)...); err != nil {
		return nil, fmt.Errorf("NATS %s: %w", where, err)
	}
	return c, nil
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

// serverError is told what the server has against us while the connection stays.
func (c *Connection) serverError(err error) {
	switch {
	case !errors.Is(err, nats.ErrPermissionViolation):
		c.trouble.tell("NATS error", explain(err))
	case strings.Contains(err.Error(), "Publish"): // one for every message
		c.denied.Add(1)
		c.trouble.tellOnce("NATS server refuses messages, which are lost: let this user publish under the prefix", err)
	default:
		c.trouble.tell("NATS server refuses a subscription, so that requests there stay without an answer: let this user subscribe", err)
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
		c.trouble.tellOnce("NATS message dropped", fmt.Errorf("%s, %d bytes: %w", m.Subject, size, errTooLarge))
		return errTooLarge
	}
	if err := c.nc.PublishMsg(m); err != nil {
		if errors.Is(err, nats.ErrReconnectBufExceeded) {
			c.droppedDown.Add(1)
			return errDown
		}
		c.droppedFailed.Add(1)
		c.trouble.tell("NATS message dropped", err)
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
		Connected: c.nc.IsConnected(), Published: c.published.Load() - c.denied.Load(), Bytes: c.bytes.Load(), Down: c.droppedDown.Load(),
		Denied: c.denied.Load(), TooLarge: c.droppedLarge.Load(), Failed: c.droppedFailed.Load(), Reconnects: c.reconnects.Load(), Buffered: max(buffered, 0),
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
