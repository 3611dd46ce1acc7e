package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"maskstream/configs"
	"maskstream/sink"
)

// bus is the NATS connection of the process, what stores over it, and, where it is embedded, the server behind it.
type bus struct {
	connection *sink.Connection
	store      *sink.Store    // nil without JetStream
	embedded   *sink.Embedded // nil where the server is elsewhere
	where      string         // without secrets
}

func openBus(c configs.NATS, log *slog.Logger) (_ *bus, err error) {
	b := &bus{where: c.URL.String()}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	url := string(c.URL)
	if c.Embedded {
		options := sink.EmbeddedOptions{Port: c.URL.Port(), Log: log}
		if c.JetStream {
			if options.StoreFolder, err = stateFolder("jetstream"); err != nil {
				return nil, usageError{fmt.Errorf("nats.embedded: %w", err)}
			}
		}
		if b.embedded, err = sink.StartEmbedded(options); err != nil {
			return nil, err
		}
		url, b.where = b.embedded.URL(), b.embedded.URL()
	}
	if b.connection, err = sink.Connect(sink.NATSOptions{
		URL: url, Username: c.Username, Password: string(c.Password), PasswordFile: c.PasswordFile, TokenFile: c.TokenFile, NkeyFile: c.NkeyFile,
		CredentialsFile: c.CredentialsFile, CAFile: c.TLS.CAFile, CertFile: c.TLS.CertFile, KeyFile: c.TLS.KeyFile, Name: "tracker", Log: log,
	}); err != nil {
		return nil, usageError{fmt.Errorf("nats: %w", err)}
	}
	if c.JetStream {
		if b.store, err = openStore(c, b.connection, log); err != nil {
			return nil, usageError{fmt.Errorf("nats.spool: %w", err)}
		}
	}
	return b, nil
}

func openStore(c configs.NATS, connection *sink.Connection, log *slog.Logger) (*sink.Store, error) {
	folder := c.Spool.Folder
	if folder == "" {
		var err error
		if folder, err = stateFolder("spool"); err != nil {
			return nil, err
		}
	}
	return sink.OpenStore(sink.StoreOptions{
		Connection: connection, Prefix: c.Prefix, Folder: folder, Bytes: int64(c.Spool.Bytes), Log: log,
		Stream: sink.StoredStream{
			Name: cmp.Or(c.Store.Name, strings.ReplaceAll(c.Prefix, ".", "_")), Manage: c.Store.Manage,
			MaxAge: time.Duration(c.Store.MaxAge), MaxBytes: int64(c.Store.MaxBytes),
		},
	})
}

// stateFolder is where a thing of this name is kept between runs: in what systemd gives a service, else in the user's state.
func stateFolder(name string) (string, error) {
	if folder, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); folder != "" {
		return filepath.Join(folder, name), nil
	}
	if folder := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(folder) {
		return filepath.Join(folder, "maskstream", name), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder to keep things in, name one as nats.spool.folder or set XDG_STATE_HOME: %w", err)
	}
	return filepath.Join(home, ".local", "state", "maskstream", name), nil
}

// run stores until ctx ends.
func (b *bus) run(ctx context.Context) error {
	if b.store == nil {
		return nil
	}
	return b.store.Run(ctx)
}

// ready says whether masks reach the bus.
func (b *bus) ready() error {
	switch {
	case !b.connection.Connected():
		return fmt.Errorf("no connection to %s", b.where)
	case b.store != nil:
		return b.store.Ready()
	}
	return nil
}

// close stores and sends what is left, for endGrace.
func (b *bus) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), endGrace)
	defer cancel()
	var errs []error
	if b.store != nil {
		errs = append(errs, b.store.Close(ctx))
	}
	if b.connection != nil {
		errs = append(errs, b.connection.Close(ctx))
	}
	if b.embedded != nil {
		b.embedded.Shutdown()
	}
	return errors.Join(errs...)
}
