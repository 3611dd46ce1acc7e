package main

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"maskstream/frames"
	"maskstream/ingest"
	"maskstream/propagate"
	"maskstream/rle"
)

// makeClip runs the ffmpeg command; the file's name is the last argument.
func makeClip(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := exec.Command("ffmpeg", append([]string{"-v", "error", "-nostdin", "-y"}, arguments...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("ffmpeg %v: %v\n%s(`make setup` installs it)", arguments, err, out)
	}
	return arguments[len(arguments)-1]
}

// joined are files of a kind that can be put one behind the other.
func joined(t *testing.T, paths ...string) string {
	t.Helper()
	var all []byte
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	path := filepath.Join(t.TempDir(), "joined.ts")
	if err := os.WriteFile(path, all, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// colours gives pictures of one colour each.
func colours(t *testing.T, size, colour string, count int) string {
	t.Helper()
	return makeClip(t, "-f", "lavfi", "-i", fmt.Sprintf("color=%s:size=%s:rate=10,format=yuv420p", colour, size), "-frames:v", fmt.Sprint(count),
		"-c:v", "libx264", "-bf", "0", filepath.Join(t.TempDir(), "a.ts"))
}

func TestNewSizeIsAnEpochAndStaysInTheOverlay(t *testing.T) {
	input := joined(t, colours(t, "160x90", "red", 3), colours(t, "90x90", "blue", 4))
	video := filepath.Join(t.TempDir(), "o.mkv")
	lines := trackLines[rle.Frame](t, input, "--box", "20,20,60,60", "--overlay", video, "--reverse")
	var got []string
	for _, f := range lines {
		got = append(got, fmt.Sprintf("%d/%d %dx%d", f.Epoch, f.Frame, f.Size[1], f.Size[0]))
	}
	want := []string{"0/0 160x90", "0/0 160x90", "0/1 160x90", "0/2 160x90", "1/0 90x90", "1/1 90x90", "1/2 90x90", "1/3 90x90", "0/0 160x90"}
	if !slices.Equal(got, want) {
		t.Errorf("lines %v, want %v", got, want)
	}
	// A prompt means the picture that it is for: 80 lines down is within it on both, 100 columns across on the first only.
	trackLines[rle.Frame](t, input, "--point", "1@4:80,80", "--max-frames", "5")
	if _, stderr, status := call(t, "", "track", input, "--point", "1@4:100,80"); status != exitUsage || !strings.Contains(stderr, "it is outside the picture, which is 90×90") {
		t.Errorf("exit status %d, stderr %q", status, stderr)
	}
	reader, err := ingest.Open(t.Context(), ingest.Options{URL: video})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var painter frames.Painter
	count := 0
	for ; ; count++ {
		p, err := reader.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		img, err := painter.Paint(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if img.Rect != image.Rect(0, 0, 160, 90) {
			t.Fatalf("a picture of %v", img.Rect)
		}
		if left, middle := img.RGBAAt(5, 85), img.RGBAAt(80, 88); count == 5 && (left.R > 40 || left.B > 40 || middle.B < 120) { // bar, picture
			t.Errorf("picture %d is %v at its side and %v in the middle", count, left, middle)
		}
		p.Release()
	}
	if count != 8 { // the prompt's answer is not drawn
		t.Errorf("%d pictures", count)
	}
}

func TestTimeThatJumpsBackIsAnEpochOfAFile(t *testing.T) {
	one := colours(t, "160x90", "red", 20) // longer than the second that is smoothed
	lines := trackLines[rle.Frame](t, joined(t, one, one), "--box", "20,20,60,60", "--every", "10", "--reverse")
	var got []string
	for _, f := range lines {
		got = append(got, fmt.Sprintf("%s %d/%d", f.Direction, f.Epoch, f.Frame))
	}
	if want := []string{"prompt 0/0", "forward 0/0", "forward 0/10", "forward 1/0", "forward 1/10", "reverse 0/0"}; !slices.Equal(got, want) {
		t.Errorf("lines %v, want %v", got, want)
	}
}

func TestMasksOfAnotherSizeAndUnknownEndingsAreRefused(t *testing.T) {
	folder := t.TempDir()
	mask := filepath.Join(folder, "mask.png")
	picture := image.NewGray(image.Rect(0, 0, 160, 90))
	picture.SetGray(80, 45, color.Gray{Y: 255})
	file, err := os.Create(mask)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(png.Encode(file, picture), file.Close()); err != nil {
		t.Fatal(err)
	}
	for i, size := range []string{"320x180", "320x180", "160x90"} {
		makeClip(t, "-f", "lavfi", "-i", "testsrc2=size="+size, "-frames:v", "1", filepath.Join(folder, "pictures"+fmt.Sprint(i)+".png"))
	}
	pictures := filepath.Join(folder, "pictures")
	if err := os.Mkdir(pictures, 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := os.Rename(filepath.Join(folder, "pictures"+fmt.Sprint(i)+".png"), filepath.Join(pictures, fmt.Sprint(i)+".png")); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct{ arguments, says string }{
		"mask":              {film + " --mask " + mask, "--mask for object 1 on frame 0: the mask is 160×90 and the picture 320×180"},
		"mask on a later":   {pictures + " --mask 2@1:" + mask, "--mask for object 2 on frame 1: the mask is 160×90 and the picture 320×180"},
		"ending":            {film + " --box " + filmBox + " --overlay " + folder + "/x.txt", "x.txt: its ending is that of no video that can be written; use .mp4, .m4v, .mov, .mkv"},
		"ending of a photo": {"segment " + pictures + "/0.png --point 5,5 --overlay " + folder + "/x.jpg", "it is a picture, whose name ends in .png"},
	} {
		t.Run(name, func(t *testing.T) {
			arguments := strings.Fields(c.arguments)
			if arguments[0] != "segment" {
				arguments = append([]string{"track"}, arguments...)
			}
			stdout, stderr, status := call(t, "", arguments...)
			if status != exitUsage || stdout != "" || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
			}
		})
	}
	trackLines[any](t, pictures, "--mask", "2@2:"+mask, "--max-frames", "3") // where the picture has that size
}

func TestProgressExpectsEveryPass(t *testing.T) {
	at := func(n int) *int { return &n }
	prompt := propagate.Op{Verb: propagate.AddPointsOrBox, Frame: at(40), Object: at(1)}
	forward, reverse := propagate.Op{Verb: propagate.Propagate, StartFrame: at(40)}, propagate.Op{Verb: propagate.Propagate, StartFrame: at(40), Reverse: true}
	for name, c := range map[string]struct {
		steps                         []propagate.Op
		pictures, every, limit, total int
	}{
		"forward":               {[]propagate.Op{prompt, forward}, 100, 1, 0, 61},
		"and back":              {[]propagate.Op{prompt, forward, reverse}, 100, 1, 0, 102},
		"every second":          {[]propagate.Op{prompt, forward, reverse}, 100, 2, 0, 52},
		"within a limit":        {[]propagate.Op{prompt, forward, reverse}, 100, 1, 50, 52},
		"unknown length":        {[]propagate.Op{prompt, forward}, 0, 1, 0, 0},
		"unknown, but limited":  {[]propagate.Op{prompt, {Verb: propagate.Propagate, MaxFrames: at(9)}}, 0, 1, 0, 11},
		"from the first prompt": {[]propagate.Op{prompt, {Verb: propagate.Propagate}}, 100, 1, 0, 61},
	} {
		if got := expected(&propagate.Script{Steps: c.steps}, c.pictures, c.every, c.limit); got != c.total {
			t.Errorf("%s: %d, want %d", name, got, c.total)
		}
	}
}
