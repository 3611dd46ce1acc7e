package ingest

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/asticode/go-astiav"
)

// warn says what is wrong with a file that has come to its end. FFmpeg calls it the end, too, where a file lacks what its table of
// contents has. Tables count a few more in some formats, which leave out pictures that did not change.
func (d *demuxer) warn() {
	if promised := d.stream.NbFrames(); !errors.Is(d.end, astiav.ErrEof) || !d.sought && d.read < promised*9/10 {
		slog.Warn("the file ends early", "source", d.target.shown, "pictures", d.read, "of", promised, "error", scrub(d.end.Error(), d.target.secrets))
	}
	if d.decoder.refused > 0 && !d.target.live {
		slog.Warn("the file is damaged: some of it could not be decoded", "source", d.target.shown, "decode_errors", d.decoder.refused)
	}
}

// seek makes next go on at a picture from which the decoder can begin, at or before pts as far as the container knows.
func (d *demuxer) seek(ctx context.Context, pts time.Duration) error {
	if d.target.live || d.pipe >= 0 {
		return &Error{Op: "going back in", Source: d.target.shown, Kind: ErrUnsupported, Detail: "it can only be read forwards"}
	}
	d.watch(ctx)
	if d.target.kind != kindFile {
		d.interrupt.within(d.timeout)
	}
	tb := d.stream.TimeBase()
	at := d.start + rescale(int64(pts)+1, int64(tb.Den()), int64(time.Second)*int64(tb.Num())) // PTS were rounded down
	if err := seekBack(d.input, d.stream.Index(), at); err != nil {
		return d.failure("going back in", err)
	}
	flush(d.decoder.context)
	d.sought = true
	return nil
}
