package ingest

import (
	"errors"
	"fmt"
	"image"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/asticode/go-astiav"
)

// Endings of the files that a VideoWriter can write.
var Endings = []string{".mp4", ".m4v", ".mov", ".mkv"}

// CanWrite says whether a file's ending is one of them.
func CanWrite(path string) bool {
	return slices.Contains(Endings, strings.ToLower(filepath.Ext(path)))
}

// VideoWriter writes a video file of drawn pictures, of the kind that its ending says: H.264 where this FFmpeg has libx264, else MPEG-4. One goroutine at a
// time.
type VideoWriter struct {
	path          string
	width, height int // of the pictures; the video is padded to even sizes

	output  *astiav.FormatContext
	file    *astiav.IOContext
	encoder *astiav.CodecContext
	stream  *astiav.Stream
	drawn   *astiav.Frame // RGBA
	packet  *astiav.Packet
	scaler  scaler
	space   astiav.ColorSpace
	next    int64
	closed  bool
}

// NewVideoWriter creates or replaces the file at path. fps of 0 is taken for 25.
func NewVideoWriter(path string, width, height int, fps float64) (_ *VideoWriter, err error) {
	ffmpegLog.start()
	if width < 1 || height < 1 {
		return nil, fmt.Errorf("writing %s: %w: a video of %d×%d pixels", path, ErrInvalid, width, height)
	}
	w := &VideoWriter{path: path, width: width, height: height, space: spaceOf(astiav.ColorSpaceUnspecified, height), packet: astiav.AllocPacket()}
	defer func() {
		if err != nil {
			w.free()
			err = fmt.Errorf("writing %s: %w", path, err)
		}
	}()
	if w.output, err = astiav.AllocOutputFormatContext(nil, container(path), path); err != nil {
		return nil, err
	}
	evenW, evenH := (width+1)&^1, (height+1)&^1
	if err = w.openEncoder(evenW, evenH, rateOf(fps)); err != nil {
		return nil, err
	}
	w.stream = w.output.NewStream(nil)
	if err = w.stream.CodecParameters().FromCodecContext(w.encoder); err != nil {
		return nil, err
	}
	w.stream.SetTimeBase(w.encoder.TimeBase())
	if w.file, err = astiav.OpenIOContext("file:"+path, astiav.NewIOContextFlags(astiav.IOContextFlagWrite)); err != nil {
		return nil, err
	}
	w.output.SetPb(w.file)
	if err = w.output.WriteHeader(nil); err != nil {
		return nil, err
	}
	if w.drawn, err = newFrame(evenW, evenH, astiav.PixelFormatRgba); err != nil {
		return nil, err
	}
	return w, nil
}

// container is FFmpeg's name of what a file is by its ending; MP4 where that says nothing.
func container(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".mkv":
		return "matroska"
	case ".mov":
		return "mov"
	}
	return "mp4"
}

func newFrame(w, h int, f astiav.PixelFormat) (*astiav.Frame, error) {
	frame := astiav.AllocFrame()
	frame.SetWidth(w)
	frame.SetHeight(h)
	frame.SetPixelFormat(f)
	if err := frame.AllocBuffer(0); err != nil {
		frame.Free()
		return nil, err
	}
	return frame, nil
}

func (w *VideoWriter) openEncoder(width, height int, rate astiav.Rational) error {
	codec := astiav.FindEncoderByName("libx264")
	options := [][2]string{{"preset", "veryfast"}, {"crf", "20"}}
	if codec == nil {
		codec, options = astiav.FindEncoder(astiav.CodecIDMpeg4), [][2]string{{"q", "4"}}
	}
	if codec == nil {
		return fmt.Errorf("%w: this FFmpeg has neither libx264 nor mpeg4", ErrUnsupported)
	}
	space, name := "bt470bg", "smpte170m"
	if w.space == astiav.ColorSpaceBt709 {
		space, name = "bt709", "bt709"
	}
	options = append(options, [2]string{"colorspace", space}, [2]string{"color_range", "tv"}, [2]string{"color_primaries", name}, [2]string{"color_trc", name})
	w.encoder = astiav.AllocCodecContext(codec)
	w.encoder.SetWidth(width)
	w.encoder.SetHeight(height)
	w.encoder.SetPixelFormat(astiav.PixelFormatYuv420P)
	w.encoder.SetTimeBase(astiav.NewRational(rate.Den(), rate.Num()))
	w.encoder.SetFramerate(rate)
	w.encoder.SetThreadCount(runtime.GOMAXPROCS(0))
	w.encoder.SetFlags(w.encoder.Flags().Add(astiav.CodecContextFlagGlobalHeader)) // MP4 keeps the parameter sets in its header
	d := astiav.NewDictionary()
	defer d.Free()
	for _, kv := range options {
		if err := d.Set(kv[0], kv[1], 0); err != nil {
			return err
		}
	}
	return w.encoder.Open(codec, d)
}

// rateOf is fps as a fraction; rates like 29.97 are over 1001.
func rateOf(fps float64) astiav.Rational {
	if !(fps > 0 && fps <= 1000) {
		fps = 25
	}
	if whole := math.Round(fps); math.Abs(fps-whole) < 1e-3 {
		return astiav.NewRational(int(whole), 1)
	}
	if ntsc := math.Round(fps * 1.001); math.Abs(fps*1.001-ntsc) < 2e-3 {
		return astiav.NewRational(int(ntsc)*1000, 1001)
	}
	if fps > 60 {
		return astiav.NewRational(int(math.Round(fps*60)), 60)
	}
	return astiav.NewRational(int(math.Round(fps*1000)), 1000)
}

// Write borrows img, which has the writer's size, as the next picture.
func (w *VideoWriter) Write(img *image.RGBA) error {
	if img.Rect.Dx() != w.width || img.Rect.Dy() != w.height {
		return fmt.Errorf("writing %s: %w: a picture of %d×%d in a video of %d×%d", w.path, ErrInvalid, img.Rect.Dx(), img.Rect.Dy(), w.width, w.height)
	}
	fillRows(w.drawn, img.Pix[img.PixOffset(img.Rect.Min.X, img.Rect.Min.Y):], img.Stride, w.width, w.height)
	// A buffer of its own for each: the encoder holds on to several.
	frame, err := newFrame(w.drawn.Width(), w.drawn.Height(), astiav.PixelFormatYuv420P)
	if err != nil {
		return fmt.Errorf("writing %s: %w", w.path, err)
	}
	defer frame.Free()
	if err := w.scaler.convert(w.drawn, frame, w.space, false); err != nil {
		return fmt.Errorf("writing %s: %w", w.path, err)
	}
	frame.SetPts(w.next)
	w.next++
	return w.encode(frame)
}

// encode gives a frame to the encoder, nil for the end, and writes what it gives back.
func (w *VideoWriter) encode(frame *astiav.Frame) error {
	if err := w.encoder.SendFrame(frame); err != nil {
		return fmt.Errorf("writing %s: encoding: %w", w.path, err)
	}
	for {
		w.packet.Unref()
		switch err := w.encoder.ReceivePacket(w.packet); {
		case errors.Is(err, astiav.ErrEagain), errors.Is(err, astiav.ErrEof):
			return nil
		case err != nil:
			return fmt.Errorf("writing %s: encoding: %w", w.path, err)
		}
		w.packet.SetStreamIndex(w.stream.Index())
		if w.packet.Duration() == 0 {
			w.packet.SetDuration(1)
		}
		w.packet.RescaleTs(w.encoder.TimeBase(), w.stream.TimeBase())
		if err := w.output.WriteInterleavedFrame(w.packet); err != nil {
			return fmt.Errorf("writing %s: %w", w.path, err)
		}
	}
}

// Close finishes the file, which cannot be played before. Closing twice is harmless.
func (w *VideoWriter) Close() error {
	if w.closed {
		return nil
	}
	err := w.encode(nil)
	if trailer := w.output.WriteTrailer(); err == nil && trailer != nil {
		err = fmt.Errorf("writing %s: %w", w.path, trailer)
	}
	if closed := w.file.Close(); err == nil && closed != nil {
		err = fmt.Errorf("writing %s: %w", w.path, closed)
	}
	w.file = nil
	w.free()
	return err
}

func (w *VideoWriter) free() {
	w.closed = true
	if w.drawn != nil {
		w.drawn.Free()
	}
	if w.encoder != nil {
		w.encoder.Free()
	}
	if w.file != nil {
		_ = w.file.Close() // an earlier error is reported
	}
	if w.output != nil {
		w.output.Free()
	}
	w.packet.Free()
	w.scaler.free()
}
