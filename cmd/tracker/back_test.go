package main

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"path/filepath"
	"testing"

	"maskstream/frames"
	"maskstream/ingest"
	"maskstream/internal/clip"
	"maskstream/propagate"
	"maskstream/tensor"
)

// TestGoingBackDecodesLittleMoreThanOnce goes through files forward and backward with room for 24 frames, compares every picture with
// what a plain reading gives, and counts what is decoded with seeking and without.
func TestGoingBackDecodesLittleMoreThanOnce(t *testing.T) {
	const count, room = 240, 24
	source := []string{"-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25", "-frames:v", fmt.Sprint(count), "-pix_fmt", "yuv420p"}
	for name, c := range map[string]struct {
		file string
		args []string
		most int // pictures decoded beyond the first count
	}{
		"H.264 with B-frames in MP4":            {"a.mp4", []string{"-c:v", "libx264", "-g", "24", "-bf", "3"}, 2 * count},
		"H.264 with open groups in Matroska":    {"a.mkv", []string{"-c:v", "libx264", "-g", "24", "-bf", "3", "-x264-params", "open-gop=1"}, 2*count + count/2},
		"H.264 in a transport stream":           {"a.ts", []string{"-c:v", "libx264", "-g", "24", "-bf", "2"}, 3 * count},
		"HEVC with open groups in MP4":          {"a.mp4", []string{"-c:v", "libx265", "-preset", "ultrafast", "-g", "24", "-x265-params", "log-level=none"}, 3 * count},
		"MPEG-4 with B-frames in AVI":           {"a.avi", []string{"-c:v", "mpeg4", "-g", "24", "-bf", "2"}, 10 * count},
		"VP9 in WebM":                           {"a.webm", []string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "24"}, 2 * count},
		"MPEG-2 in a programme stream":          {"a.mpg", []string{"-c:v", "mpeg2video", "-g", "12", "-bf", "2"}, 4 * count},
		"Motion JPEG":                           {"a.avi", []string{"-c:v", "mjpeg"}, count},
		"one key frame only, as in no seek":     {"a.mp4", []string{"-c:v", "libx264", "-g", "9999", "-sc_threshold", "0"}, 10 * count},
		"elementary stream, which has no times": {"a.h264", []string{"-c:v", "libx264", "-g", "24"}, 10 * count},
	} {
		t.Run(name, func(t *testing.T) {
			path := makeClip(t, append(append(source, c.args...), filepath.Join(t.TempDir(), c.file))...)
			decoded := map[bool]int{}
			for _, seeking := range []bool{true, false} {
				n := 0
				decoded[seeking] = goThrough(t, path, room, func(ctx context.Context) (clip.Reader, error) {
					r, err := ingest.Open(ctx, ingest.Options{URL: path, Threads: 1})
					if err != nil || seeking {
						return counted{r, &n}, err
					}
					return forwardsOnly{counted{r, &n}}, nil
				}, &n)
			}
			t.Logf("%d pictures there and back: decoded %d with seeking, %d without", count, decoded[true], decoded[false])
			if most := count + c.most; decoded[true] > most || decoded[true] > decoded[false]+count/2 {
				t.Errorf("decoded %d pictures, want %d at most", decoded[true], most)
			}
		})
	}
}

// goThrough asks for every frame forward and backward, and returns how many pictures that took.
func goThrough(t *testing.T, path string, room int64, open func(context.Context) (clip.Reader, error), n *int) int {
	t.Helper()
	seed := maphash.MakeSeed()
	var want []uint64
	reader, err := ingest.Open(t.Context(), ingest.Options{URL: path, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for {
		p, err := reader.Next(t.Context())
		if err != nil {
			break
		}
		want = append(want, p.Sum(seed))
		p.Release()
	}
	pool := tensor.NewPool("test", tensor.Host(), 0)
	defer tensor.NoLeaks(t, pool)
	converter := frames.NewConverter(32, pool)
	frameBytes := int64(4*3*32*32 + 96*64*3/2 + 4096) // planes with their padding
	c := clip.New(open, converter.Convert, clip.Options{Budget: room * frameBytes, Number: numbering})
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	check := func(i int) bool {
		f, err := c.Frame(t.Context(), i)
		if errors.Is(err, propagate.ErrPastEnd) {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		defer f.Release()
		if f.Picture.Sum(seed) != want[i] || f.Picture.Meta.Frame != i {
			t.Fatalf("picture %d (called %d) is not the one a plain reading gives", i, f.Picture.Meta.Frame)
		}
		return true
	}
	for i := 0; check(i); i++ {
	}
	for i := len(want) - 1; i >= 0; i-- {
		check(i)
	}
	return *n
}

// counted counts what a recording decodes; the second kind hides that it can seek.
type counted struct {
	*ingest.Reader
	n *int
}

type forwardsOnly struct{ r counted }

func (c counted) Next(ctx context.Context) (*frames.Picture, error) {
	p, err := c.Reader.Next(ctx)
	if err == nil {
		*c.n++
	}
	return p, err
}

func (c forwardsOnly) Next(ctx context.Context) (*frames.Picture, error) { return c.r.Next(ctx) }
func (c forwardsOnly) Close() error                                      { return c.r.Close() }
