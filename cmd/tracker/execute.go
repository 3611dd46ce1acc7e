package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit statuses that scripts can rely on.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// Why the context of a command was cancelled.
var (
	errInterrupted = errors.New("interrupted")
	errTerminated  = errors.New("told to end")
)

// execute runs the command that the arguments name, reports its error in one line, and returns the exit status.
//
// The command's context is cancelled by Ctrl-C or SIGTERM. A command that thereupon ends as it should returns nil; one that
// leaves its work undone returns the context's error. A second signal ends the process at once. Writing to a pipe that nobody
// reads any more is an error like another.
func execute(root *cobra.Command) int {
	// What a command has to say goes to stdout; libraries are heard from warnings on. The service has a logger of its own.
	slog.SetDefault(slog.New(slog.NewTextHandler(root.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	ctx, stop := untilSignal(context.Background())
	defer stop()
	root.InitDefaultCompletionCmd()
	refuseUnknown(root)
	started := false
	root.PersistentPreRunE = func(command *cobra.Command, _ []string) error {
		// cobra asks these only afterwards, when their error would look like the command's own.
		if err := errors.Join(command.ValidateRequiredFlags(), command.ValidateFlagGroups()); err != nil {
			return err
		}
		started = true
		return nil
	}

	command, err := root.ExecuteContextC(ctx)
	if err != nil && !started { // cobra has refused the arguments
		err = usagef("%w (see '%s --help')", err, command.CommandPath())
	}
	status := exitStatus(ctx, err)
	if status == exitInterrupted && err != nil {
		err = errInterrupted
	}
	if err != nil {
		message := strings.Join(strings.Fields(err.Error()), " ") + advice(err)
		fmt.Fprintf(root.ErrOrStderr(), "%s: %s\n", command.CommandPath(), message)
	}
	return status
}

// advice is what to do about what any command may run into, unless the error says so itself.
func advice(err error) string {
	if errors.Is(err, syscall.ENOSPC) && !strings.Contains(err.Error(), "free some space") {
		return ": free some space, or write elsewhere"
	}
	return ""
}

func exitStatus(ctx context.Context, err error) int {
	var usage usageError
	switch {
	case err == nil && errors.Is(context.Cause(ctx), errInterrupted):
		return exitInterrupted
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &usage):
		return exitUsage
	default:
		return exitFailed
	}
}

// untilSignal derives a context that the first SIGINT or SIGTERM cancels, with errInterrupted or errTerminated as its cause.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signal.Ignore(syscall.SIGPIPE, syscall.SIGXFSZ) // or the runtime kills a process that writes to a closed stdout, or beyond "ulimit -f"
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case received := <-signals:
			if received == os.Interrupt {
				cancel(errInterrupted)
			} else {
				cancel(errTerminated)
			}
		case <-ctx.Done():
			return
		}
		// The command is now ending in good order. Whoever signals again does not want to wait for that.
		<-signals
		os.Exit(exitInterrupted)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}
