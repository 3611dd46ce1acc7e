package main

// Cases that every implementation must get right, by their numbers, which need a decoder or the real network.

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/bmp"

	"maskstream/frames"
	"maskstream/memory"
	"maskstream/model"
	"maskstream/propagate"
	"maskstream/rle"
	"maskstream/tensor"
)

func TestT5ChannelOrderIsThatOfTheFile(t *testing.T) {
	const side = 64
	red, blue := color.RGBA{R: 255, A: 255}, color.RGBA{B: 255, A: 255}
	picture := image.NewRGBA(image.Rect(0, 0, side, side))
	disc := func(x0 int, c color.RGBA) {
		for y := range side {
			for x := range side {
				if dx, dy := x-x0, y-32; dx*dx+dy*dy < 100 {
					picture.SetRGBA(x, y, c)
				}
			}
		}
	}
	for i := range picture.Pix {
		picture.Pix[i] = 255
	}
	disc(16, red)
	disc(48, blue)
	pool := tensor.NewPool("video", tensor.Host(), 0)
	mean, deviation := [3]float64{0.485, 0.456, 0.406}, [3]float64{0.229, 0.224, 0.225}
	for name, encode := range map[string]func(io.Writer, image.Image) error{"rgb.png": png.Encode, "bgr.bmp": bmp.Encode} {
		var file bytes.Buffer
		if err := encode(&file, picture); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, file.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		frame, err := firstFrame(t.Context(), path, frames.NewConverter(side, pool))
		if err != nil {
			t.Fatal(err)
		}
		pixels := frame.Pixels.Float32s()
		for x, c := range map[int]color.RGBA{16: red, 48: blue} {
			for channel, level := range []uint8{c.R, c.G, c.B} {
				want := (float64(level)/255 - mean[channel]) / deviation[channel]
				if got := float64(pixels[channel*side*side+32*side+x]); got < want-1e-6 || got > want+1e-6 {
					t.Errorf("%s: channel %d at %d is %v, want %v", name, channel, x, got, want)
				}
			}
		}
		frame.Release()
	}
	tensor.NoLeaks(t, pool)
}

// attended is a network that notes the types of the memories it is given.
type attended struct {
	model.Network
	calls, pointers int
	other           []tensor.DType // than bfloat16
}

func (a *attended) AttendMemory(features *model.Features, attentions []model.Attention) (*tensor.Tensor, error) {
	a.calls++
	for _, attention := range attentions {
		a.pointers += len(attention.Pointers)
		for _, m := range attention.Memories {
			if d := m.Features.DType(); d != tensor.BFloat16 {
				a.other = append(a.other, d)
			}
		}
	}
	return a.Network.AttendMemory(features, attentions)
}

func TestT10MemoriesOf16BitsAreReadByAFloat32Network(t *testing.T) {
	const last = 9
	pool := tensor.NewPool("network", tensor.Host(), 0)
	nano, err := openModel("nano", "", 1, pool)
	if err != nil {
		t.Fatal(err)
	}
	defer nano.Close()
	network, scene := &attended{Network: nano}, newHeldScene(t)
	tracker := propagate.New(network, propagate.Options{FillHoleArea: 8, CorrectAsConditioning: true})
	defer tracker.Close()
	converter := frames.NewConverter(nano.Config().ImageSize, pool)
	on := func(i int, look func(*frames.Frame) (*propagate.Result, error)) *propagate.Result {
		picture := scene.picture(i)
		frame, err := converter.Convert(picture)
		picture.Release()
		if err != nil {
			t.Fatal(err)
		}
		defer frame.Release()
		frame.Index = i
		result, err := look(frame)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	for _, i := range []int{0, 4, 7} { // all lie ahead of a pass that comes from the last frame: no pointer takes part at first
		mask := scene.scene.Mask(i, 1)
		on(i, func(f *frames.Frame) (*propagate.Result, error) {
			return tracker.Prompt(f, 1, propagate.Prompt{Mask: &mask, Width: mask.Width, Height: mask.Height})
		}).Release()
	}
	if err := tracker.Commit(); err != nil {
		t.Fatal(err)
	}
	var encoder rle.Encoder
	for i := last; i >= 0; i-- {
		result := on(i, func(f *frames.Frame) (*propagate.Result, error) { return tracker.Step(f, memory.Reverse) })
		truth := scene.scene.Mask(i, 1)
		low := result.Objects[0].Logits.Shape()
		mask := encoder.FromLogits(result.Objects[0].Logits.Float32s(), low[0], low[1], truth.Height, truth.Width)
		result.Release()
		if iou, err := rle.IoU(mask, truth); err != nil || iou < 0.8 {
			t.Errorf("frame %d: IoU %.3f with the truth, %v", i, iou, err)
		}
		if i == last && network.pointers != 0 {
			t.Errorf("%d pointers take part in the first step", network.pointers)
		}
	}
	if network.calls != last+1-3 || len(network.other) > 0 {
		t.Errorf("%d steps attended to memory, %v", network.calls, network.other)
	}
	tracker.Close()
	tensor.NoLeaks(t, pool)
}
