package modeltest

import (
	"fmt"

	"maskstream/frames"
	"maskstream/tensor"
)

// Scene draws frames.
type Scene struct {
	Pool          *tensor.Pool // home of the pixels, on the host
	Size          int          // S of the network
	Width, Height int          // of the picture
}

// Dot is a bright disc, in pixels of the picture.
type Dot struct{ X, Y, R float64 }

// Frame draws dots on black: the picture as RGB and the normalised pixels of the network's square, sampled without smoothing.
// The frame has one reference, its Index and its picture's Frame are index. It panics where the pool is exhausted.
func (s Scene) Frame(index int, dots ...Dot) *frames.Frame {
	pixels, err := s.Pool.New(tensor.Float32, 1, 3, s.Size, s.Size)
	if err != nil {
		panic(fmt.Sprintf("modeltest: drawing frame %d: %v", index, err))
	}
	mean, deviation := [3]float32{0.485, 0.456, 0.406}, [3]float32{0.229, 0.224, 0.225}
	square := pixels.Float32s()
	for c := range 3 {
		fill(square[c*s.Size*s.Size:][:s.Size*s.Size], -mean[c]/deviation[c])
	}
	s.draw(s.Size, s.Size, dots, func(at int) {
		for c := range 3 {
			square[c*s.Size*s.Size+at] = (1 - mean[c]) / deviation[c]
		}
	})
	f := frames.NewFrame(pixels, s.Picture(index, dots...))
	f.Index = index
	return f
}

// Picture draws dots on black as RGB; its Frame is index. The caller owns the one reference.
func (s Scene) Picture(index int, dots ...Dot) *frames.Picture {
	picture := (&frames.Picture{Width: s.Width, Height: s.Height, Format: frames.RGB24,
		Planes: [3][]byte{make([]byte, 3*s.Width*s.Height)}, Strides: [3]int{3 * s.Width}, Meta: frames.Meta{Frame: index}}).Own(nil)
	s.draw(s.Width, s.Height, dots, func(at int) {
		for c := range 3 {
			picture.Planes[0][3*at+c] = 255
		}
	})
	return picture
}

// draw calls set for every pixel of a width×height canvas over the whole picture that lies in a dot.
func (s Scene) draw(width, height int, dots []Dot, set func(at int)) {
	sx, sy := float64(s.Width)/float64(width), float64(s.Height)/float64(height)
	for _, d := range dots {
		for y := max(0, int((d.Y-d.R)/sy)); y < min(height, int((d.Y+d.R)/sy)+1); y++ {
			for x := max(0, int((d.X-d.R)/sx)); x < min(width, int((d.X+d.R)/sx)+1); x++ {
				dx, dy := (float64(x)+0.5)*sx-d.X, (float64(y)+0.5)*sy-d.Y
				if dx*dx+dy*dy <= d.R*d.R {
					set(y*width + x)
				}
			}
		}
	}
}
