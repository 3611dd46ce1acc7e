package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"maskstream/frames"
)

// ffmpeg runs the command line tool with everything but errors silent, and returns its stdout.
func ffmpeg(t testing.TB, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Fatal("the ffmpeg command is missing: apt-get install ffmpeg, or make setup")
	}
	command := exec.Command("ffmpeg", append([]string{"-v", "error", "-nostdin", "-y"}, args...)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("ffmpeg %v: %v\n%s", args, err, stderr.String())
	}
	return out
}

// clip makes a short file in a folder of the test.
func clip(t testing.TB, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	ffmpeg(t, append(args, path)...)
	return path
}

// smooth is a moving picture without hard colour edges, which no two chroma filters agree on.
func smooth(size string, seconds float64) []string {
	return []string{"-f", "lavfi", "-i", fmt.Sprintf("testsrc2=size=%s:rate=10:duration=%g,gblur=sigma=6", size, seconds)}
}

func open(t testing.TB, url string) *Reader {
	t.Helper()
	r, err := Open(context.Background(), Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// readAll calls f with every picture until the end and returns their number.
func readAll(t testing.TB, r *Reader, f func(*frames.Picture)) (n int) {
	t.Helper()
	for {
		p, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		if f != nil {
			f(p)
		}
		p.Release()
		n++
	}
}

func paint(t testing.TB, p *frames.Picture) *image.RGBA {
	t.Helper()
	img, err := new(frames.Painter).Paint(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func TestPicturesAreFFmpegsInEveryFormat(t *testing.T) {
	for _, c := range []struct {
		name, file, size string
		args             []string
		matrix           frames.Matrix
		full             bool
		format           frames.Format
	}{
		{"h264 yuv420p", "a.mp4", "320x180", []string{"-c:v", "libx264", "-crf", "12"}, frames.BT601, false, frames.YUV420P},
		{"h264 odd size", "a.mkv", "213x119", []string{"-c:v", "libx264", "-crf", "12", "-pix_fmt", "yuv444p"}, frames.BT601, false, frames.YUV444P},
		{"ffv1 odd size 420", "a.mkv", "213x119", []string{"-c:v", "ffv1", "-pix_fmt", "yuv420p"}, frames.BT601, false, frames.YUV420P},
		{"h264 720 lines", "a.mp4", "320x720", []string{"-c:v", "libx264", "-crf", "12", "-pix_fmt", "yuv420p"}, frames.BT709, false, frames.YUV420P},
		{"h264 tagged bt709", "a.mp4", "320x180", []string{"-vf", "scale=out_color_matrix=bt709", "-c:v", "libx264", "-crf", "12", "-pix_fmt", "yuv420p", "-colorspace", "bt709"}, frames.BT709, false, frames.YUV420P},
		{"h264 tagged bt2020", "a.mp4", "320x180", []string{"-vf", "scale=out_color_matrix=bt2020", "-c:v", "libx264", "-crf", "12", "-pix_fmt", "yuv420p", "-colorspace", "bt2020nc"}, frames.BT2020, false, frames.YUV420P},
		{"mjpeg full range", "a.avi", "320x180", []string{"-c:v", "mjpeg", "-q:v", "2", "-pix_fmt", "yuvj422p"}, frames.BT601, true, frames.YUV422P},
		{"h264 full range", "a.mp4", "320x180", []string{"-vf", "scale=out_range=pc", "-c:v", "libx264", "-crf", "12", "-pix_fmt", "yuvj420p"}, frames.BT601, true, frames.YUV420P},
		{"mpeg4", "a.avi", "320x180", []string{"-c:v", "mpeg4", "-q:v", "2"}, frames.BT601, false, frames.YUV420P},
		{"vp9", "a.webm", "160x90", []string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"}, frames.BT601, false, frames.YUV420P},
		{"hevc 10 bit", "a.mp4", "160x90", []string{"-c:v", "libx265", "-preset", "ultrafast", "-crf", "8", "-pix_fmt", "yuv420p10le", "-x265-params", "log-level=none"}, frames.BT601, false, frames.YUV420P},
		{"ffv1 gray", "a.mkv", "320x180", []string{"-c:v", "ffv1", "-pix_fmt", "gray"}, frames.BT601, true, frames.Gray8},
		{"h264 gray", "a.mp4", "320x180", []string{"-c:v", "libx264", "-pix_fmt", "gray", "-crf", "8"}, frames.BT601, true, frames.YUV420P}, // FFmpeg decodes it with gray chroma
		{"png rgba", "a.mkv", "320x180", []string{"-c:v", "png", "-pix_fmt", "rgba"}, frames.BT601, true, frames.RGB24},
		{"raw bgr24", "a.avi", "318x180", []string{"-c:v", "rawvideo", "-pix_fmt", "bgr24"}, frames.BT601, true, frames.RGB24},
		{"gif pal8", "a.gif", "160x90", nil, frames.BT601, true, frames.RGB24},
		{"raw nv12", "a.nut", "320x180", []string{"-c:v", "rawvideo", "-pix_fmt", "nv12"}, frames.BT601, false, frames.NV12},
		{"raw yuyv422", "a.nut", "320x180", []string{"-c:v", "rawvideo", "-pix_fmt", "yuyv422"}, frames.BT601, false, frames.YUV422P},
		{"ffv1 gbrp", "a.mkv", "320x180", []string{"-c:v", "ffv1", "-pix_fmt", "gbrp"}, frames.BT601, true, frames.RGB24},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := clip(t, c.file, append(smooth(c.size, 0.3), c.args...)...)
			// in_color_matrix only counts where the file does not say: FFmpeg takes 601 then.
			matrix := map[frames.Matrix]string{frames.BT601: "bt601", frames.BT709: "bt709", frames.BT2020: "bt2020"}[c.matrix]
			want := ffmpeg(t, "-i", path, "-vf", "scale=flags=accurate_rnd+full_chroma_int+full_chroma_inp:in_color_matrix="+matrix, "-pix_fmt", "rgb24", "-f", "rawvideo", "-")
			r := open(t, path)
			n := readAll(t, r, func(p *frames.Picture) {
				if p.Matrix != c.matrix && c.format != frames.RGB24 && c.format != frames.Gray8 || p.FullRange != c.full || p.Format != c.format {
					t.Fatalf("matrix %d, full %v, format %d", p.Matrix, p.FullRange, p.Format)
				}
				img := paint(t, p)
				if len(want) < len(img.Pix)/4*3 {
					t.Fatal("more pictures than ffmpeg has")
				}
				sum, worst := 0.0, 0
				for i := range len(img.Pix) / 4 {
					for k := range 3 {
						d := int(img.Pix[4*i+k]) - int(want[3*i+k])
						sum, worst = sum+float64(max(d, -d)), max(worst, d, -d)
					}
				}
				want = want[len(img.Pix)/4*3:]
				if mean := sum / float64(len(img.Pix)/4*3); mean > 0.75 || worst > 8 {
					t.Errorf("picture %d is off by %.3f on average, %d at most", p.Meta.Frame, mean, worst)
				} else if p.Meta.Frame == 0 {
					t.Logf("off by %.3f on average, %d at most", mean, worst)
				}
			})
			if n < 3 || len(want) != 0 {
				t.Errorf("%d pictures, %d bytes of ffmpeg's are left", n, len(want))
			}
		})
	}
}

func TestInfoAndTimesAreTheFiles(t *testing.T) {
	path := clip(t, "a b#1%.mp4", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30000/1001:duration=1", "-c:v", "libx264", "-bf", "2", "-pix_fmt", "yuv420p")
	r := open(t, path)
	i := r.Info()
	if i.Width != 320 || i.Height != 180 || i.FPS < 29.96 || i.FPS > 29.98 || i.Frames != 30 || i.Codec != "h264" || i.PixelFormat != "yuv420p" || !i.BFrames || i.Live || i.Duration < 990*time.Millisecond {
		t.Errorf("%+v", i)
	}
	n := readAll(t, r, func(p *frames.Picture) {
		want := time.Duration(p.Meta.Frame) * 1001 * time.Second / 30000
		if d := p.Meta.PTS - want; d < -time.Millisecond || d > time.Millisecond {
			t.Errorf("picture %d at %v, want %v", p.Meta.Frame, p.Meta.PTS, want)
		}
		if d := int64(p.Meta.RTP) - int64(p.Meta.PTS)*9/100_000; d < -1 || d > 1 {
			t.Errorf("picture %d: RTP %d at %v", p.Meta.Frame, p.Meta.RTP, p.Meta.PTS)
		}
		if p.Meta.Received.IsZero() || !p.Meta.Captured.IsZero() {
			t.Errorf("clocks %v and %v", p.Meta.Received, p.Meta.Captured)
		}
	})
	if n != 30 || r.Stats().Frames != 30 || r.Stats().DecodeErrors != 0 {
		t.Errorf("%d pictures, %+v", n, r.Stats())
	}
}

func TestRotatedFilesStandUpright(t *testing.T) {
	source := clip(t, "a.mp4", append(smooth("320x180", 0.2), "-c:v", "libx264", "-crf", "10", "-pix_fmt", "yuv420p")...)
	for degrees, want := range map[string]frames.Rotation{"270": frames.Rotate90, "180": frames.Rotate180, "90": frames.Rotate270} {
		path := clip(t, "r.mp4", "-i", source, "-c", "copy", "-metadata:s:v:0", "rotate="+degrees)
		r := open(t, path)
		p, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		upright := ffmpeg(t, "-i", path, "-frames:v", "1", "-pix_fmt", "rgb24", "-f", "rawvideo", "-")
		img := paint(t, p)
		w, h := p.DisplaySize()
		if p.Rotation != want || r.Info().Width != w || r.Info().Height != h || img.Rect != image.Rect(0, 0, w, h) {
			t.Errorf("%s: rotation %d, shown as %d×%d", degrees, p.Rotation, w, h)
		}
		sum := 0
		for i := range len(img.Pix) / 4 {
			for k := range 3 {
				d := int(img.Pix[4*i+k]) - int(upright[3*i+k])
				sum += max(d, -d)
			}
		}
		if mean := float64(sum) / float64(len(upright)); mean > 2 {
			t.Errorf("%s: off by %.2f on average", degrees, mean)
		}
		p.Release()
	}
}

func TestImageFolderGivesExactBytesInTheOrderOfNumbers(t *testing.T) {
	folder := t.TempDir()
	want := map[int][]byte{}
	for position, name := range []string{"2.png", "007.png", "10.png", "11.png"} {
		format := []string{"rgb24", "rgba", "rgb24", "pal8"}[position]
		path := filepath.Join(folder, name)
		ffmpeg(t, "-f", "lavfi", "-i", fmt.Sprintf("testsrc2=size=262x154:rate=1:duration=20,trim=start=%d,format=rgb24,scale=131:77", position), "-frames:v", "1", "-pix_fmt", format, path)
		want[position] = ffmpeg(t, "-i", path, "-pix_fmt", "rgb24", "-f", "rawvideo", "-")
	}
	if err := os.WriteFile(filepath.Join(folder, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := open(t, folder)
	if i := r.Info(); i.Frames != 4 || i.Width != 131 || i.Height != 77 || i.Live {
		t.Errorf("%+v", i)
	}
	n := readAll(t, r, func(p *frames.Picture) {
		if p.Format != frames.RGB24 || p.Meta.PTS != time.Duration(p.Meta.Frame)*40*time.Millisecond {
			t.Errorf("format %d at %v", p.Format, p.Meta.PTS)
		}
		for y := range p.Height {
			if row := p.Planes[0][y*p.Strides[0]:][:3*p.Width]; !bytes.Equal(row, want[p.Meta.Frame][3*p.Width*y:][:3*p.Width]) {
				t.Fatalf("picture %d, row %d differs", p.Meta.Frame, y)
			}
		}
	})
	if n != 4 {
		t.Errorf("%d pictures", n)
	}
	single := open(t, filepath.Join(folder, "007.png"))
	if n := readAll(t, single, nil); n != 1 {
		t.Errorf("an image by itself: %d pictures", n)
	}
	if err := os.WriteFile(filepath.Join(folder, "cover.jpg"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{URL: folder}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "cover.jpg") {
		t.Errorf("a name that is no number: %v", err)
	}
}

func TestJPEGIsFullRange601(t *testing.T) {
	path := clip(t, "p.jpg", append(smooth("320x720", 0.1), "-frames:v", "1", "-q:v", "2")...)
	p, err := open(t, path).Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	if !p.FullRange || p.Matrix != frames.BT601 {
		t.Errorf("full %v, matrix %d", p.FullRange, p.Matrix)
	}
}

func TestPicturesOutliveTheReader(t *testing.T) {
	path := clip(t, "a.mp4", append(smooth("320x180", 1), "-c:v", "libx264", "-pix_fmt", "yuv420p")...)
	r := open(t, path)
	var kept []*frames.Picture
	for range 8 {
		p, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, p)
	}
	var before [][]byte
	for _, p := range kept {
		before = append(before, paint(t, p).Pix)
	}
	readAll(t, r, nil)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	_ = r.Close()
	for i, p := range kept {
		if !bytes.Equal(before[i], paint(t, p).Pix) {
			t.Errorf("picture %d changed while it was held", i)
		}
		p.Release()
	}
}

func TestSourcesThatCannotBeReadSayWhy(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sound := clip(t, "s.mp4", "-f", "lavfi", "-i", "sine=duration=0.2")
	whole, err := os.ReadFile(clip(t, "w.mp4", append(smooth("320x180", 0.5), "-c:v", "libx264", "-pix_fmt", "yuv420p")...))
	if err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(folder, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		url  string
		want error
	}{
		"nothing":             {"", ErrInvalid},
		"missing file":        {filepath.Join(folder, "absent.mp4"), ErrNotFound},
		"missing file URL":    {"file://" + folder + "/absent.mp4", ErrNotFound},
		"text":                {write("a.mp4", bytes.Repeat([]byte("this is no video\n"), 500)), ErrCorrupt},
		"empty file":          {write("b.mp4", nil), ErrCorrupt},
		"cut before its end":  {write("c.mp4", whole[:len(whole)/2]), ErrCorrupt},
		"sound only":          {sound, ErrNoVideo},
		"empty folder":        {empty, ErrNoVideo},
		"damaged image":       {write("1.png", []byte("\x89PNG\r\n\x1a\nand then nothing")), ErrCorrupt},
		"no image":            {write("2.png", []byte("hello")), ErrCorrupt},
		"forbidden protocol":  {"concat:/etc/passwd|/etc/group", ErrUnsupported},
		"forbidden protocol ": {"subfile,,start,0,end,9,,:/etc/passwd", ErrNotFound},
		"raw @":               {"rtsp://user:p@ss@127.0.0.1/x", ErrInvalid},
		"raw #":               {"rtsp://user:pa#ss@127.0.0.1/x", ErrInvalid},
		"raw /":               {"rtsp://user:p@ss/w@127.0.0.1/x", ErrInvalid},
		"bad %":               {"rtsp://user:p%ss@127.0.0.1/x", ErrInvalid},
		"no server":           {"rtsp://127.0.0.1:1/x", ErrUnreachable},
		"no such host":        {"rtsp://camera.invalid/x", ErrNotFound},
		"unknown option":      {"testscene:?color=red", ErrInvalid},
		"bad size":            {"testscene:?size=10x", ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Open(t.Context(), Options{URL: c.url, Timeout: 5 * time.Second})
			if err == nil {
				_, err = r.Next(t.Context())
				_ = r.Close()
			}
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "ss") && strings.HasPrefix(name, "raw") && !strings.Contains(err.Error(), "password") {
				t.Errorf("message %q", err)
			}
			t.Log(err)
		})
	}
}

func TestFileWithFlippedBytesIsReadToItsEnd(t *testing.T) {
	path := clip(t, "a.ts", append(smooth("320x180", 2), "-c:v", "libx264", "-g", "5", "-pix_fmt", "yuv420p")...)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 5000; i < len(data); i += 997 {
		data[i] ^= 0x55
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r := open(t, path)
	if n := readAll(t, r, nil); n < 5 {
		t.Errorf("%d pictures", n)
	}
}

func TestFileThatIsCutOffSaysSo(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	t.Cleanup(func() { slog.SetDefault(before) })
	path := clip(t, "a.mp4", append(smooth("320x180", 2), "-c:v", "libx264", "-g", "5", "-pix_fmt", "yuv420p", "-movflags", "+faststart")...)
	whole := readAll(t, open(t, path), nil)
	if log.Len() != 0 {
		t.Errorf("a whole file: %s", log.String())
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()*6/10); err != nil {
		t.Fatal(err)
	}
	if n := readAll(t, open(t, path), nil); n < 5 || n >= whole || !strings.Contains(log.String(), "the file ends early") {
		t.Errorf("%d pictures of %d, the log says %q", n, whole, log.String())
	}
}

func TestHugePicturesAreRefused(t *testing.T) {
	path := clip(t, "a.mp4", append(smooth("320x180", 0.1), "-c:v", "libx264", "-pix_fmt", "yuv420p")...)
	if _, err := Open(t.Context(), Options{URL: path, MaxPixels: 320*180 - 1}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("video: %v", err)
	}
	image := clip(t, "a.png", append(smooth("320x180", 0.1), "-frames:v", "1")...)
	if _, err := Open(t.Context(), Options{URL: image, MaxPixels: 1000}); err == nil {
		t.Error("image: no error")
	}
}

func BenchmarkDecode(b *testing.B) {
	path := clip(b, "a.mp4", "-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=25:duration=4", "-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p")
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("720p_h264_%d_threads", threads), func(b *testing.B) {
			pictures := 0
			for b.Loop() {
				r, err := Open(b.Context(), Options{URL: path, Threads: threads})
				if err != nil {
					b.Fatal(err)
				}
				pictures += readAll(b, r, nil)
				_ = r.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(pictures), "ms/picture")
		})
	}
}

// TestPicturesThatWereMendedAreCounted spoils slices only: every packet still gives a picture, parts of which are made up.
func TestPicturesThatWereMendedAreCounted(t *testing.T) {
	path := clip(t, "a.avi", append(smooth("320x180", 2), "-c:v", "mpeg4", "-q:v", "2", "-g", "5")...)
	whole := readAll(t, open(t, path), nil)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := bytes.Index(data, []byte("movi")) + 3000; i < len(data)-4000; i += 4999 {
		copy(data[i:], "\xff\xff\xff\xff")
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r := open(t, path)
	if n := readAll(t, r, nil); n != whole || r.Stats().DecodeErrors == 0 {
		t.Errorf("%d of %d pictures, %+v", n, whole, r.Stats())
	}
}
