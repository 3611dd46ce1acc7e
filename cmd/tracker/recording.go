package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"maskstream/ingest"
	"maskstream/internal/clip"
	"maskstream/tensor"
)

// recording is an input that a session reads. It is opened once to see what it is, and again where the session goes back.
type recording struct {
	input  string
	info   ingest.Info
	opened *ingest.Reader // the first time, until it is taken
}

func openRecording(ctx context.Context, input string) (*recording, error) {
	reader, err := ingest.Open(ctx, ingest.Options{URL: input})
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
	return ingest.Open(ctx, ingest.Options{URL: r.input})
}

// Close closes a reader that nobody took.
func (r *recording) Close() error {
	if r.opened == nil {
		return nil
	}
	return r.opened.Close()
}

// homes are the pools that the offload switches choose. On the CPU every home is host memory, and moving between pools is the
// same copy that a GPU would make.
type homes struct {
	video *tensor.Pool // of converted frames
	state *tensor.Pool // of memories and logits; nil is where the network makes them
}

func newHomes(video, state bool) homes {
	var h homes
	h.video = tensor.NewPool("video", tensor.Host(), 0)
	if state {
		h.state = tensor.NewPool("state", tensor.Host(), 0)
	}
	_ = video
	return h
}

// newRun names this process in its messages: 8 hex digits.
func newRun() string {
	var id [4]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}
