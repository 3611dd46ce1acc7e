package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"maskstream/configs"
	"maskstream/control"
	"maskstream/ingest"
	"maskstream/internal/systemd"
	"maskstream/sink/rtc"
)

func newRun() *cobra.Command {
	command := &cobra.Command{
		Use:   "run",
		Short: "The service: cameras in, masks out, preview and control",
		Long: `The service: cameras in, masks out, preview and control.

Without -c it runs the embedded demo: a moving scene as the stream "demo" whose first object is prompted by itself, an embedded
NATS server on loopback, and the preview in the browser.`,
		Args: cobra.NoArgs,
	}
	file := configFlag(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		config, err := loadConfig(command.Context(), *file)
		if err != nil {
			return err
		}
		log, err := newLogger(command.ErrOrStderr(), config.Log)
		if err != nil {
			return usageError{err}
		}
		return serve(command.Context(), config, log, *file == "")
	}
	return command
}

// endGrace is how long the masks under way may take to leave once the service ends.
const endGrace = 5 * time.Second

// serve runs the service until ctx ends: streams first to stop, then their sinks, then the bus. A stream that fails is
// reported and leaves the others alone. The demo takes free ports where its own are taken.
func serve(ctx context.Context, config *configs.Config, log *slog.Logger, demo bool) error {
	if os.Getenv("GOGC") == "" {
		// Nearly all of the heap is frames and memories, which pools reuse: there is little garbage, and waiting for much of it
		// would only hold memory. A cycle is cheap, since numbers hold no pointers to follow.
		debug.SetGCPercent(10)
	}
	ingest.LogTo(log)
	bus, err := openBus(config.NATS, log)
	if err != nil {
		return err
	}
	defer func() {
		if lost := bus.close(); lost != nil {
			log.Warn("not everything could be published", "error", lost)
		}
	}()
	viewers, err := rtc.NewServer(rtc.Options{
		UDP: config.WebRTC.UDP, AdditionalHosts: config.WebRTC.AdditionalHosts, LowLatency: config.WebRTC.Mode == "low-latency", Log: log,
	})
	if err != nil {
		return err
	}
	defer func() { _ = viewers.Close() }() // at the very end: there is nothing left to do about it

	service := control.NewService()
	run := newRunID()
	cameras := make([]*camera, 0, len(config.Streams))
	defer func() {
		for _, c := range cameras {
			c.close()
		}
	}()
	for _, s := range config.Streams {
		if ctx.Err() != nil { // models take their time to load
			return nil
		}
		c, err := newCamera(s, len(config.Streams), config.NATS, bus, viewers, run, log)
		if err != nil {
			return fmt.Errorf("stream %s: %w", s.Name, err)
		}
		cameras = append(cameras, c)
		if err := service.Add(s.Name, c.stream); err != nil {
			return err
		}
	}
	token, err := httpToken(config.HTTP)
	if err != nil {
		return err
	}
	version := versionsOf(engines{}).Version
	server, err := control.NewServer(service, control.ServerOptions{
		Listen: config.HTTP.Listen, AnyPort: demo, Token: token, AllowOrigins: config.HTTP.AllowOrigins, Live: viewers, Log: log,
		Checks:     []control.Check{{Name: "nats", Ready: bus.ready}},
		Collectors: []control.Collector{control.NATSMetrics(bus.connection, bus.store), control.BuildMetrics(version), control.SessionMetrics(viewers.Viewers)},
	})
	if err != nil {
		return err
	}
	door := control.NewNATS(service, control.NATSOptions{Connection: bus.connection, Prefix: config.NATS.Prefix, Version: version, Log: log})
	log.Info("tracker runs", "preview", server.URL(), "nats", bus.where, "streams", len(cameras), "webrtc", viewers.Address())
	if viewers.Loopback() && !server.Loopback() {
		log.Warn("browsers elsewhere get the MJPEG preview: webrtc.udp listens on this machine only", "webrtc.udp", viewers.Address())
	}

	group, running := errgroup.WithContext(ctx)
	for _, c := range cameras {
		group.Go(func() error {
			if err := c.run(running); err != nil && running.Err() == nil {
				log.Error("stream has ended", "stream", c.name, "error", err)
			}
			return nil
		})
	}
	group.Go(func() error { return server.Run(running) })
	group.Go(func() error { return door.Run(running) })
	group.Go(func() error { return bus.run(running) })
	group.Go(func() error {
		// Whoever holds a lock for ever holds the statuses up, too.
		if err := systemd.FromEnvironment(os.Getenv).Run(running, func() { service.Statuses() }); err != nil {
			log.Warn("the service manager does not listen", "error", err)
		}
		return nil
	})
	if err := group.Wait(); err != nil && ctx.Err() == nil { // running has ended in any case
		return err
	}
	log.Info("tracker ends")
	return nil
}

// httpToken reads the token that clients have to send, empty where none is configured.
func httpToken(c configs.HTTP) (string, error) {
	if c.TokenFile == "" {
		return "", nil
	}
	token, err := configs.ReadSecret(c.TokenFile)
	if err != nil {
		return "", usageError{fmt.Errorf("http.token_file: %w", err)}
	}
	return token, nil
}

// newLogger writes to out as the configuration says.
func newLogger(out io.Writer, c configs.Log) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		return nil, fmt.Errorf("log.level %q: write debug, info, warn or error", c.Level)
	}
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(out, options)), nil
	}
	return slog.New(slog.NewTextHandler(out, options)), nil
}
