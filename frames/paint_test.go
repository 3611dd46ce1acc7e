package frames

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"testing"

	"maskstream/rle"
)

func TestPaintedPixelsAreTheUprightBytes(t *testing.T) {
	for _, format := range []Format{RGB24, Gray8, YUV420P, YUV422P, YUV444P, NV12} {
		for rotation := range Mirrored * 2 {
			p := pictureOf(format, 53, 37, func(p *Picture) { p.Rotation, p.Matrix = rotation, BT709 })
			img, err := new(Painter).Paint(p, nil)
			if err != nil {
				t.Fatal(err)
			}
			want, w, h := turn(plainRGB(p), 53, 37, rotation)
			if img.Rect != image.Rect(0, 0, w, h) {
				t.Fatalf("painted %v, want %d×%d", img.Rect, w, h)
			}
			for i, c := range want {
				if got := img.RGBAAt(i%w, i/w); got != (color.RGBA{c[0], c[1], c[2], 255}) {
					t.Fatalf("format %d turned %d, pixel %d: %v, want %v", format, rotation, i, got, c)
				}
			}
		}
	}
}

func TestPaintedPictureWithinALimitIsTheFilteredOne(t *testing.T) {
	for rotation := range Mirrored * 2 {
		p := pictureOf(YUV420P, 160, 90, func(p *Picture) { p.Rotation = rotation })
		painter := Painter{Limit: 64}
		img, err := painter.Paint(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		rgb, w, h := turn(plainRGB(p), 160, 90, rotation)
		if max(img.Rect.Dx(), img.Rect.Dy()) != 64 || min(img.Rect.Dx(), img.Rect.Dy()) != 36 {
			t.Fatalf("painted %v", img.Rect)
		}
		xt, xw := plainFilter(w, img.Rect.Dx())
		yt, yw := plainFilter(h, img.Rect.Dy())
		for y := range img.Rect.Dy() {
			for x := range img.Rect.Dx() {
				var sum [3]float64
				for j, sy := range yt[y] {
					for i, sx := range xt[x] {
						for c := range 3 {
							sum[c] += yw[y][j] * xw[x][i] * float64(rgb[sy*w+sx][c])
						}
					}
				}
				got := img.RGBAAt(x, y)
				for c, v := range [3]uint8{got.R, got.G, got.B} {
					if math.Abs(float64(v)-sum[c]) > 0.51 {
						t.Fatalf("turned %d, %d,%d channel %d: %d, want %.2f", rotation, x, y, c, v, sum[c])
					}
				}
			}
		}
		again, err := painter.Paint(p, img)
		if err != nil || again != img {
			t.Errorf("the image was not reused: %v", err)
		}
	}
}

// rectangle is a mask with one box set.
func rectangle(w, h int, r image.Rectangle) rle.Mask {
	m := rle.Mask{Height: h, Width: w}
	zeros := uint32(0)
	for x := range w {
		for y := range h {
			set := image.Pt(x, y).In(r)
			if set != (len(m.Runs)%2 == 1) {
				m.Runs = append(m.Runs, zeros)
				zeros = 0
			}
			zeros++
		}
	}
	m.Runs = append(m.Runs, zeros)
	return m
}

func TestDrawingColoursTheMaskAndNothingElse(t *testing.T) {
	red := color.RGBA{255, 0, 0, 255}
	for name, c := range map[string]struct {
		maskW, maskH int
		box          image.Rectangle
		want         image.Rectangle // in the picture of 80×60
	}{
		"same size":            {80, 60, image.Rect(10, 20, 30, 50), image.Rect(10, 20, 30, 50)},
		"whole picture":        {80, 60, image.Rect(0, 0, 80, 60), image.Rect(0, 0, 80, 60)},
		"smaller mask":         {40, 30, image.Rect(5, 10, 15, 25), image.Rect(10, 20, 30, 50)},
		"larger mask":          {160, 120, image.Rect(20, 40, 60, 100), image.Rect(10, 20, 30, 50)},
		"one pixel":            {80, 60, image.Rect(79, 59, 80, 60), image.Rect(79, 59, 80, 60)},
		"empty":                {80, 60, image.Rectangle{}, image.Rectangle{}},
		"too small to be seen": {8000, 6000, image.Rect(1, 1, 2, 2), image.Rectangle{}},
	} {
		t.Run(name, func(t *testing.T) {
			img := image.NewRGBA(image.Rect(0, 0, 80, 60))
			Draw(img, []Layer{{Mask: rectangle(c.maskW, c.maskH, c.box), Colour: red}})
			for y := range 60 {
				for x := range 80 {
					got, at := img.RGBAAt(x, y), image.Pt(x, y)
					want := uint8(0)
					switch {
					case at.In(c.want.Inset(1)):
						want = 255 * fillShare / 256
					case at.In(c.want):
						want = 255
					}
					if got.R != want || got.G != 0 {
						t.Fatalf("%v is %v, want red %d", at, got, want)
					}
				}
			}
		})
	}
}

func TestRunsBeyondThePictureAreCutOff(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 10, 10))
	Draw(img, []Layer{{Mask: rle.Mask{Height: 10, Width: 10, Runs: []uint32{95, 4_000_000_000, 7}}, Colour: Colour(1)}})
	corner, want := img.RGBAAt(9, 9), Colour(1)
	want.A = 0 // alpha is left as it was
	if corner != want || img.RGBAAt(9, 4) != (color.RGBA{}) {
		t.Errorf("corner %v, above %v", img.RGBAAt(9, 9), img.RGBAAt(9, 4))
	}
}

func TestLabelStandsOnTheLargestPartAndNotOnASpeck(t *testing.T) {
	ring := rle.Mask{Height: 60, Width: 80} // a frame around a hole is one part, found in two pieces that meet at its end
	for at := range 60 * 80 {
		p := image.Pt(at/60, at%60)
		set := p.In(image.Rect(30, 20, 70, 50)) && !p.In(image.Rect(32, 22, 68, 48)) || p == image.Pt(3, 1) || p.In(image.Rect(31, 0, 70, 2))
		if set != (len(ring.Runs)%2 == 0) || at == 0 {
			ring.Runs = append(ring.Runs, 0)
		}
		ring.Runs[len(ring.Runs)-1]++
	}
	if err := ring.Validate(); err != nil {
		t.Fatal(err)
	}
	if got := bulk(ring); got != image.Rect(30, 20, 70, 50) {
		t.Errorf("the bulk is %v", got)
	}
	if got := labelAt(ring, image.Rect(0, 0, 160, 120)); got != image.Pt(100, 40) {
		t.Errorf("in a picture twice as large the label is at %v", got)
	}
}

func TestLabelsStayInThePicture(t *testing.T) {
	for _, at := range []image.Rectangle{image.Rect(0, 0, 3, 3), image.Rect(197, 97, 200, 100), image.Rect(90, 50, 110, 60)} {
		img := image.NewRGBA(image.Rect(0, 0, 200, 100))
		Draw(img, []Layer{{Mask: rectangle(200, 100, at), Colour: Colour(3), Label: "123"}})
		plate := 0
		for i := 0; i < len(img.Pix); i += 4 {
			if img.Pix[i+3] == 255 {
				plate++
			}
		}
		if plate < 25*15 {
			t.Errorf("mask at %v: %d label pixels", at, plate)
		}
	}
	Draw(image.NewRGBA(image.Rect(0, 0, 5, 5)), []Layer{{Mask: rectangle(5, 5, image.Rect(1, 1, 4, 4)), Colour: Colour(3), Label: "wider than the picture"}})
}

func TestObjectsNextToEachOtherHaveColoursFarApart(t *testing.T) {
	for id := range 20 {
		a := Colour(id)
		for k := 1; k <= 4; k++ {
			b := Colour(id + k)
			d := math.Abs(float64(a.R)-float64(b.R)) + math.Abs(float64(a.G)-float64(b.G)) + math.Abs(float64(a.B)-float64(b.B))
			if d < 90 {
				t.Errorf("objects %d and %d: %v and %v", id, id+k, a, b)
			}
		}
	}
	if Colour(5) != Colour(5) || Colour(math.MaxInt32).A != 255 || Colour(-3).A != 255 {
		t.Error("an id has no fixed colour")
	}
}

func BenchmarkPaint(b *testing.B) {
	for _, limit := range []int{0, 1280} {
		b.Run(fmt.Sprintf("1080p_limit_%d", limit), func(b *testing.B) {
			p, painter := pictureOf(YUV420P, 1920, 1080, nil), Painter{Limit: limit}
			var img *image.RGBA
			for b.Loop() {
				img, _ = painter.Paint(p, img)
			}
		})
	}
}

func BenchmarkDraw(b *testing.B) {
	img := image.NewRGBA(image.Rect(0, 0, 1280, 720))
	layers := []Layer{{Mask: rectangle(1280, 720, image.Rect(300, 100, 700, 600)), Colour: Colour(1), Label: "1"}}
	for b.Loop() {
		Draw(img, layers)
	}
}
