package sink

import (
	"bytes"
	"cmp"
	"context"
	"image"
	"image/jpeg"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"maskstream/frames"
)

// MJPEGOptions is how a preview looks; zero values take the defaults.
type MJPEGOptions struct {
	Longest    int // pixels of the longer side, 1280: larger pictures are scaled down
	Quality    int // of JPEG, 80
	MaxViewers int // 16

	Log *slog.Logger // needed: says which pictures cannot be drawn
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
	painter  frames.Painter
	canvas   *image.RGBA // scratch

	complaint string // of the last picture that failed, so that the log does not repeat it

	pictures atomic.Int64 // encoded since the start
}

// encodedPicture is immutable once it is handed out.
type encodedPicture struct {
	version int64
	seq     int64
	jpeg    []byte
}

// NewMJPEG has no picture yet.
func NewMJPEG(o MJPEGOptions) *MJPEG {
	o.Longest, o.Quality, o.MaxViewers = cmp.Or(o.Longest, 1280), cmp.Or(o.Quality, 80), cmp.Or(o.MaxViewers, 16)
	return &MJPEG{options: o, changed: make(chan struct{}), painter: frames.Painter{Limit: o.Longest}}
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
			m.options.Log.Warn("preview picture failed", "frame", item.Result.Frame, "error", err)
		}
		return encodedPicture{version: version}
	}
	m.pictures.Add(1)
	m.encoded = encodedPicture{version: version, seq: item.Result.Seq, jpeg: encoded}
	return m.encoded
}

func (m *MJPEG) encode(item Item) (encoded []byte, err error) {
	if m.canvas, err = m.painter.Paint(item.Picture, m.canvas); err != nil {
		return nil, err
	}
	layers, err := frames.Layers(item.Result)
	if err != nil {
		return nil, err
	}
	frames.Draw(m.canvas, layers)
	var out bytes.Buffer
	if err := jpeg.Encode(&out, m.canvas, &jpeg.Options{Quality: m.options.Quality}); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
