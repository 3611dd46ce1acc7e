package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// Flags that several commands share, so that they are called and described alike.

// configFlag adds -c, --config: the configuration file, empty for the embedded demo.
func configFlag(command *cobra.Command) *string {
	return command.Flags().StringP("config", "c", "", "configuration `FILE` (default: the embedded demo)")
}

// one lets a command take one argument, the name of which its error says.
func one(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("one %s is needed, there are %d", name, len(args))
		}
		return nil
	}
}
