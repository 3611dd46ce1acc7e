package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"maskstream/configs"
)

func newConfig() *cobra.Command {
	command := &cobra.Command{
		Use:   "config",
		Short: "Check a configuration, or print the one in effect",
	}
	command.AddCommand(newConfigCheck(), newConfigPrint())
	return command
}

func newConfigCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Say what is wrong with a configuration file, with line and column",
		Args:  one("FILE"),
		RunE: func(command *cobra.Command, args []string) error {
			config, err := loadConfig(command.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "%s: valid, streams: %d\n", args[0], len(config.Streams))
			return err
		},
	}
}

func newConfigPrint() *cobra.Command {
	command := &cobra.Command{
		Use:   "print",
		Short: "The configuration in effect, with defaults and TRACKER_… variables, without secrets",
		Args:  cobra.NoArgs,
	}
	file := configFlag(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		config, err := loadConfig(command.Context(), *file)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(command.OutOrStdout(), config.Redacted())
		return err
	}
	return command
}

// loadConfig reads the file, or the embedded demo where path is empty, under the environment's variables. Its errors are
// the user's to mend.
func loadConfig(ctx context.Context, path string) (*configs.Config, error) {
	load := configs.Demo
	if path != "" {
		load = func(env []string) (*configs.Config, error) { return configs.Load(path, env) }
	}
	return interruptible(ctx, func() (*configs.Config, error) {
		config, err := load(os.Environ())
		if err != nil {
			return nil, usageError{err}
		}
		return config, nil
	})
}
