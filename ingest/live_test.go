package ingest

import (
	"testing"
	"time"

	"maskstream/frames"
)

// patterned is a picture whose stored upper left quarter is white, the rest black.
func patterned(f frames.Format, w, h int, r frames.Rotation) *frames.Picture {
	p := &frames.Picture{Width: w, Height: h, Format: f, Rotation: r, FullRange: true}
	for i, size := range planeSizes(f, w, h) {
		if size.width == 0 {
			continue
		}
		p.Planes[i], p.Strides[i] = make([]byte, size.width*size.rows), size.width
		for y := range size.rows {
			for x := range size.width {
				v := byte(0)
				switch {
				case i > 0:
					v = 128
				case y < size.rows/2 && x < size.width/2:
					v = 255
				}
				p.Planes[i][y*size.width+x] = v
			}
		}
	}
	return p.Own(nil)
}

// decoded shows what a browser would see: the pictures of an H.264 or VP8 stream.
func decodeCoded(t *testing.T, units []*frames.Coded) (pictures []*frames.Picture) {
	t.Helper()
	id := astiavCodec(units[0].Codec)
	d, err := openDecoder(id, nil, Options{MaxPixels: 1 << 24}.withDefaults(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	take := func() {
		for {
			p, err := d.receive()
			if err != nil {
				return
			}
			pictures = append(pictures, p.Picture)
		}
	}
	for _, u := range units {
		sendUnit(t, d, u.Data)
		take()
	}
	d.drain()
	take()
	return pictures
}

func TestLivePicturesAreUprightAndNoLargerThanShown(t *testing.T) {
	for name, c := range map[string]struct {
		codec         frames.Codec
		format        frames.Format
		width, height int
		rotation      frames.Rotation
		w, h          int
		whiteX        int // the white quarter: 0 left, 1 right
		whiteY        int // 0 upper, 1 lower
	}{
		"RGB":               {frames.H264, frames.RGB24, 640, 360, frames.Rotate0, 640, 360, 0, 0},
		"4:2:0, odd":        {frames.H264, frames.YUV420P, 853, 479, frames.Rotate0, 852, 478, 0, 0},
		"4:2:2":             {frames.H264, frames.YUV422P, 640, 360, frames.Rotate0, 640, 360, 0, 0},
		"4:4:4":             {frames.H264, frames.YUV444P, 640, 360, frames.Rotate0, 640, 360, 0, 0},
		"NV12":              {frames.H264, frames.NV12, 640, 360, frames.Rotate0, 640, 360, 0, 0},
		"gray":              {frames.H264, frames.Gray8, 640, 360, frames.Rotate0, 640, 360, 0, 0},
		"large":             {frames.H264, frames.YUV420P, 1920, 1080, frames.Rotate0, 1280, 720, 0, 0},
		"large and upright": {frames.H264, frames.YUV420P, 1920, 1080, frames.Rotate90, 720, 1280, 1, 0},
		"upside down":       {frames.H264, frames.YUV420P, 640, 360, frames.Rotate180, 640, 360, 1, 1},
		"to the left":       {frames.H264, frames.RGB24, 640, 360, frames.Rotate270, 360, 640, 0, 1},
		"VP8":               {frames.VP8, frames.RGB24, 640, 360, frames.Rotate0, 640, 360, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewLiveEncoder(c.codec)
			defer e.Close()
			var units []*frames.Coded
			for i := range 5 {
				p := patterned(c.format, c.width, c.height, c.rotation)
				unit, err := e.Encode(p, i == 3)
				p.Release()
				if err != nil {
					t.Fatal(err)
				}
				if want := i == 0 || i == 3; unit.Key != want || unit.Codec != c.codec {
					t.Errorf("picture %d: key %v, %v", i, unit.Key, unit.Codec)
				}
				units = append(units, unit)
			}
			for _, from := range []int{0, 3} { // a viewer that comes later begins at the later key picture
				pictures := decodeCoded(t, units[from:])
				if len(pictures) != 5-from {
					t.Fatalf("%d pictures of %d", len(pictures), 5-from)
				}
				for _, p := range pictures {
					if p.Width != c.w || p.Height != c.h {
						t.Fatalf("a picture of %d×%d, want %d×%d", p.Width, p.Height, c.w, c.h)
					}
					for qy := range 2 {
						for qx := range 2 {
							v := p.Planes[0][(c.h/4+qy*c.h/2)*p.Strides[0]+c.w/4+qx*c.w/2]
							white := qx == c.whiteX && qy == c.whiteY
							if white && v < 200 || !white && v > 50 {
								t.Errorf("quarter %d,%d is %d", qx, qy, v)
							}
						}
					}
					p.Release()
				}
			}
		})
	}
}

func TestRTPClockGoesOnOverEpochs(t *testing.T) {
	var c rtpClock
	now := time.Now()
	at := func(pts, after time.Duration, epoch bool) uint32 {
		now = now.Add(after)
		return c.stamp(pts, now, epoch)
	}
	for i, s := range []struct {
		pts, after time.Duration
		epoch      bool
		want       uint32
	}{
		{0, 0, true, 0}, {400 * time.Millisecond, 400 * time.Millisecond, false, 36000},
		{0, 2 * time.Second, true, 36000 + 180000}, {time.Second, time.Second, false, 36000 + 180000 + 90000}, // a camera that was gone
		{0, 0, true, 36000 + 180000 + 90000 + smallestEpochStep}, // a file that starts over
		{40 * time.Millisecond, 0, false, 36000 + 180000 + 90000 + 2*smallestEpochStep},
	} {
		if got := at(s.pts, s.after, s.epoch); got != s.want {
			t.Errorf("stamp %d is %d, want %d", i, got, s.want)
		}
	}
}

func TestPreviewSaysWhatItDoesWithASource(t *testing.T) {
	good := Info{Codec: "h264", PixelFormat: "yuv420p", Profile: profileHigh}
	for name, c := range map[string]struct {
		change func(*Info)
		passed bool
	}{
		"H.264":                {func(*Info) {}, true},
		"constrained baseline": {func(i *Info) { i.Profile = profileBaseline | constrained }, true},
		"full range":           {func(i *Info) { i.PixelFormat = "yuvj420p" }, true},
		"B-frames":             {func(i *Info) { i.BFrames = true }, false},
		"H.265":                {func(i *Info) { i.Codec = "hevc" }, false},
		"10 bits":              {func(i *Info) { i.PixelFormat, i.Profile = "yuv420p10le", 110 }, false},
		"4:4:4":                {func(i *Info) { i.PixelFormat = "yuv444p" }, false},
		"extended profile":     {func(i *Info) { i.Profile = 88 }, false},
		"turned":               {func(i *Info) { i.Rotation = frames.Rotate90 }, false},
		"uncoded":              {func(i *Info) { i.Codec = "rawvideo" }, false},
	} {
		i := good
		c.change(&i)
		if passed, reason := i.Preview(); passed != c.passed || passed == (reason != "") {
			t.Errorf("%s: passed %v, %q", name, passed, reason)
		}
	}
}
