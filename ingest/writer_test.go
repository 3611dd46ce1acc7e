package ingest

import (
	"fmt"
	"image"
	"path/filepath"
	"testing"

	"maskstream/frames"
)

func TestWrittenVideoReadsBack(t *testing.T) {
	for _, c := range []struct {
		w, h int
		fps  float64
	}{{320, 180, 25}, {213, 119, 29.97}, {64, 720, 12.5}} {
		t.Run(fmt.Sprintf("%d×%d at %g", c.w, c.h, c.fps), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out.mp4")
			w, err := NewVideoWriter(path, c.w, c.h, c.fps)
			if err != nil {
				t.Fatal(err)
			}
			r := open(t, fmt.Sprintf("testscene:?size=%dx%d&frames=20&pace=0", c.w, c.h))
			var written []*image.RGBA
			readAll(t, r, func(p *frames.Picture) {
				img := paint(t, p)
				written = append(written, img)
				if err := w.Write(img); err != nil {
					t.Fatal(err)
				}
			})
			if err := w.Write(image.NewRGBA(image.Rect(0, 0, c.w+1, c.h))); err == nil {
				t.Error("a picture of another size was taken")
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			_ = w.Close()
			back := open(t, path)
			if i := back.Info(); i.Codec != "h264" || i.FPS < c.fps-0.01 || i.FPS > c.fps+0.01 || i.Width != (c.w+1)/2*2 {
				t.Errorf("%+v", i)
			}
			n := readAll(t, back, func(p *frames.Picture) {
				got, want, sum := paint(t, p), written[p.Meta.Frame], 0
				for y := range c.h {
					for x := range c.w {
						a, b := got.RGBAAt(x, y), want.RGBAAt(x, y)
						sum += max(int(a.R)-int(b.R), int(b.R)-int(a.R)) + max(int(a.G)-int(b.G), int(b.G)-int(a.G)) + max(int(a.B)-int(b.B), int(b.B)-int(a.B))
					}
				}
				if mean := float64(sum) / float64(3*c.w*c.h); mean > 4 {
					t.Errorf("picture %d is off by %.1f", p.Meta.Frame, mean)
				}
			})
			if n != 20 {
				t.Errorf("%d pictures", n)
			}
		})
	}
}

func TestVideoThatCannotBeWrittenSaysWhy(t *testing.T) {
	if _, err := NewVideoWriter(filepath.Join(t.TempDir(), "no", "such", "folder.mp4"), 64, 36, 25); err == nil {
		t.Error("no error")
	} else {
		t.Log(err)
	}
	if _, err := NewVideoWriter(filepath.Join(t.TempDir(), "a.mp4"), 0, 36, 25); err == nil {
		t.Error("no error")
	}
}
