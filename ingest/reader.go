package ingest

import (
	"context"
	"fmt"
	"time"

	"maskstream/frames"
)

// Options say what to read and how. Only URL is needed.
type Options struct {
	// URL is a file, a folder of .png and .jpg named by numbers, an image, an rtsp, http, rtmp, srt, udp or tcp URL,
	// /dev/video0, also with ?video_size=1280x720&framerate=30&input_format=mjpeg, pipe:0 or - for standard input, or
	// testscene: with the options of [ParseTestScene].
	URL string
	// Username and Password go before those in the URL; they need no encoding, and are never shown.
	Username, Password string
	// Transport of RTSP: "tcp" (default), "udp", "auto" (TCP first), or "http" (RTSP tunnelled in HTTP). It is always TCP for rtsps.
	Transport string
	// CAFile is a PEM file of the authorities that may have signed the server's certificate, or of that certificate itself.
	// Empty: the system's.
	CAFile string
	// AnyCertificate takes whatever certificate the server shows: whoever stands between reads the password.
	AnyCertificate bool
	// Timeout bounds connecting, and the wait for the next picture of a source that is not a file. Default 10 s.
	Timeout time.Duration
	// Threads of the decoder; 0 lets FFmpeg choose for files and is 1 for live sources.
	Threads int
	// MaxPixels refuses larger pictures. Default 8192·8192.
	MaxPixels int
	// Loop makes [Run] start a file over at its end, as a new epoch.
	Loop bool
	// Counters are counted up by [Run]; nil for none.
	Counters *Counters
	// RetryFirst and RetryMax bound the pauses between [Run]'s attempts. Default 1 s and 30 s.
	RetryFirst, RetryMax time.Duration

	media string // what RTSP is asked for
}

func (o Options) withDefaults() Options {
	if o.Transport == "" {
		o.Transport = "tcp"
	}
	if o.media == "" {
		o.media = "video" // sound would cost bandwidth, and nobody hears it
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.MaxPixels <= 0 {
		o.MaxPixels = 8192 * 8192
	}
	if o.Counters == nil {
		o.Counters = &Counters{}
	}
	if o.RetryFirst <= 0 {
		o.RetryFirst = time.Second
	}
	if o.RetryMax <= 0 {
		o.RetryMax = 30 * time.Second
	}
	return o
}

// Info describes an open source, as far as it is known before its pictures are.
type Info struct {
	Source        string // the URL without credentials
	Width, Height int    // as displayed: after rotation
	FPS           float64
	Frames        int // an estimate; 0 is unknown or endless
	Duration      time.Duration
	Live          bool
	Container     string
	Codec         string
	Profile       int    // of the codec, by its own number
	PixelFormat   string // FFmpeg's name of what the decoder gives
	ColourSpace   string // FFmpeg's name; "unspecified" follows the height
	ColourRange   string // "tv", "pc", or "unspecified"
	Rotation      frames.Rotation
	BFrames       bool
	Once          bool // a pipe, which cannot be opened again
}

// Stats count what a reader did.
type Stats struct {
	Frames       int64 // pictures handed out
	DecodeErrors int64 // packets the decoder refused, and pictures it had to mend
}

// source is one way to get pictures. One goroutine calls its methods.
type source interface {
	// next returns a picture with one reference, or io.EOF. Its Meta is complete but for Epoch and Frame.
	next(ctx context.Context) (*frames.Picture, error)
	// seek makes next go on at or before pts.
	seek(ctx context.Context, pts time.Duration) error
	info() Info
	decodeErrors() int64
	close()
}

// Reader reads one source from its beginning to its end. One goroutine at a time.
type Reader struct {
	source source
	frames int64
}

// Open connects, finds the video and makes its decoder ready. It returns within Options.Timeout, or at once when ctx ends;
// a context that ends later does not concern the reader. The error is an [*Error] that wraps a sentinel.
func Open(ctx context.Context, o Options) (*Reader, error) {
	ffmpegLog.start()
	o = o.withDefaults()
	t, err := parseTarget(o)
	if err != nil {
		return nil, err
	}
	return openTarget(ctx, o, t)
}

func openTarget(ctx context.Context, o Options, t *target) (*Reader, error) {
	if ctx.Err() != nil {
		return nil, &Error{Op: "opening", Source: t.shown, Kind: ctx.Err()}
	}
	var s source
	var err error
	switch t.kind {
	case kindImages:
		s, err = openImages(o, t)
	case kindScene:
		s, err = openScene(t)
	case kindFile, kindDevice, kindNetwork:
		s, err = openDemuxer(ctx, o, t)
	}
	if err != nil {
		return nil, err
	}
	return &Reader{source: s}, nil
}

// Next returns the next picture, whose one reference is the caller's, or io.EOF at the end. A live source that gives no
// picture for Options.Timeout is [ErrTimeout]. After an error, or once ctx has ended, only Close is left to do.
func (r *Reader) Next(ctx context.Context) (*frames.Picture, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("reading %s: %w", r.Info().Source, ctx.Err())
	}
	p, err := r.source.next(ctx)
	if err != nil {
		return nil, err
	}
	p.Meta.Frame = int(r.frames)
	p.Meta.RTP = rtpTime(p.Meta.PTS)
	r.frames++
	return p, nil
}

// Seek makes Next go on earlier or later: with a picture at or before pts from which decoding can begin. Containers know such
// places more or less exactly, so that the caller has to look at where it is. A source that can only be read forwards says
// [ErrUnsupported].
func (r *Reader) Seek(ctx context.Context, pts time.Duration) error { return r.source.seek(ctx, pts) }

// rtpTime counts 90 kHz, as the preview track does.
func rtpTime(pts time.Duration) uint32 {
	return uint32(rescale(int64(pts), 90_000, int64(time.Second)))
}

// rescale is v·numerator/denominator without an overflow on the way.
func rescale(v, numerator, denominator int64) int64 {
	return v/denominator*numerator + v%denominator*numerator/denominator
}

// Info describes the source.
func (r *Reader) Info() Info { return r.source.info() }

// Stats counts what was read so far.
func (r *Reader) Stats() Stats {
	return Stats{Frames: r.frames, DecodeErrors: r.source.decodeErrors()}
}

// Close ends the connection. Pictures that are still held stay valid. Closing twice is harmless.
func (r *Reader) Close() error {
	r.source.close()
	return nil
}
