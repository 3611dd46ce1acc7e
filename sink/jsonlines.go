package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

const (
	linesBuffer = 64 << 10
	linesAge    = time.Second
)

// JSONLines writes frames of results, one a line. Lines are buffered for a second at most; only whole lines reach the file,
// also when the disk is full in the middle of one.
type JSONLines struct {
	name    string
	out     io.Writer
	closer  io.Closer // nil where out belongs to somebody else
	encoder *json.Encoder

	buffer  bytes.Buffer // whole lines
	lines   int64        // in the file
	waiting int64        // in the buffer
	written int64        // bytes in the file, from where we began
	due     time.Time
	broken  error
}

// CreateJSONLines creates or replaces a file; "-" is standard output, which stays open.
func CreateJSONLines(path string) (*JSONLines, error) {
	if path == "-" {
		return NewJSONLines("standard output", os.Stdout), nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("results file: %w", err)
	}
	j := NewJSONLines(path, file)
	j.closer = file
	return j, nil
}

// NewJSONLines writes to out, which it does not close. The name stands in errors.
func NewJSONLines(name string, out io.Writer) *JSONLines {
	j := &JSONLines{name: name, out: out}
	j.encoder = json.NewEncoder(&j.buffer)
	j.encoder.SetEscapeHTML(false) // counts hold < and >, which would grow to six characters
	return j
}

// Write adds the item's line.
func (j *JSONLines) Write(_ context.Context, item Item) error {
	var line any
	switch {
	case item.Result != nil:
		line = item.Result
	case item.Removed != nil:
		line = item.Removed
	default:
		return nil
	}
	if j.broken != nil {
		return j.broken
	}
	before := j.buffer.Len()
	if err := j.encoder.Encode(line); err != nil {
		j.buffer.Truncate(before)
		return fmt.Errorf("write results to %s: %w", j.name, err)
	}
	j.waiting++
	if j.due.IsZero() {
		j.due = time.Now().Add(linesAge)
	}
	if j.buffer.Len() >= linesBuffer {
		return j.flush()
	}
	return nil
}

// Due is a second after the oldest line that waits.
func (j *JSONLines) Due() time.Time { return j.due }

// Flush writes the lines that wait.
func (j *JSONLines) Flush(context.Context, time.Time) error { return j.flush() }

// Close writes the lines that wait and closes the file.
func (j *JSONLines) Close(context.Context) error {
	err := j.flush()
	if j.closer != nil {
		if closing := j.closer.Close(); err == nil && closing != nil {
			err = fmt.Errorf("close results file: %w", closing)
		}
	}
	return err
}

func (j *JSONLines) flush() error {
	j.due = time.Time{}
	if j.broken != nil || j.buffer.Len() == 0 {
		return j.broken
	}
	n, err := j.out.Write(j.buffer.Bytes())
	if err != nil {
		return j.fail(j.buffer.Bytes()[:n], err)
	}
	j.written += int64(n)
	j.lines += j.waiting
	j.waiting = 0
	j.buffer.Reset()
	return nil
}

// fail cuts a line that was written in part off a file, so that what is there can be read, and says what to do.
func (j *JSONLines) fail(partly []byte, err error) error {
	whole := bytes.LastIndexByte(partly, '\n') + 1
	j.lines += int64(bytes.Count(partly, []byte{'\n'}))
	if file, ok := j.out.(*os.File); ok && j.closer != nil && whole < len(partly) {
		if cut := file.Truncate(j.written + int64(whole)); cut != nil {
			err = errors.Join(err, cut)
		}
	}
	advice := ""
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		advice = ": free some space, or write elsewhere"
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		advice = ": the program that reads has ended"
	}
	j.broken = fmt.Errorf("write results to %s after %d whole lines: %w%s", j.name, j.lines, err, advice)
	return j.broken
}
