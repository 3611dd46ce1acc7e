package main

import "github.com/spf13/cobra"

// Flags that several commands share, so that they are called and described alike.

// configFlag adds -c, --config: the configuration file, empty for the embedded demo.
func configFlag(command *cobra.Command) *string {
	return command.Flags().StringP("config", "c", "", "configuration `FILE` (default: the embedded demo)")
}
