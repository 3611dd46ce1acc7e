package ingest

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/asticode/go-astiav"

	"maskstream/frames"
)

// errNeedsData says that the decoder wants a packet before it gives another picture.
var errNeedsData = errors.New("ingest: decoder needs data")

// decoder turns packets into pictures whose planes lie in FFmpeg's own frames.
type decoder struct {
	context  *astiav.CodecContext
	frame    *astiav.Frame
	scaler   scaler
	rotation frames.Rotation // of the stream
	turned   frames.Rotation // of a frame that said otherwise, and of those after it up to the next key frame
	refused  int64           // packets refused and pictures mended
	last     look
}

// look is how the frame decoded last was, beside its pixels.
type look struct {
	format               astiav.PixelFormat
	space                astiav.ColorSpace
	colourRange          astiav.ColorRange
	interlaced, topFirst bool
}

// decoded is a picture and its time in the stream's time base.
type decoded struct {
	*frames.Picture
	timestamp int64
	timed     bool
}

func newDecoder(c *astiav.CodecParameters, o Options, live bool) (*decoder, error) {
	codec := astiav.FindDecoder(c.CodecID())
	if codec == nil {
		return nil, fmt.Errorf("FFmpeg has no decoder for %s: %w", c.CodecID().Name(), astiav.ErrDecoderNotFound)
	}
	return openDecoder(codec, c, o, live)
}

// openDecoder opens codec, with the parameters of a stream where there is one.
func openDecoder(codec *astiav.Codec, c *astiav.CodecParameters, o Options, live bool) (*decoder, error) {
	d := &decoder{context: astiav.AllocCodecContext(codec), frame: astiav.AllocFrame()}
	if c != nil {
		if err := d.context.FromCodecParameters(c); err != nil {
			d.close()
			return nil, err
		}
	}
	d.context.SetThreadCount(o.Threads)
	if live || c == nil {
		d.context.SetThreadType(astiav.ThreadTypeSlice) // frame threads hold back a picture each
		d.context.SetThreadCount(max(o.Threads, 1))
	}
	options := astiav.NewDictionary()
	defer options.Free()
	if err := options.Set("max_pixels", strconv.Itoa(o.MaxPixels), 0); err != nil {
		d.close()
		return nil, err
	}
	if err := d.context.Open(codec, options); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// send borrows the packet. A packet that cannot be decoded is counted: the pictures around it are still good.
func (d *decoder) send(p *astiav.Packet) {
	if err := d.context.SendPacket(p); err != nil {
		d.refused++
	}
}

// drain makes receive hand out what the decoder holds back, and then io.EOF.
func (d *decoder) drain() {
	_ = d.context.SendPacket(nil) // draining twice is refused, which is what we want
}

// receive returns a picture, errNeedsData, or io.EOF after drain.
func (d *decoder) receive() (decoded, error) {
	for {
		err := d.context.ReceiveFrame(d.frame)
		switch {
		case err == nil:
			p, err := d.picture(d.frame)
			d.frame.Unref()
			return p, err
		case errors.Is(err, astiav.ErrEagain):
			return decoded{}, errNeedsData
		case errors.Is(err, astiav.ErrEof):
			return decoded{}, io.EOF
		}
		d.refused++
		if d.refused > 1<<16 {
			return decoded{}, err
		}
	}
}

// layout is how a frame's planes become a picture's.
type layout struct {
	format frames.Format
	pixels astiav.PixelFormat // what it is called in FFmpeg, where it has to be converted to
	full   bool               // the format's name says full range
}

// direct is the layout of formats whose planes are taken as they are.
func direct(f astiav.PixelFormat) (l layout, ok bool) {
	switch f {
	case astiav.PixelFormatRgb24:
		return layout{frames.RGB24, f, true}, true
	case astiav.PixelFormatGray8:
		return layout{frames.Gray8, f, true}, true
	case astiav.PixelFormatYuv420P:
		return layout{frames.YUV420P, f, false}, true
	case astiav.PixelFormatYuvj420P:
		return layout{frames.YUV420P, f, true}, true
	case astiav.PixelFormatYuv422P:
		return layout{frames.YUV422P, f, false}, true
	case astiav.PixelFormatYuvj422P:
		return layout{frames.YUV422P, f, true}, true
	case astiav.PixelFormatYuv444P:
		return layout{frames.YUV444P, f, false}, true
	case astiav.PixelFormatYuvj444P:
		return layout{frames.YUV444P, f, true}, true
	case astiav.PixelFormatNv12:
		return layout{frames.NV12, f, false}, true
	}
	return layout{}, false
}

// picture describes the frame's planes and keeps a reference of the frame, or of its conversion, for them.
func (d *decoder) picture(f *astiav.Frame) (decoded, error) {
	d.last = lookAt(f)
	l, ok := direct(f.PixelFormat())
	space, full := spaceOf(colourSpace(f), f.Height()), l.full || f.ColorRange() == astiav.ColorRangeJpeg
	var own *astiav.Frame
	if ok && plane(f, 0, 1, 1) != nil {
		own = f.Clone()
	} else {
		if !ok {
			l = nearest(f.PixelFormat())
			full = full || l.full
		}
		own = astiav.AllocFrame()
		own.SetWidth(f.Width())
		own.SetHeight(f.Height())
		own.SetPixelFormat(l.pixels)
		err := own.AllocBuffer(0)
		if err == nil {
			err = d.scaler.convert(f, own, space, full)
		}
		if err != nil {
			own.Free()
			return decoded{}, fmt.Errorf("converting pixel format %s: %w", f.PixelFormat().Name(), err)
		}
	}
	p := &frames.Picture{
		Width: f.Width(), Height: f.Height(), Format: l.format, Matrix: matrixOf(space), FullRange: full,
	}
	if side := f.SideData(astiav.FrameSideDataTypeDisplaymatrix); side != nil {
		d.turned = rotationOf(side.Data())
	} else if isKey(f) {
		d.turned = d.rotation
	}
	p.Rotation = d.turned
	strides := own.Linesize()
	for i, size := range planeSizes(l.format, p.Width, p.Height) {
		if size.width > 0 {
			p.Planes[i], p.Strides[i] = plane(own, i, size.rows, size.width), strides[i]
		}
	}
	if mended(f) {
		d.refused++
	}
	at, timed := bestTimestamp(f)
	return decoded{p.Own(own.Free), at, timed}, nil
}

type planeSize struct{ width, rows int }

func planeSizes(f frames.Format, w, h int) [3]planeSize {
	halfW, halfH := (w+1)/2, (h+1)/2
	switch f {
	case frames.RGB24:
		return [3]planeSize{{3 * w, h}}
	case frames.YUV420P:
		return [3]planeSize{{w, h}, {halfW, halfH}, {halfW, halfH}}
	case frames.YUV422P:
		return [3]planeSize{{w, h}, {halfW, h}, {halfW, h}}
	case frames.YUV444P:
		return [3]planeSize{{w, h}, {w, h}, {w, h}}
	case frames.NV12:
		return [3]planeSize{{w, h}, {2 * halfW, halfH}}
	case frames.Gray8:
	}
	return [3]planeSize{{w, h}}
}

func (d *decoder) close() {
	d.scaler.free()
	d.frame.Free()
	d.context.Free()
}
