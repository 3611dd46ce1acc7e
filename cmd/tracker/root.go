package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newRoot is the command that holds all others. It leaves it to [execute] to report errors, in one line.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "tracker",
		Short: "Masks of the objects you point at, live from cameras or through files",
		Long: `Masks of the objects you point at, live from cameras or through files, as COCO run-length masks.

Exit status: 0 done, 1 failed at run time, 2 usage or configuration, 130 interrupted.
An error is one line on stderr; results go to stdout or --out, nothing else does.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	// A command that only holds others is no usage of its own, though it can be run: see refuseUnknown.
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", "{{if not .HasAvailableSubCommands}}", 1))
	return root
}

// refuseUnknown makes every command that only holds others refuse a name that is none of theirs, and the lack of one. Left to
// itself, cobra prints the help and reports success.
func refuseUnknown(command *cobra.Command) {
	for _, child := range command.Commands() {
		refuseUnknown(child)
	}
	if command.HasSubCommands() && !command.Runnable() {
		command.Args = cobra.ArbitraryArgs
		command.SuggestionsMinimumDistance = 2 // letters that differ
		command.RunE = func(command *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("which command? One of: %s (see '%s --help')", strings.Join(childNames(command), ", "), command.CommandPath())
			}
			if near := command.SuggestionsFor(args[0]); len(near) > 0 {
				return usagef("unknown command %q: did you mean %s?", args[0], strings.Join(near, " or "))
			}
			return usagef("unknown command %q: one of %s is needed", args[0], strings.Join(childNames(command), ", "))
		}
	}
}

func childNames(command *cobra.Command) []string {
	var names []string
	for _, child := range command.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, child.Name())
		}
	}
	return names
}

// usageError is a mistake in how the program was called or configured, as opposed to something that went wrong while it ran.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usagef makes a usageError as fmt.Errorf makes an error. It says what to do instead.
func usagef(format string, arguments ...any) error {
	return usageError{fmt.Errorf(format, arguments...)}
}
