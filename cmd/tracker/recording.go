package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"maskstream/frames"
	"maskstream/ingest"
	"maskstream/internal/clip"
)

// recording is an input that a session reads. It is opened once to see what it is, and again where the session goes back.
type recording struct {
	input  string
	info   ingest.Info
	opened *ingest.Reader // the first time, until it is taken
}

func openRecording(ctx context.Context, input string) (*recording, error) {
	reader, err := ingest.Open(ctx, ingest.Options{URL: input})
	if errors.Is(err, ingest.ErrInvalid) { // no such source can be anywhere
		return nil, usageError{err}
	}
	if err != nil {
		return nil, err
	}
	return &recording{input: input, info: reader.Info(), opened: reader}, nil
}

// open gives the reader that is open already, then new ones.
func (r *recording) open(ctx context.Context) (clip.Reader, error) {
	if reader := r.opened; reader != nil {
		r.opened = nil
		return reader, nil
	}
	if r.info.Once {
		return nil, fmt.Errorf("%s is a pipe, which can be read once only; save it to a file first", r.input)
	}
	return ingest.Open(ctx, ingest.Options{URL: r.input})
}

// numbering gives the pictures of a recording their epochs and the frames within these, from the first picture on.
func numbering() func(*frames.Picture) {
	var n ingest.Numbering
	return func(p *frames.Picture) { n.Number(p) }
}

// Close closes a reader that nobody took.
func (r *recording) Close() error {
	if r.opened == nil {
		return nil
	}
	return r.opened.Close()
}

// newRunID names this process in its messages: 8 hex digits.
func newRunID() string {
	var id [4]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}
