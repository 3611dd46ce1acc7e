package sink

import (
	"bytes"
	"context"
	"image"
	"image/jpeg"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/image/draw"

	"maskstream/frames"
	"maskstream/rle"
)

// MJPEGOptions is how a preview looks; zero values take the defaults.
type MJPEGOptions struct {
	// Draw makes an upright picture with its masks drawn in. It may return an image that it reuses in the next call.
	Draw func(picture *frames.Picture, result *rle.Frame) (*image.RGBA, error)

	MaxWidth, MaxHeight int // 1280×720: larger pictures are scaled down
	Quality             int // of JPEG, 80
	MaxViewers          int // 16

	Log *slog.Logger // of pictures that cannot be drawn
}

// MJPEG is the preview of one stream: a live sink that keeps the newest picture, and an http.Handler that shows it as
// multipart/x-mixed-replace, which an <img> element plays. Pictures are drawn and encoded only when a viewer asks, and once
// for all viewers; a slow viewer leaves pictures out and delays nobody.
type MJPEG struct {
	options MJPEGOptions

	mu      sync.Mutex
	newest  Item          // owns its picture
	version int64         // of newest, 0 before the first
	changed chan struct{} // closed and replaced with every newest
	viewers int
	closed  bool

	encoding sync.Mutex // held while one viewer encodes for all
	encoded  encodedPicture
	scaled   *image.RGBA // scratch

	complaint string // of the last picture that failed, so that the log does not repeat it

	pictures atomic.Int64 // encoded since the start
}

// encodedPicture is immutable once it is handed out.
type encodedPicture struct {
	version int64
	seq     int64
	jpeg    []byte
}

// NewMJPEG needs Draw and Log.
func NewMJPEG(o MJPEGOptions) *MJPEG {
	for _, d := range []struct {
		value    *int
		fallback int
	}{{&o.MaxWidth, 1280}, {&o.MaxHeight, 720}, {&o.Quality, 80}, {&o.MaxViewers, 16}} {
		if *d.value == 0 {
			*d.value = d.fallback
		}
	}
	return &MJPEG{options: o, changed: make(chan struct{})}
}

// Write keeps the item as the newest one.
func (m *MJPEG) Write(_ context.Context, item Item) error {
	if item.Result == nil || item.Picture == nil {
		return nil
	}
	m.replace(item.Retain(), false)
	return nil
}

// replace takes ownership of item.
func (m *MJPEG) replace(item Item, closed bool) {
	m.mu.Lock()
	before := m.newest
	m.newest = item
	m.version++
	m.closed = m.closed || closed
	close(m.changed)
	m.changed = make(chan struct{})
	m.mu.Unlock()
	before.Release()
}

// Due is never: the newest picture does not wait.
func (m *MJPEG) Due() time.Time { return time.Time{} }

// Flush does nothing.
func (m *MJPEG) Flush(context.Context, time.Time) error { return nil }

// Close sends the viewers away and releases the picture.
func (m *MJPEG) Close(context.Context) error {
	m.replace(Item{}, true)
	return nil
}

// Viewers is how many watch now.
func (m *MJPEG) Viewers() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.viewers
}

// Pictures is how many were encoded since the start.
func (m *MJPEG) Pictures() int64 { return m.pictures.Load() }

// state is what a viewer decides by: the version that is there, and the channel that says when it changes.
func (m *MJPEG) state() (version int64, changed <-chan struct{}, closed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.version, m.changed, m.closed
}

// picture is the newest one, encoded; without jpeg where there is none or it cannot be drawn.
func (m *MJPEG) picture() encodedPicture {
	m.encoding.Lock()
	defer m.encoding.Unlock()
	m.mu.Lock()
	item, version := m.newest.Retain(), m.version
	m.mu.Unlock()
	defer item.Release()
	if item.Picture == nil {
		return encodedPicture{version: version}
	}
	if m.encoded.version == version {
		return m.encoded
	}
	encoded, err := m.encode(item)
	if err != nil {
		if m.complaint != err.Error() {
			m.complaint = err.Error()
			m.options.Log.Warn("preview picture failed", "stream", item.Result.Stream, "frame", item.Result.Frame, "error", err)
		}
		return encodedPicture{version: version}
	}
	m.pictures.Add(1)
	m.encoded = encodedPicture{version: version, seq: item.Result.Seq, jpeg: encoded}
	return m.encoded
}

func (m *MJPEG) encode(item Item) ([]byte, error) {
	drawn, err := m.options.Draw(item.Picture, item.Result)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, m.scale(drawn), &jpeg.Options{Quality: m.options.Quality}); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// scale brings a picture that is too large into the box of MaxWidth×MaxHeight, its proportions kept.
func (m *MJPEG) scale(picture *image.RGBA) *image.RGBA {
	w, h := picture.Rect.Dx(), picture.Rect.Dy()
	if w <= m.options.MaxWidth && h <= m.options.MaxHeight {
		return picture
	}
	ratio := min(float64(m.options.MaxWidth)/float64(w), float64(m.options.MaxHeight)/float64(h))
	to := image.Rect(0, 0, max(1, int(float64(w)*ratio+0.5)), max(1, int(float64(h)*ratio+0.5)))
	if m.scaled == nil || m.scaled.Rect != to {
		m.scaled = image.NewRGBA(to)
	}
	draw.ApproxBiLinear.Scale(m.scaled, to, picture, picture.Rect, draw.Src, nil)
	return m.scaled
}
