package sink

import (
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// EmbeddedOptions is where the server listens: always on loopback, without credentials.
type EmbeddedOptions struct {
	Port       int   // 0 is 4222, and any free one where it is taken; -1 any free one
	MaxPayload int32 // 0 is the server's default of 1 MiB
	// StoreFolder turns JetStream on and is where it keeps what it stores.
	StoreFolder string
	Log         *slog.Logger
}

// Embedded is a NATS server in this process.
type Embedded struct{ server *server.Server }

// StartEmbedded starts a server and returns once it takes connections.
func StartEmbedded(o EmbeddedOptions) (*Embedded, error) {
	if o.Port == 0 {
		o.Port = 4222
	}
	if o.Port > 0 && !free(o.Port) {
		o.Log.Info("NATS port is taken, using another one", "port", o.Port)
		o.Port = server.RANDOM_PORT
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "tracker", Host: "127.0.0.1", Port: o.Port, MaxPayload: o.MaxPayload, NoSigs: true,
		JetStream: o.StoreFolder != "", StoreDir: o.StoreFolder,
	})
	if err != nil {
		return nil, fmt.Errorf("embedded NATS server: %w", err)
	}
	s.SetLoggerV2(serverLog{o.Log}, false, false, false)
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, fmt.Errorf("embedded NATS server: does not listen on 127.0.0.1:%d: set nats.url to another port", o.Port)
	}
	return &Embedded{s}, nil
}

// free says whether a port can be listened on. Somebody may take it right after; then the server says so.
func free(port int) bool {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// URL is where clients connect.
func (e *Embedded) URL() string { return "nats://" + e.server.Addr().String() }

// Shutdown ends the server and all its connections. Close what publishes first.
func (e *Embedded) Shutdown() {
	e.server.Shutdown()
	e.server.WaitForShutdown()
}

// serverLog brings the server's log into ours, quietly: its notices are news to nobody.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Warnf(format string, v ...any)   { l.log.Warn(fmt.Sprintf(format, v...)) }
func (l serverLog) Fatalf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Errorf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Debugf(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Tracef(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
