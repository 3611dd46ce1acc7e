package ingest

import (
	"context"
	"errors"
	"io"

	"github.com/asticode/go-astiav"
)

// Details are what there is to know of a source once its first picture has been decoded.
type Details struct {
	Info
	ProfileName             string // FFmpeg's name, as "High"; empty where there is none
	CodedWidth, CodedHeight int    // as coded: before cropping and rotation
	Matrix                  string // by which its colours are read: "bt601", "bt709", "bt2020", or "rgb"
	MatrixAssumed           bool   // the source does not say: BT.709 from 720 lines up, else BT.601
	FullRange               bool   // how its values are read
	RangeAssumed            bool   // the source does not say
	Transfer                string // FFmpeg's name of how light is coded; empty where the source does not say
	Interlaced              bool
	TopFieldFirst           bool   // where Interlaced
	TimeBase                [2]int // seconds of a tick: a numerator and a denominator
	SampleAspect            [2]int // of a pixel, width to height; masks count pixels whatever it is
}

// Probe opens a source, decodes one picture and says what it is. It keeps to Options.Timeout, but for files.
func Probe(ctx context.Context, o Options) (Details, error) {
	r, err := Open(ctx, o)
	if err != nil {
		return Details{}, err
	}
	defer r.Close()
	p, err := r.Next(ctx)
	if errors.Is(err, io.EOF) {
		return Details{}, &Error{Op: "reading", Source: r.Info().Source, Kind: ErrNoVideo, Detail: "there is not one picture in it"}
	}
	if err != nil {
		return Details{}, err
	}
	defer p.Release()
	d := Details{Info: r.Info(), Matrix: "rgb", FullRange: p.FullRange, CodedWidth: p.Width, CodedHeight: p.Height, SampleAspect: [2]int{1, 1}}
	d.Rotation = p.Rotation
	d.Width, d.Height = p.DisplaySize()
	if own, ok := r.source.(interface{ details(*Details) }); ok {
		own.details(&d)
	}
	if d.ColourSpace != "rgb" && isYUV(d.PixelFormat) {
		d.Matrix = [...]string{"bt601", "bt709", "bt2020"}[p.Matrix]
		d.MatrixAssumed, d.RangeAssumed = d.ColourSpace == "unspecified", d.ColourRange == "unspecified"
	}
	return d, nil
}

// isYUV says whether a pixel format has luma and chroma.
func isYUV(format string) bool {
	f := astiav.FindPixelFormatByName(format)
	return nearest(f).pixels != astiav.PixelFormatRgb24 && nearest(f).pixels != astiav.PixelFormatGray8
}

func (d *demuxer) details(to *Details) {
	c := d.stream.CodecParameters()
	to.ProfileName, to.Transfer = profileName(c), transferName(c)
	tb := d.stream.TimeBase()
	to.TimeBase = [2]int{tb.Num(), tb.Den()}
	if a := c.SampleAspectRatio(); a.Num() > 0 && a.Den() > 0 {
		to.SampleAspect = [2]int{a.Num(), a.Den()}
	}
	d.decoder.details(to)
	if order := fieldOrder(c); !to.Interlaced && order != "" {
		to.Interlaced, to.TopFieldFirst = true, order == "top"
	}
}

func (s *images) details(to *Details) {
	to.TimeBase = [2]int{1, imageRate}
	s.decoders[to.Codec].details(to)
}

// details are those of the picture decoded last.
func (d *decoder) details(to *Details) {
	if w, h := codedSize(d.context); w > 0 && h > 0 {
		to.CodedWidth, to.CodedHeight = w, h
	}
	to.Interlaced, to.TopFieldFirst = d.last.interlaced, d.last.topFirst
	to.PixelFormat = d.last.format.Name()
	to.ColourSpace, to.ColourRange = spaceName(d.last.space), rangeName(d.last.colourRange, d.last.format)
}
