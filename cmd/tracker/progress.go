package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"maskstream/propagate"
)

// progress is a bar on a terminal, and nothing elsewhere.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress counts what a session reports; total is how much that will be, 0 where it is unknown.
func newProgress(out io.Writer, total int) progress {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return progress{}
	}
	if total == 0 {
		total = -1 // a spinner
	}
	return progress{progressbar.NewOptions(total, progressbar.OptionSetWriter(out), progressbar.OptionSetDescription("tracking"),
		progressbar.OptionShowIts(), progressbar.OptionSetItsString("frames"), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(total > 0))}
}

func (p progress) step() {
	if p.bar != nil {
		p.bar.Add(1)
	}
}

func (p progress) close() {
	if p.bar != nil {
		p.bar.Finish()
	}
}

// expected is how many frames a script reports over an input of so many pictures, an estimate: a prompt one, a pass those on its
// way. It is 0 where a pass goes to an end that is not known.
func expected(script *propagate.Script, pictures, every, limit int) (total int) {
	end := (pictures + every - 1) / every // in processed frames
	if limit > 0 && (end == 0 || limit < end) {
		end = limit
	}
	first := -1 // prompted frame
	for _, op := range script.Steps {
		switch op.Verb {
		case propagate.Propagate:
			start := max(first, 0)
			if op.StartFrame != nil {
				start = *op.StartFrame / every
			}
			n := end - start
			switch {
			case op.Reverse:
				n = start + 1
			case end == 0 && op.MaxFrames == nil:
				return 0
			case end == 0:
				n = *op.MaxFrames + 1
			}
			if op.MaxFrames != nil {
				n = min(n, *op.MaxFrames+1)
			}
			total += max(n, 0)
		case propagate.ResetSession:
			first = -1
		default:
			if op.Frame != nil && (first < 0 || *op.Frame/every < first) {
				first = *op.Frame / every
			}
			total++
		}
	}
	return total
}
