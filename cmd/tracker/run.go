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
NATS server on loopback, and the preview in the browser.

The file is read again when it changes, and at SIGHUP: streams that it says something else about are started, ended or started anew,
the others go on undisturbed. A file that is wrong changes nothing. What changes of nats, http, webrtc and log.format needs a restart.`,
		Args: cobra.NoArgs,
	}
	file := configFlag(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		config, err := loadConfig(command.Context(), *file)
		if err != nil {
			return err
		}
		var level slog.LevelVar
		log := newLogger(command.ErrOrStderr(), config.Log, &level)
		if *file == "" {
			return serve(command.Context(), config, log, nil)
		}
		return serve(command.Context(), config, log, &reload{
			path: *file, load: func() (*configs.Config, error) { return configs.Load(*file, os.Environ()) },
			told: func(c *configs.Config) { setLevel(&level, c.Log) },
		})
	}
	return command
}

// endGrace is how long the masks under way may take to leave once the service ends.
const endGrace = 5 * time.Second

// serve runs the service until ctx ends: streams first to stop, then their sinks, then the bus. A stream that fails is
// reported and leaves the others alone. Without changes to follow it is the demo, which takes free ports where its own are taken.
func serve(ctx context.Context, config *configs.Config, log *slog.Logger, changes *reload) error {
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
	cameras := newFleet(wiring{nats: config.NATS, bus: bus, viewers: viewers, models: newModels(), log: log}, len(config.Streams), service)
	defer cameras.close()
	service.Keep(cameras)
	for _, s := range config.Streams {
		if ctx.Err() != nil { // models take their time to load
			return nil
		}
		if err := cameras.file(s); err != nil {
			return err
		}
	}
	token, err := httpToken(config.HTTP)
	if err != nil {
		return err
	}
	version := versionsOf(engines{}).Version
	server, err := control.NewServer(service, control.ServerOptions{
		Listen: config.HTTP.Listen, AnyPort: changes == nil, Token: token, AllowOrigins: config.HTTP.AllowOrigins, Live: viewers, Log: log,
		Checks:     []control.Check{{Name: "nats", Ready: bus.ready}},
		Collectors: []control.Collector{control.NATSMetrics(bus.connection, bus.store), control.BuildMetrics(version), control.SessionMetrics(viewers.Viewers)},
	})
	if err != nil {
		return err
	}
	door := control.NewNATS(service, control.NATSOptions{Connection: bus.connection, Prefix: config.NATS.Prefix, Version: version, Log: log})
	log.Info("tracker runs", "preview", server.URL(), "nats", bus.where, "streams", len(config.Streams), "webrtc", viewers.Address())
	if viewers.Loopback() && !server.Loopback() {
		log.Warn("browsers elsewhere get the MJPEG preview: webrtc.udp listens on this machine only", "webrtc.udp", viewers.Address())
	}

	group, running := errgroup.WithContext(ctx)
	group.Go(func() error {
		cameras.Run(running)
		return nil
	})
	if changes != nil {
		hangups, stop := hangups()
		defer stop()
		changes.fleet, changes.current = cameras, config
		group.Go(func() error {
			changes.Run(running, hangups)
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

// newLogger writes to out as the configuration says, at a level that can be changed.
func newLogger(out io.Writer, c configs.Log, level *slog.LevelVar) *slog.Logger {
	setLevel(level, c)
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}

func setLevel(level *slog.LevelVar, c configs.Log) {
	_ = level.UnmarshalText([]byte(c.Level)) // a configuration that is loaded has a valid one
}
