package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress is a bar on a terminal, and nothing elsewhere.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress counts frames; pictures is an estimate of the input's, 0 where it is unknown.
func newProgress(out io.Writer, pictures, every, limit int) progress {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return progress{}
	}
	total := (pictures + every - 1) / every
	if limit > 0 && (total == 0 || limit < total) {
		total = limit
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
