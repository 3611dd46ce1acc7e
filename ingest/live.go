package ingest

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/asticode/go-astiav"

	"maskstream/frames"
)

// LiveEncoder codes pictures so that a browser can show each at once: no picture refers to a later one, and none waits in the encoder.
// Pictures are scaled down to 720 lines at most, and turned upright. One goroutine at a time.
type LiveEncoder struct {
	codec frames.Codec

	picture layoutOf // that the encoder is open for
	encoder *astiav.CodecContext
	source  *astiav.Frame // a copy of the picture's planes, with the padding that libswscale reads ahead into
	scaled  *astiav.Frame // 4:2:0, as stored
	upright *astiav.Frame // scaled itself where nothing is turned
	packet  *astiav.Packet
	scaler  scaler
	next    int64
}

// layoutOf is what an encoder depends on.
type layoutOf struct {
	width, height int
	format        frames.Format
	matrix        frames.Matrix
	fullRange     bool
	rotation      frames.Rotation
}

// NewLiveEncoder has nothing open yet: that needs a picture.
func NewLiveEncoder(codec frames.Codec) *LiveEncoder { return &LiveEncoder{codec: codec} }

// Encode borrows the picture. key asks for one that is decodable without those before; the first is in any case.
func (e *LiveEncoder) Encode(p *frames.Picture, key bool) (*frames.Coded, error) {
	layout := layoutOf{p.Width, p.Height, p.Format, p.Matrix, p.FullRange, p.Rotation}
	if e.encoder == nil || layout != e.picture {
		e.Close()
		if err := e.open(layout); err != nil {
			e.Close()
			return nil, fmt.Errorf("coding %s for the preview: %w", e.codec, err)
		}
	}
	coded, err := e.encode(p, key)
	if err != nil {
		return nil, fmt.Errorf("coding %s for the preview: %w", e.codec, err)
	}
	return coded, nil
}

// Most pixels that a live picture has, either way up.
const (
	liveLonger  = 1280
	liveShorter = 720
)

// liveSize is the picture's size as stored, scaled down to what is shown at most, and even.
func liveSize(width, height int) (w, h int) {
	scale := min(1, liveLonger/float64(max(width, height)), liveShorter/float64(min(width, height)))
	even := func(n int) int { return max(16, int(float64(n)*scale+0.5)&^1) }
	return even(width), even(height)
}

func (e *LiveEncoder) open(l layoutOf) (err error) {
	ffmpegLog.start()
	w, h := liveSize(l.width, l.height)
	e.packet = astiav.AllocPacket()
	if e.source, err = newFrame(l.width, l.height, pixelsOf(l.format)); err != nil {
		return err
	}
	if e.scaled, err = newFrame(w, h, astiav.PixelFormatYuv420P); err != nil {
		return err
	}
	e.upright = e.scaled
	if sideways(l.rotation) {
		w, h = h, w
	}
	if l.rotation != frames.Rotate0 {
		if e.upright, err = newFrame(w, h, astiav.PixelFormatYuv420P); err != nil {
			return err
		}
	}
	name, options := e.settings(l, w*h)
	codec := astiav.FindEncoderByName(name)
	if codec == nil {
		return fmt.Errorf("%w: this FFmpeg has no %s", ErrUnsupported, name)
	}
	e.encoder = astiav.AllocCodecContext(codec)
	e.encoder.SetWidth(w)
	e.encoder.SetHeight(h)
	e.encoder.SetPixelFormat(astiav.PixelFormatYuv420P)
	e.encoder.SetTimeBase(astiav.NewRational(1, 25)) // pictures are counted: their times are the track's
	e.encoder.SetFramerate(astiav.NewRational(25, 1))
	e.encoder.SetThreadCount(2)
	d := astiav.NewDictionary()
	defer d.Free()
	for _, kv := range options {
		if err := d.Set(kv[0], kv[1], 0); err != nil {
			return err
		}
	}
	if err := e.encoder.Open(codec, d); err != nil {
		return err
	}
	e.picture = l
	return nil
}

// settings are the encoder's name and options for pictures of so many pixels.
func (e *LiveEncoder) settings(l layoutOf, pixels int) (name string, options [][2]string) {
	bits := max(600_000, pixels*4) // a second: 3.7 Mbit at 720p
	rate := strconv.Itoa(bits)
	if e.codec == frames.VP8 {
		return "libvpx", [][2]string{{"deadline", "realtime"}, {"cpu-used", "12"}, {"lag-in-frames", "0"}, {"auto-alt-ref", "0"}, {"b", rate}, {"maxrate", rate},
			{"bufsize", rate}, {"g", "250"}, {"error-resilient", "default"}}
	}
	space := "bt470bg"
	if l.matrix == frames.BT709 || l.matrix == frames.BT2020 {
		space = "bt709"
	}
	return "libx264", [][2]string{{"preset", "ultrafast"}, {"tune", "zerolatency"}, {"profile", "baseline"}, {"forced-idr", "1"}, {"crf", "23"}, {"maxrate", rate},
		{"bufsize", strconv.Itoa(bits / 2)}, {"g", "250"}, {"colorspace", space}, {"color_range", "tv"}}
}

func (e *LiveEncoder) encode(p *frames.Picture, key bool) (*frames.Coded, error) {
	fillPlanes(e.source, p)
	if err := e.scaler.live(e.source, e.scaled, p.Matrix, p.FullRange || p.Format == frames.RGB24); err != nil {
		return nil, err
	}
	if e.upright != e.scaled {
		turn(e.upright, e.scaled, p.Rotation)
	}
	e.upright.SetPts(e.next)
	e.next++
	e.upright.SetPictureType(astiav.PictureTypeNone)
	if key {
		e.upright.SetPictureType(astiav.PictureTypeI)
	}
	if err := e.encoder.SendFrame(e.upright); err != nil {
		return nil, err
	}
	e.packet.Unref()
	if err := e.encoder.ReceivePacket(e.packet); errors.Is(err, astiav.ErrEagain) {
		return nil, errors.New("the encoder holds the picture back")
	} else if err != nil {
		return nil, err
	}
	data := e.packet.Data()
	return &frames.Coded{Codec: e.codec, Key: e.packet.Flags().Has(astiav.PacketFlagKey), Data: append(make([]byte, 0, len(data)), data...)}, nil
}

// Close frees the encoder; Encode opens it again.
func (e *LiveEncoder) Close() {
	if e.encoder != nil {
		e.encoder.Free()
	}
	if e.upright != nil && e.upright != e.scaled {
		e.upright.Free()
	}
	for _, f := range []*astiav.Frame{e.source, e.scaled} {
		if f != nil {
			f.Free()
		}
	}
	if e.packet != nil {
		e.packet.Free()
	}
	e.scaler.free()
	*e = LiveEncoder{codec: e.codec}
}
