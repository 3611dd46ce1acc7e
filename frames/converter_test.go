package frames

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"maskstream/tensor"
)

// pictureOf is a picture with gradients, edges and noise, so that every tap and both ends of the clamp matter.
func pictureOf(format Format, w, h int, edit func(*Picture)) *Picture {
	p := &Picture{Width: w, Height: h, Format: format}
	noise := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	fill := func(plane, width, height, samples int) {
		p.Strides[plane] = width*samples + 5 // rows never touch each other
		p.Planes[plane] = make([]byte, p.Strides[plane]*height)
		for y := range height {
			for x := range width * samples {
				v := 255 * x / (width * samples)
				if (x/7+y/5)%3 == 0 {
					v = noise.IntN(256)
				}
				p.Planes[plane][y*p.Strides[plane]+x] = byte(v)
			}
		}
	}
	halfW, halfH := (w+1)/2, (h+1)/2
	switch format {
	case RGB24:
		fill(0, w, h, 3)
	case Gray8:
		fill(0, w, h, 1)
	case YUV420P:
		fill(0, w, h, 1)
		fill(1, halfW, halfH, 1)
		fill(2, halfW, halfH, 1)
	case YUV422P:
		fill(0, w, h, 1)
		fill(1, halfW, h, 1)
		fill(2, halfW, h, 1)
	case YUV444P:
		fill(0, w, h, 1)
		fill(1, w, h, 1)
		fill(2, w, h, 1)
	case NV12:
		fill(0, w, h, 1)
		fill(1, halfW, halfH, 2)
	}
	if edit != nil {
		edit(p)
	}
	return p.Own(nil)
}

// plainRGB is the stored picture as bytes, pixel by pixel, by the formula in colour.go and nothing of its code.
func plainRGB(p *Picture) (rgb [][3]byte) {
	clamp := func(v int64) byte { return byte(min(max(v>>16, 0), 255)) }
	k := map[Matrix][2]float64{BT601: {0.299, 0.114}, BT709: {0.2126, 0.0722}, BT2020: {0.2627, 0.0593}}[p.Matrix]
	kr, kb := k[0], k[1]
	kg := 1 - kr - kb
	ys, cs, y0 := 1.0, 1.0, int64(0)
	if !p.FullRange {
		ys, cs, y0 = 255.0/219, 255.0/224, 16
	}
	constant := func(v float64) int64 { return int64(math.Round(v * 65536)) }
	for y := range p.Height {
		for x := range p.Width {
			at := func(plane, x, y int) int64 { return int64(p.Planes[plane][y*p.Strides[plane]+x]) }
			var luma, u, v int64 = 0, 128, 128
			switch p.Format {
			case RGB24:
				rgb = append(rgb, [3]byte{byte(at(0, 3*x, y)), byte(at(0, 3*x+1, y)), byte(at(0, 3*x+2, y))})
				continue
			case Gray8:
				luma = at(0, x, y)
			case YUV444P:
				luma, u, v = at(0, x, y), at(1, x, y), at(2, x, y)
			case YUV420P:
				luma = at(0, x, y)
				u = plainChroma(p, x, y, (p.Height+1)/2, func(x, y int) int64 { return at(1, x, y) })
				v = plainChroma(p, x, y, (p.Height+1)/2, func(x, y int) int64 { return at(2, x, y) })
			case YUV422P:
				luma = at(0, x, y)
				u = plainChroma(p, x, y, p.Height, func(x, y int) int64 { return at(1, x, y) })
				v = plainChroma(p, x, y, p.Height, func(x, y int) int64 { return at(2, x, y) })
			case NV12:
				luma = at(0, x, y)
				u = plainChroma(p, x, y, (p.Height+1)/2, func(x, y int) int64 { return at(1, 2*x, y) })
				v = plainChroma(p, x, y, (p.Height+1)/2, func(x, y int) int64 { return at(1, 2*x+1, y) })
			}
			l := constant(ys)*(luma-y0) + 32768
			rgb = append(rgb, [3]byte{
				clamp(l + constant(2*(1-kr)*cs)*(v-128)),
				clamp(l - constant(2*(1-kb)*kb/kg*cs)*(u-128) - constant(2*(1-kr)*kr/kg*cs)*(v-128)),
				clamp(l + constant(2*(1-kb)*cs)*(u-128)),
			})
		}
	}
	return rgb
}

// plainChroma is one chroma value by the formula in chroma.go.
func plainChroma(p *Picture, x, y, rows int, at func(x, y int) int64) int64 {
	columns := (p.Width + 1) / 2
	xs, xw := plainTaps(x, p.Width, columns)
	ys, yw := plainTaps(y, p.Height, rows)
	sum := int64(32768)
	for j := range 4 {
		for i := range 4 {
			sum += yw[j] * xw[i] * at(xs[i], ys[j])
		}
	}
	return min(max(sum>>16, 0), 255)
}

func plainTaps(x, pixels, samples int) (at [4]int, weight [4]int64) {
	if pixels == samples {
		return [4]int{x, x, x, x}, [4]int64{256}
	}
	p := (float64(x)+0.5)*float64(samples)/float64(pixels) - 0.5
	i := math.Floor(p)
	left := int64(256)
	for j := range 4 {
		t := math.Abs(p - i - float64(j-1))
		k := 1.4*t*t*t - 2.4*t*t + 1
		if t >= 1 {
			k = -0.6 * (t*t*t - 5*t*t + 8*t - 4)
		}
		at[j] = min(max(int(i)+j-1, 0), samples-1)
		weight[j] = int64(math.Round(256 * k))
		if j == 3 {
			weight[j] = left
		}
		left -= weight[j]
	}
	return at, weight
}

// turn stands a picture upright: mirrored where it has to be, then one quarter after another.
func turn(rgb [][3]byte, w, h int, r Rotation) ([][3]byte, int, int) {
	if r&Mirrored != 0 {
		rgb = slices.Clone(rgb)
		for y := range h {
			slices.Reverse(rgb[y*w:][:w])
		}
	}
	for range r.turn() {
		turned := make([][3]byte, len(rgb))
		for y := range h {
			for x := range w {
				turned[x*h+h-1-y] = rgb[y*w+x]
			}
		}
		rgb, w, h = turned, h, w
	}
	return rgb, w, h
}

// plainFilter is the definition of the antialiased bilinear filter: for every output its taps and weights.
func plainFilter(in, out int) (taps [][]int, weights [][]float64) {
	scale := float64(in) / float64(out)
	radius := max(scale, 1)
	for o := range out {
		centre := (float64(o) + 0.5) * scale
		var t []int
		var w []float64
		sum := 0.0
		for x := range in {
			if v := 1 - math.Abs(float64(x)+0.5-centre)/radius; v > 0 {
				t, w, sum = append(t, x), append(w, v), sum+v
			}
		}
		for i := range w {
			w[i] /= sum
		}
		taps, weights = append(taps, t), append(weights, w)
	}
	return taps, weights
}

func plainFrame(p *Picture, size int) []float64 {
	rgb, w, h := turn(plainRGB(p), p.Width, p.Height, p.Rotation)
	xt, xw := plainFilter(w, size)
	yt, yw := plainFilter(h, size)
	out := make([]float64, 3*size*size)
	mean, deviation := [3]float64{0.485, 0.456, 0.406}, [3]float64{0.229, 0.224, 0.225}
	for c := range 3 {
		rows := make([]float64, h*size)
		for y := range h {
			for o := range size {
				for i, x := range xt[o] {
					rows[y*size+o] += xw[o][i] * float64(rgb[y*w+x][c]) / 255
				}
			}
		}
		for o := range size {
			for x := range size {
				v := 0.0
				for i, y := range yt[o] {
					v += yw[o][i] * rows[y*size+x]
				}
				out[(c*size+o)*size+x] = (v - mean[c]) / deviation[c]
			}
		}
	}
	return out
}

func TestFramesEqualThePlainRoute(t *testing.T) {
	formats := map[string]Format{"rgb24": RGB24, "gray8": Gray8, "yuv420p": YUV420P, "yuv422p": YUV422P, "yuv444p": YUV444P, "nv12": NV12}
	type size struct{ w, h, s int }
	cases := []struct {
		size
		rotation Rotation
		matrix   Matrix
		full     bool
		workers  int
	}{
		{size{853, 479, 256}, Rotate0, BT601, false, 1},
		{size{853, 479, 256}, Rotate90, BT709, true, 2},
		{size{479, 121, 64}, Rotate180, BT2020, false, 3},
		{size{479, 121, 64}, Rotate270, BT601, true, 1},
		{size{53, 37, 128}, Rotate0, BT709, false, 1},   // enlarged both ways
		{size{53, 37, 128}, Rotate90, BT709, false, 3},  //
		{size{131, 40, 64}, Rotate270, BT709, false, 2}, // reduced one way, enlarged the other
		{size{64, 200, 64}, Rotate0, BT709, false, 1},   // one way as it is
		{size{64, 64, 64}, Rotate90, BT709, false, 2},   // not resampled
		{size{1601, 33, 32}, Rotate0, BT601, true, 1},   // segments longer than a lane holds
		{size{1, 1, 32}, Rotate0, BT601, false, 1},
		{size{53, 37, 64}, Mirrored, BT601, false, 1},
		{size{131, 77, 64}, Mirrored | Rotate90, BT709, true, 2},
		{size{131, 77, 64}, Mirrored | Rotate180, BT601, false, 1},
		{size{64, 64, 64}, Mirrored | Rotate270, BT601, false, 1},
		{size{100, 75, 30}, Rotate0, BT601, false, 1}, // no power of two
	}
	for name, format := range formats {
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s %d×%d to %d turned %d", name, c.w, c.h, c.s, c.rotation), func(t *testing.T) {
				pool := tensor.NewPool("test", tensor.Host(), 0)
				defer tensor.NoLeaks(t, pool)
				p := pictureOf(format, c.w, c.h, func(p *Picture) { p.Matrix, p.FullRange, p.Rotation = c.matrix, c.full, c.rotation })
				defer p.Release()
				converter := NewConverter(c.s, pool)
				converter.Workers = c.workers
				f, err := converter.Convert(p)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Release()
				worst := 0.0
				want := plainFrame(p, c.s)
				for i, v := range f.Pixels.Float32s() {
					worst = max(worst, math.Abs(float64(v)-want[i]))
				}
				if !(worst <= 1e-5) {
					t.Errorf("off by %g, want at most 1e-5", worst)
				}
			})
		}
	}
}

func TestFramesOfTheModelsSizeAreBitIdenticalForAll256Bytes(t *testing.T) {
	pool := tensor.NewPool("test", tensor.Host(), 0)
	defer tensor.NoLeaks(t, pool)
	p := &Picture{Width: 16, Height: 16, Format: RGB24, Strides: [3]int{48}}
	p.Planes[0] = make([]byte, 48*16)
	for i := range p.Planes[0] {
		p.Planes[0][i] = byte(i / 3)
	}
	p.Own(nil)
	defer p.Release()
	f, err := NewConverter(16, pool).Convert(p)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	mean, deviation := [3]float32{0.485, 0.456, 0.406}, [3]float32{0.229, 0.224, 0.225}
	for channel := range 3 {
		for b := range 256 {
			route := float32(float64(b) / 255) // float64, rounded once; mean and deviation are float32, as the reference has them
			want := (route - mean[channel]) / deviation[channel]
			if got := f.Pixels.Float32s()[channel*256+b]; math.Float32bits(got) != math.Float32bits(want) {
				t.Errorf("byte %d, channel %d: %v, want %v", b, channel, got, want)
			}
		}
	}
}

func TestFixedPointColoursAreTheRealOnesRounded(t *testing.T) {
	for _, m := range []Matrix{BT601, BT709, BT2020} {
		for _, full := range []bool{false, true} {
			c := newColours(m, full)
			kr, kb := map[Matrix]float64{BT601: 0.299, BT709: 0.2126, BT2020: 0.2627}[m], map[Matrix]float64{BT601: 0.114, BT709: 0.0722, BT2020: 0.0593}[m]
			ys, cs, y0 := 255.0/219, 255.0/224, 16.0
			if full {
				ys, cs, y0 = 1, 1, 0
			}
			for y := 0; y < 256; y += 3 {
				for u := 0; u < 256; u += 5 {
					for v := 0; v < 256; v += 5 {
						word := c.pixel(byte(y), uint32(u+chromaBias), uint32(v+chromaBias))
						luma := (float64(y) - y0) * ys
						r := luma + 2*(1-kr)*cs*float64(v-128)
						b := luma + 2*(1-kb)*cs*float64(u-128)
						g := (luma - kr*r - kb*b) / (1 - kr - kb)
						for i, want := range [3]float64{r, g, b} {
							want = min(max(want, 0), 255)
							if got := float64(word >> (8 * i) & 0xff); math.Abs(got-want) > 0.51 {
								t.Fatalf("matrix %d full %v y %d u %d v %d: channel %d is %v, want %v", m, full, y, u, v, i, got, want)
							}
						}
					}
				}
			}
		}
	}
}

func TestSpentPoolIsAnErrorAndKeepsNothing(t *testing.T) {
	pool := tensor.NewPool("small", tensor.Host(), 100)
	released := false
	p := pictureOf(RGB24, 8, 8, nil)
	p.Own(func() { released = true })
	if _, err := NewConverter(64, pool).Convert(p); !errors.Is(err, tensor.ErrExhausted) {
		t.Errorf("got %v", err)
	}
	p.Release()
	if !released {
		t.Error("the picture is still held")
	}
	tensor.NoLeaks(t, pool)
}

func TestPictureWithTooFewBytesIsRefused(t *testing.T) {
	for _, edit := range []func(*Picture){
		func(p *Picture) { p.Planes[2] = p.Planes[2][:len(p.Planes[2])-6] },
		func(p *Picture) { p.Strides[0] = p.Width - 1 },
		func(p *Picture) { p.Width = 0 },
		func(p *Picture) { p.Format = 99 },
	} {
		pool := tensor.NewPool("test", tensor.Host(), 0)
		if _, err := NewConverter(8, pool).Convert(pictureOf(YUV420P, 31, 17, edit)); err == nil {
			t.Error("no error")
		}
		tensor.NoLeaks(t, pool)
	}
}

func BenchmarkFrameToTensor(b *testing.B) {
	for _, c := range []struct {
		name    string
		w, h, s int
		format  Format
		workers int
	}{
		{"720p_to_256", 1280, 720, 256, YUV420P, 1},
		{"1080p_to_256", 1920, 1080, 256, YUV420P, 1},
		{"1080p_to_256_2_workers", 1920, 1080, 256, YUV420P, 2},
		{"720p_to_1024", 1280, 720, 1024, YUV420P, 1},
		{"1080p_to_1024", 1920, 1080, 1024, YUV420P, 1},
		{"640x360_rgb_to_256", 640, 360, 256, RGB24, 1},
		{"256_to_256", 256, 256, 256, YUV420P, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			pool := tensor.NewPool("bench", tensor.Host(), 0)
			converter := NewConverter(c.s, pool)
			converter.Workers = c.workers
			p := pictureOf(c.format, c.w, c.h, nil)
			b.ReportAllocs()
			for b.Loop() {
				f, err := converter.Convert(p)
				if err != nil {
					b.Fatal(err)
				}
				f.Release()
			}
		})
	}
}
