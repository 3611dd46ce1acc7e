package integration

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"maskstream/ingest"
)

// clipWidth and clipHeight are those of numberedClip.
const clipWidth, clipHeight = 320, 180

// numberedClip is a file of so many pictures of the numbered test scene, coded by FFmpeg with the given arguments.
func numberedClip(t *testing.T, name string, pictures int, arguments ...string) (path string) {
	t.Helper()
	scene, err := ingest.ParseTestScene("testscene:?size=320x180&number=1")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), name)
	all := append([]string{"-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "320x180", "-r", "25", "-i", "-"}, arguments...)
	command := exec.CommandContext(t.Context(), "ffmpeg", append(all, path)...)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("%v (make setup installs it)", err)
	}
	rgb := make([]byte, 3*clipWidth*clipHeight)
	for i := range pictures {
		scene.Render(i, rgb)
		if _, err := in.Write(rgb); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	return path
}

// nalsOf are the NAL units of a file's H.264 in order.
func nalsOf(t *testing.T, path string) (nals [][]byte) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-i", path, "-c", "copy", "-bsf:v", "h264_mp4toannexb", "-f", "h264", "-")
	command.Stderr = os.Stderr
	stream, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range bytes.Split(stream, []byte{0, 0, 1}) {
		if nal := bytes.TrimRight(part, "\x00"); len(nal) > 0 {
			nals = append(nals, nal)
		}
	}
	return nals
}

// numbersIn decodes pictures of H.264, the first of them a key picture, and reads the number that each shows; −1 where it cannot be read.
func numbersIn(t *testing.T, pictures []viewed) (numbers []int) {
	t.Helper()
	var stream bytes.Buffer
	for _, p := range pictures {
		for _, nal := range p.nals {
			stream.Write([]byte{0, 0, 0, 1})
			stream.Write(nal)
		}
	}
	command := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-f", "h264", "-i", "-", "-f", "rawvideo", "-pix_fmt", "gray", "-vsync", "passthrough", "-")
	command.Stdin, command.Stderr = &stream, os.Stderr
	gray, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	for picture := make([]byte, clipWidth*clipHeight); len(gray) > 0; gray = gray[len(picture):] {
		if _, err := io.ReadFull(bytes.NewReader(gray), picture); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, numberIn(picture))
	}
	return numbers
}

// numberIn reads the number along the lower edge of a gray picture of a numbered scene: see ingest/scene_number.go.
func numberIn(gray []byte) int {
	text, even := "", true
	for i := range 16 {
		bit := gray[(clipHeight-4)*clipWidth+i*clipWidth/16+clipWidth/32] > 128
		if i == 0 != bit && (i == 0 || i == 1 || i == 15) {
			return -1
		}
		if i >= 2 && i < 14 {
			text += map[bool]string{true: "1", false: "0"}[bit]
		}
		if i >= 2 && i < 15 && bit {
			even = !even
		}
	}
	n, err := strconv.ParseInt(text, 2, 32)
	if err != nil || !even {
		return -1
	}
	return int(n)
}
