package main

import (
	"fmt"
	"image"
	"image/color"

	"golang.org/x/image/draw"

	"maskstream/frames"
	"maskstream/ingest"
	"maskstream/rle"
)

// overlay is the video with the masks drawn over it. It has the size of its first picture, as a video has one size.
type overlay struct {
	path    string
	fps     float64
	painter frames.Painter
	canvas  *image.RGBA
	fitted  *image.RGBA         // for pictures of another size
	video   *ingest.VideoWriter // from the first picture on
	size    image.Rectangle     // of the video
}

// add draws one frame. It borrows the picture.
func (o *overlay) add(p *frames.Picture, f *rle.Frame) error {
	if err := o.draw(p, f); err != nil {
		return fmt.Errorf("--overlay: %w", err)
	}
	return nil
}

func (o *overlay) draw(p *frames.Picture, f *rle.Frame) (err error) {
	if o.canvas, err = o.painter.Paint(p, o.canvas); err != nil {
		return err
	}
	layers, err := frames.Layers(f)
	if err != nil {
		return err
	}
	frames.Draw(o.canvas, layers)
	if o.video == nil {
		o.size = o.canvas.Rect
		if o.video, err = ingest.NewVideoWriter(o.path, o.size.Dx(), o.size.Dy(), o.fps); err != nil {
			return err
		}
	}
	return o.video.Write(o.fit())
}

// fit is the canvas, where it has another size than the video as large as it fits in, between black bars.
func (o *overlay) fit() *image.RGBA {
	if o.canvas.Rect == o.size {
		return o.canvas
	}
	if o.fitted == nil {
		o.fitted = image.NewRGBA(o.size)
	}
	draw.Draw(o.fitted, o.size, image.NewUniform(color.Black), image.Point{}, draw.Src)
	draw.ApproxBiLinear.Scale(o.fitted, within(o.canvas.Rect.Size(), o.size), o.canvas, o.canvas.Rect, draw.Src, nil)
	return o.fitted
}

// within is the largest rectangle of the given proportions in the middle of bounds.
func within(size image.Point, bounds image.Rectangle) image.Rectangle {
	w, h := bounds.Dx(), bounds.Dy()
	if w*size.Y > h*size.X {
		w = max(1, h*size.X/size.Y)
	} else {
		h = max(1, w*size.Y/size.X)
	}
	at := image.Pt((bounds.Dx()-w)/2, (bounds.Dy()-h)/2)
	return image.Rectangle{Min: at, Max: at.Add(image.Pt(w, h))}
}

func (o *overlay) close() error {
	if o.video == nil {
		return nil
	}
	if err := o.video.Close(); err != nil {
		return fmt.Errorf("--overlay: %w", err)
	}
	return nil
}
