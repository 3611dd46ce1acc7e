package integration

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// kind is one sort of video that people have.
type kind struct {
	name    string
	source  string                                 // of ffmpeg: the picture, its size, and what is done to it
	encode  []string                               // and the file's name
	change  func(t *testing.T, path string) string // to another file
	also    []string                               // second sort of the same file, put behind it
	matrix  string                                 // where the file does not say it and the ffmpeg command would take another
	upright string                                 // filters that do for the reference, on the file before the change, what its own reading does not do well
}

func h264(more ...string) []string {
	return append([]string{"-c:v", "libx264", "-crf", "10", "-bf", "0", "-pix_fmt", "yuv420p"}, more...)
}

// scene is a moving picture of a size, as soft as what a lens draws and not quite as colourful as can be: on hard edges
// of full colours no two ways to enlarge chroma agree.
func scene(size string) string { return "testsrc2=size=" + size + ":rate=10,gblur=sigma=2,hue=s=0.9" }

// zoo is every sort that there is a test for. A container that does not say its matrix is read by BT.601 below 720 lines.
var zoo = []kind{
	{name: "H.264", source: scene("640x360"), encode: h264("a.mp4")},
	{name: "H.264 with B-frames", source: scene("640x360"), encode: h264("-bf", "3", "a.mkv")},
	{name: "H.264 full range", source: scene("640x360") + ",scale=out_range=pc", encode: h264("-pix_fmt", "yuvj420p", "a.mp4")},
	{name: "H.264 full range by its tag", source: scene("640x360") + ",scale=out_range=pc,format=yuv420p", encode: h264("-color_range", "pc", "a.mp4")},
	{name: "H.264 of 4:4:4", source: scene("640x360"), encode: h264("-pix_fmt", "yuv444p", "a.mp4")},
	{name: "H.264 of 4:2:2", source: scene("640x360"), encode: h264("-pix_fmt", "yuv422p", "a.mp4")},
	{name: "H.264 of 10 bit", source: scene("640x360"), encode: h264("-pix_fmt", "yuv420p10le", "a.mp4")},
	{name: "H.264 of RGB", source: scene("640x360"), encode: []string{"-c:v", "libx264rgb", "-crf", "10", "-pix_fmt", "rgb24", "a.mkv"}},
	{name: "BT.601 by its tag, 720 lines", source: scene("640x720") + ",scale=out_color_matrix=bt601", encode: h264("-colorspace", "smpte170m", "a.mp4")},
	{name: "BT.709 by its tag", source: scene("640x360") + ",scale=out_color_matrix=bt709", encode: h264("-colorspace", "bt709", "a.mp4")},
	{name: "BT.709 by 720 lines", source: scene("640x720") + ",scale=out_color_matrix=bt709", encode: h264("a.mp4"), matrix: "bt709"},
	{name: "BT.2020", source: scene("640x360") + ",scale=out_color_matrix=bt2020", encode: h264("-pix_fmt", "yuv420p10le", "-colorspace", "bt2020nc", "a.mp4")},
	{name: "odd size", source: scene("854x480") + ",crop=853:479:0:0:exact=1", encode: []string{"-c:v", "ffv1", "-pix_fmt", "yuv420p", "a.mkv"}},
	{name: "odd size, H.264", source: scene("854x480") + ",format=yuv444p,crop=853:479:0:0:exact=1", encode: h264("-pix_fmt", "yuv444p", "a.mp4")},
	{name: "odd size, 4:2:2", source: scene("854x480") + ",format=yuv444p,crop=853:479:0:0:exact=1", encode: []string{"-c:v", "ffv1", "-pix_fmt", "yuv422p", "a.mkv"}},
	{name: "cropped by its parameter sets", source: scene("638x358"), encode: h264("a.mp4")},
	{name: "interlaced H.264", source: scene("640x360") + ",hue=s=0.5,interlace", encode: h264("-flags", "+ilme+ildct", "-x264-params", "tff=1", "a.ts")},
	{name: "interlaced MPEG-2", source: scene("720x576") + ",interlace", encode: []string{"-c:v", "mpeg2video", "-q:v", "2", "-flags", "+ilme+ildct", "-top", "1", "a.mpg"}},
	{name: "DV", source: scene("720x576"), encode: []string{"-c:v", "dvvideo", "-r", "25", "-pix_fmt", "yuv420p", "a.avi"}},
	{name: "DV of 4:1:1", source: scene("720x480"), encode: []string{"-c:v", "dvvideo", "-r", "30000/1001", "-pix_fmt", "yuv411p", "a.avi"}},
	{name: "H.265", source: scene("640x360"), encode: []string{"-c:v", "libx265", "-preset", "ultrafast", "-crf", "8", "-pix_fmt", "yuv420p", "-x265-params", "log-level=none", "a.mp4"}},
	{name: "H.265 of 10 bit", source: scene("640x360"), encode: []string{"-c:v", "libx265", "-preset", "ultrafast", "-crf", "8", "-pix_fmt", "yuv420p10le", "-x265-params", "log-level=none", "a.mkv"}},
	{name: "MPEG-4 with B-frames", source: scene("640x360"), encode: []string{"-c:v", "mpeg4", "-q:v", "2", "-bf", "2", "a.avi"}},
	{name: "VP8", source: scene("640x360"), encode: []string{"-c:v", "libvpx", "-deadline", "realtime", "-b:v", "4M", "a.webm"}},
	{name: "VP9", source: scene("640x360"), encode: []string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "4M", "a.webm"}},
	{name: "VP9 with alpha", source: scene("640x360"), encode: []string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "4M", "-pix_fmt", "yuva420p", "-auto-alt-ref", "0", "a.webm"}},
	{name: "AV1", source: scene("320x180"), encode: []string{"-c:v", "libaom-av1", "-usage", "realtime", "-cpu-used", "8", "-b:v", "2M", "a.mkv"}},
	{name: "Motion JPEG", source: scene("640x360"), encode: []string{"-c:v", "mjpeg", "-q:v", "2", "a.avi"}},
	{name: "Motion JPEG of 4:2:2", source: scene("640x360"), encode: []string{"-c:v", "mjpeg", "-q:v", "2", "-pix_fmt", "yuvj422p", "a.mov"}},
	{name: "ProRes", source: scene("640x360"), encode: []string{"-c:v", "prores_ks", "-pix_fmt", "yuv422p10le", "a.mov"}},
	{name: "grey", source: scene("640x360"), encode: []string{"-c:v", "ffv1", "-pix_fmt", "gray", "a.mkv"}},
	{name: "grey of 10 bit", source: scene("640x360"), encode: []string{"-c:v", "ffv1", "-pix_fmt", "gray10le", "a.mkv"}},
	{name: "grey H.264", source: scene("640x360"), encode: h264("-pix_fmt", "gray", "a.mp4")},
	{name: "RGB", source: scene("640x360"), encode: []string{"-c:v", "rawvideo", "-pix_fmt", "bgr24", "a.avi"}},
	{name: "RGB in planes", source: scene("640x360"), encode: []string{"-c:v", "ffv1", "-pix_fmt", "gbrp", "a.mkv"}},
	{name: "RGB with alpha", source: scene("640x360"), encode: []string{"-c:v", "png", "-pix_fmt", "rgba", "a.mov"}},
	{name: "RGB of 16 bit", source: scene("640x360"), encode: []string{"-c:v", "png", "-pix_fmt", "rgb48be", "a.mov"}},
	{name: "RGB of 16 bits a pixel", source: scene("640x360"), encode: []string{"-c:v", "rawvideo", "-pix_fmt", "rgb555le", "a.avi"}},
	{name: "palette", source: scene("640x360"), encode: []string{"a.gif"}},
	{name: "one bit", source: scene("640x360"), encode: []string{"-c:v", "rawvideo", "-pix_fmt", "monow", "a.nut"}},
	{name: "YUV with alpha", source: scene("640x360"), encode: []string{"-c:v", "ffv1", "-pix_fmt", "yuva420p", "a.mkv"}},
	{name: "webcam's YUYV", source: scene("640x360"), encode: []string{"-c:v", "rawvideo", "-pix_fmt", "yuyv422", "a.nut"}},
	{name: "NV12", source: scene("640x360"), encode: []string{"-c:v", "rawvideo", "-pix_fmt", "nv12", "a.nut"}},
	{name: "P010", source: scene("640x360"), encode: []string{"-c:v", "rawvideo", "-pix_fmt", "p010le", "a.nut"}},
	{name: "4:1:0", source: scene("640x360"), encode: []string{"-c:v", "rawvideo", "-pix_fmt", "yuv410p", "a.nut"}},
	{name: "4:4:0", source: scene("640x360"), encode: []string{"-c:v", "rawvideo", "-pix_fmt", "yuv440p", "a.nut"}},
	{name: "wide pixels", source: scene("720x576") + ",setsar=16/15", encode: h264("a.mp4")},
	{name: "smaller than the model", source: scene("64x48"), encode: h264("a.mp4")},
	{name: "a folder of pictures", source: scene("640x360"), encode: []string{"pictures/%d.png"}},
	{name: "a folder of JPEG", source: scene("640x360"), encode: []string{"-q:v", "2", "pictures/%d.jpg"}},
	{name: "turned by 90°", source: scene("640x360"), encode: h264("a.mp4"), change: shown(0, 1, -1, 0)},
	{name: "turned by 180°", source: scene("640x360"), encode: h264("a.mp4"), change: shown(-1, 0, 0, -1)},
	{name: "turned by 270°", source: scene("640x360"), encode: h264("a.mp4"), change: shown(0, -1, 1, 0)},
	{name: "mirrored", source: scene("640x360"), encode: h264("a.mp4"), change: shown(-1, 0, 0, 1)},
	{name: "upside down", source: scene("640x360"), encode: h264("a.mp4"), change: shown(1, 0, 0, -1)},
	{name: "transposed", source: scene("640x360"), encode: h264("a.mp4"), change: shown(0, 1, 1, 0)},
	{name: "transposed the other way", source: scene("640x360"), encode: h264("a.mp4"), change: shown(0, -1, -1, 0)},
	{name: "turned picture by picture", source: scene("640x360"), encode: h264("a.ts"), change: turnedInStream, upright: "transpose=cclock,"},
	{name: "another size in mid-stream", source: scene("640x360"), encode: h264("a.ts"), also: append([]string{scene("320x240")}, h264("b.ts")...)},
	{name: "two put one behind the other", source: scene("640x360"), encode: h264("a.ts"), also: append([]string{scene("640x360") + ",negate"}, h264("b.ts")...)},
	{name: "time that jumps ahead", source: scene("640x360"), encode: h264("a.ts"), also: append([]string{scene("640x360") + ",negate,setpts=PTS+3600/TB"}, h264("b.ts")...)},
}

// make makes the file, and says of which files it consists.
func (k kind) make(t *testing.T) (path string, parts []string) {
	t.Helper()
	folder := t.TempDir()
	build := func(source string, encode []string) string {
		path := filepath.Join(folder, encode[len(encode)-1])
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		arguments := append([]string{"-f", "lavfi", "-i", source, "-frames:v", "4"}, encode[:len(encode)-1]...)
		ffmpeg(t, append(arguments, "-y", path)...)
		return path
	}
	path = build(k.source, k.encode)
	switch {
	case k.upright != "":
		return k.change(t, path), []string{path}
	case k.change != nil:
		path = k.change(t, path)
	case k.also != nil:
		parts = []string{path, build(k.also[0], k.also[1:])}
		path = filepath.Join(folder, "whole.ts")
		var whole []byte
		for _, part := range parts {
			whole = append(whole, readFile(t, part)...)
		}
		writeFile(t, path, whole)
		return path, parts
	}
	parts = []string{path}
	if filepath.Base(filepath.Dir(path)) == "pictures" {
		path = filepath.Dir(path)
	}
	return path, parts
}

// shown notes in an MP4 file that a point (x, y) is to be shown at (ax+cy, bx+dy).
func shown(a, b, c, d int32) func(*testing.T, string) string {
	return func(t *testing.T, path string) string {
		data := readFile(t, path)
		at := bytes.Index(data, []byte("tkhd"))
		if at < 0 {
			t.Fatal("no track header")
		}
		for i, v := range []int32{a << 16, b << 16, 0, c << 16, d << 16} {
			binary.BigEndian.PutUint32(data[at+4+40+4*i:], uint32(v))
		}
		path = filepath.Join(t.TempDir(), "turned.mp4")
		writeFile(t, path, data)
		return path
	}
}

// turnedInStream notes in the pictures themselves that they are shown turned by a quarter to the left.
func turnedInStream(t *testing.T, path string) string {
	turned := filepath.Join(t.TempDir(), "turned.ts")
	ffmpeg(t, "-i", path, "-c", "copy", "-bsf:v", "h264_metadata=display_orientation=insert:rotate=90", turned)
	return turned
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// ffmpeg runs the command, which has to succeed.
func ffmpeg(t *testing.T, arguments ...string) {
	t.Helper()
	command := exec.Command("ffmpeg", append([]string{"-v", "error", "-nostdin"}, arguments...)...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("ffmpeg %q: %w\n%s(`make setup` installs it)", arguments, err, out))
	}
}
