package ingest

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// openPipe opens a named pipe and waits for what comes through it until ctx ends. The descriptor does not block: FFmpeg, which
// would otherwise wait in the kernel and hear no interrupt, asks its callback between its attempts to read.
func openPipe(ctx context.Context, t *target) (fd int, err error) {
	failed := func(err error) (int, error) {
		return -1, &Error{Op: "opening", Source: t.shown, Kind: ErrUnsupported, Detail: err.Error()}
	}
	if fd, err = unix.Open(t.path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
		return failed(err)
	}
	for ctx.Err() == nil {
		wait := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} // without a writer yet, nothing is reported
		n, err := unix.Poll(wait, 100)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			_ = unix.Close(fd)
			return failed(err)
		case n > 0:
			return fd, nil
		}
	}
	_ = unix.Close(fd)
	return -1, &Error{Op: "opening", Source: t.shown, Kind: ctx.Err()}
}

// pipeURL is how FFmpeg is told to read a descriptor.
func pipeURL(fd int) string { return fmt.Sprintf("pipe:%d", fd) }
