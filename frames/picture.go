// Package frames turns decoded pictures into what the network eats, and keeps a bounded number of them to look back.
//
// A [Picture] is what a decoder gives: planes of bytes with their colour description. A [Converter] makes a [Frame] of it:
// float32 1×3×S×S, normalised, in one pass, together with the picture for whoever draws. A [Store] keeps the newest frames.
package frames

import (
	"time"

	"maskstream/tensor"
)

// Format is the layout of a picture's planes. Decoders with other layouts are brought to one of these at the rim (ingest).
type Format uint8

const (
	RGB24   Format = iota // one plane, 3 bytes a pixel
	Gray8                 // one plane
	YUV420P               // three planes, chroma ⌈w/2⌉×⌈h/2⌉
	YUV422P               // three planes, chroma ⌈w/2⌉×h
	YUV444P               // three planes, chroma w×h
	NV12                  // two planes, chroma interleaved ⌈w/2⌉×⌈h/2⌉
)

// Matrix is the YUV to RGB matrix (ITU-T H.273 matrix coefficients).
type Matrix uint8

const (
	BT601 Matrix = iota
	BT709
	BT2020
)

// Rotation is how far a picture has to be turned clockwise to stand upright: one of the four turns, with Mirrored where it has
// to be mirrored left to right before.
type Rotation uint8

const (
	Rotate0 Rotation = iota
	Rotate90
	Rotate180
	Rotate270

	Mirrored Rotation = 4
)

// turn is the rotation without the mirror.
func (r Rotation) turn() Rotation { return r &^ Mirrored }

// sideways says whether width and height change places.
func (r Rotation) sideways() bool { return r&1 != 0 }

// Picture is one decoded picture. It has references like a tensor (born with one, Retain to keep, Release when done); the
// last release hands the planes back to whoever owns them.
type Picture struct {
	Width, Height int // as stored, before rotation
	Format        Format
	Planes        [3][]byte
	Strides       [3]int // bytes from row to row
	Matrix        Matrix
	FullRange     bool
	Rotation      Rotation
	Meta          Meta
	Coded         *Coded // as it came, where a browser can play its source so; else nil

	free       func()
	references tensor.References
}

// Meta says which picture of which run this is.
type Meta struct {
	Epoch    int           // grows at a reconnect, a new size, a backward jump of time or a loop
	Began    string        // why the epoch did: "reconnect", "size", "time" or "loop"; empty for the first
	Frame    int           // counts decoded pictures within the epoch, from 0
	PTS      time.Duration // presentation time, as the source says
	Captured time.Time     // the camera's own clock, zero where it sends none
	Received time.Time     // our clock when the packet came
	RTP      uint32        // 90 kHz time stamp of the preview track
}

// Own gives p its one reference and returns it; free is called with the last release and may be nil.
func (p *Picture) Own(free func()) *Picture {
	p.free = free
	p.references.Born()
	return p
}

// Retain adds a reference and returns p.
func (p *Picture) Retain() *Picture {
	p.references.Retain()
	return p
}

// Release takes a reference; nil is ignored.
func (p *Picture) Release() {
	if p != nil && p.references.Release() && p.free != nil {
		p.free()
	}
}

// DisplaySize is the size after rotation: the one masks have and people see.
func (p *Picture) DisplaySize() (width, height int) {
	if p.Rotation.sideways() {
		return p.Height, p.Width
	}
	return p.Width, p.Height
}

// Frame is a picture ready for the network. It owns one reference of each part, and has references itself.
type Frame struct {
	Pixels  *tensor.Tensor // 1×3×S×S float32, normalised
	Picture *Picture       // for drawing and its Meta
	Index   int            // number of the processed frame, given by the track goroutine: distances in memory count these

	references tensor.References
}

// NewFrame takes ownership of pixels and picture.
func NewFrame(pixels *tensor.Tensor, picture *Picture) *Frame {
	f := &Frame{Pixels: pixels, Picture: picture}
	f.references.Born()
	return f
}

// Retain adds a reference and returns f.
func (f *Frame) Retain() *Frame {
	f.references.Retain()
	return f
}

// Release takes a reference; the last one releases pixels and picture. Nil is ignored.
func (f *Frame) Release() {
	if f != nil && f.references.Release() {
		f.Pixels.Release()
		f.Picture.Release()
	}
}
