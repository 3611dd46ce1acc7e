package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// standardInput is what this process is given: a pipe, or a file, which can be read more than once.
func standardInput(name string) (*target, error) {
	info, err := os.Stdin.Stat()
	if err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice|fs.ModeSocket) != fs.ModeNamedPipe && !info.Mode().IsRegular() {
		err = errors.New("it is neither a pipe nor a file")
	}
	if err != nil {
		return nil, &Error{Op: "opening", Source: name, Kind: ErrInvalid, Detail: err.Error(), Hint: "pipe the video in, as in: ffmpeg -i … -f mpegts - | tracker track pipe:0"}
	}
	t := &target{kind: kindFile, open: "file:/dev/stdin", shown: name}
	if info.Mode()&fs.ModeNamedPipe != 0 {
		t.path = "/dev/stdin"
	}
	return t, nil
}

// openPipe opens a named pipe, or standard input by its name, and waits for what comes through it until ctx ends. The descriptor does not block: FFmpeg, which
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
