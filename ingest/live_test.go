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
		"mirrored":          {frames.H264, frames.RGB24, 640, 360, frames.Mirrored, 640, 360, 1, 0},
		"mirrored, turned":  {frames.H264, frames.RGB24, 640, 360, frames.Mirrored | frames.Rotate90, 360, 640, 1, 1},
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

func TestRTPClockGoesOnAsAViewerCanFollow(t *testing.T) {
	const ms, second = time.Millisecond, time.Second
	type picture struct {
		pts, passed time.Duration // passed here since the one before
		epoch       bool
		want        uint32 // ticks since the one before
	}
	for name, pictures := range map[string][]picture{
		"a camera":                  {{0, 0, true, 0}, {400 * ms, 400 * ms, false, 36000}, {440 * ms, 90 * ms, false, 3600}, {480 * ms, 1 * ms, false, 3600}},
		"times that are no seconds": {{0, 0, true, 0}, {33366 * time.Microsecond, 33 * ms, false, 3002}, {66733 * time.Microsecond, 33 * ms, false, 3003}},
		"a camera that was gone":    {{9 * second, 0, true, 810000}, {0, 2 * second, true, 180000}, {second, second, false, 90000}},
		"a file that starts over":   {{0, 0, true, 0}, {40 * ms, 40 * ms, false, 3600}, {0, 1 * ms, true, 3600}, {40 * ms, 40 * ms, false, 3600}},
		"a network held up":         {{0, 0, true, 0}, {40 * ms, 3 * second, false, 3600}, {2 * second, 1 * ms, false, 176400}},
		"a file that goes fast":     {{0, 0, true, 0}, {second, 500 * ms, false, 90000}, {2 * second, 500 * ms, false, 45000}, {3 * second, 100 * ms, false, 9000}, {4 * second, second, false, 90000}},
		"a file that goes slowly":   {{0, 0, true, 0}, {40 * ms, second, false, 3600}, {80 * ms, second, false, 3600}},
		"all at once":               {{0, 0, true, 0}, {second, 0, false, 45000}, {2 * second, 0, false, 90}},
	} {
		t.Run(name, func(t *testing.T) {
			var c rtpClock
			now, last := time.Unix(1_800_000_000, 0), uint32(0)
			for i, p := range pictures {
				now = now.Add(p.passed)
				stamp := c.stamp(p.pts, now, p.epoch)
				if step := stamp - last; step != p.want {
					t.Errorf("picture %d is %d ticks after the one before, want %d", i, step, p.want)
				}
				last = stamp
			}
		})
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
