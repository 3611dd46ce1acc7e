package main

import (
	"context"
	"io"
)

// interruptible calls what may block for ever, as reading from a pipe that nobody writes to does, and comes back when ctx ends.
// What it called goes on in the background: the process is about to end.
func interruptible[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := call()
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// interruptibleReader is a reader whose Read comes back when ctx ends.
type interruptibleReader struct {
	ctx context.Context
	in  io.Reader
}

// Read reads into a buffer of its own, because what it has left behind may still write there.
func (r interruptibleReader) Read(p []byte) (int, error) {
	data, err := interruptible(r.ctx, func() ([]byte, error) {
		buffer := make([]byte, len(p))
		n, err := r.in.Read(buffer)
		return buffer[:n], err
	})
	return copy(p, data), err
}
