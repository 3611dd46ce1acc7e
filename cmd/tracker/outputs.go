package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"maskstream/ingest"
	"maskstream/propagate"
	"maskstream/rle"
	"maskstream/sink"
)

// outputs is where a session's results go. Every one that was opened is closed, whatever happens: what was tracked is kept.
type outputs struct {
	lines   *sink.JSONLines
	overlay *overlay
	lowRes  *lowRes
	traced  *traceFile
	every   int   // distance between processed frames
	broken  error // of the lines, told already
}

func (f trackFlags) outputs(stdout io.Writer, info ingest.Info) (_ *outputs, err error) {
	o := &outputs{every: f.every}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.close())
		}
	}()
	if f.out == "-" {
		o.lines = sink.NewJSONLines("stdout", stdout)
	} else if o.lines, err = sink.CreateJSONLines(f.out); err != nil {
		return o, err
	}
	if f.overlay != "" {
		o.overlay = &overlay{path: f.overlay, fps: info.FPS / float64(f.every)}
	}
	if f.lowRes != "" {
		if o.lowRes, err = newLowRes(f.lowRes); err != nil {
			return o, err
		}
	}
	if f.trace != "" {
		if o.traced, err = newTraceFile(f.trace, f.every); err != nil {
			return o, err
		}
	}
	return o, nil
}

// keepApart refuses to write over a file that is read, two results into one file, and a video into what is none.
func (f trackFlags) keepApart(input string) error {
	taken := []named{{"the input", input}, {"--model", f.model}, {"--model-config", f.config}, {"--script", f.script}, {"--options", f.auto.file}}
	for _, arg := range f.prompts.masks {
		if _, path, err := splitPlace("mask", arg); err == nil {
			taken = append(taken, named{"--mask", path})
		}
	}
	if err := keepApart(taken, []named{{"--out", f.out}, {"--overlay", f.overlay}, {"--low-res", f.lowRes}, {"--trace", f.trace}}); err != nil {
		return err
	}
	if f.overlay != "" && !ingest.CanWrite(f.overlay) {
		return usagef("--overlay %s: its ending is that of no video that can be written; use %s", f.overlay, strings.Join(ingest.Endings, ", "))
	}
	return nil
}

func keepApart(taken, results []named) error {
	for _, written := range results {
		for _, other := range taken {
			if sameFile(written.path, other.path) {
				return usagef("%s %s would write over %s; name another file", written.what, written.path, other.what)
			}
		}
		taken = append(taken, written)
	}
	return nil
}

type named struct{ what, path string }

// sameFile says whether two names are those of one regular file, there already or not. No name and - are no file.
func sameFile(a, b string) bool {
	if a == "" || b == "" || a == "-" {
		return false
	}
	one, errOne := os.Stat(a)
	other, errOther := os.Stat(b)
	if errOne == nil && errOther == nil {
		return one.Mode().IsRegular() && os.SameFile(one, other)
	}
	return errOne != nil && errOther != nil && filepath.Clean(a) == filepath.Clean(b)
}

func (o *outputs) trace() func(propagate.Trace) {
	if o.traced == nil {
		return nil
	}
	return o.traced.add
}

// result writes one frame to every output.
func (o *outputs) result(outcome propagate.Outcome, f *rle.Frame) error {
	if err := o.line(sink.Item{Result: f}); err != nil {
		return err
	}
	if o.lowRes != nil {
		if err := o.lowRes.add(outcome.Step, outcome.Result.Frame*o.every, outcome.Result); err != nil {
			return err
		}
	}
	if o.traced != nil {
		if err := o.traced.write(outcome.Step); err != nil {
			return err
		}
	}
	if o.overlay != nil && f.Direction != rle.Prompted {
		return o.overlay.add(outcome.Frame.Picture, f)
	}
	return nil
}

// removed writes the line about an object that is gone.
func (o *outputs) removed(r *rle.Removed) error { return o.line(sink.Item{Removed: r}) }

func (o *outputs) line(item sink.Item) (err error) {
	defer func() { o.broken = err }()
	if err := o.lines.Write(context.Background(), item); err != nil {
		return err
	}
	if now := time.Now(); !now.Before(o.lines.Due()) {
		return o.lines.Flush(context.Background(), now)
	}
	return nil
}

func (o *outputs) close() error {
	var errs []error
	if o.lines != nil {
		if err := o.lines.Close(context.Background()); !errors.Is(err, o.broken) { // Close repeats what ended the lines
			errs = append(errs, err)
		}
	}
	if o.overlay != nil {
		errs = append(errs, o.overlay.close())
	}
	if o.lowRes != nil {
		errs = append(errs, o.lowRes.close())
	}
	if o.traced != nil {
		errs = append(errs, o.traced.close())
	}
	return errors.Join(errs...)
}
