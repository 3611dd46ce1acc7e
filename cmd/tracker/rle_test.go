package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maskstream/rle"
)

// The mask of the contract's example: rows 0 1 0 and 0 1 1.
const exampleLine = `{"size":[2,3],"counts":"221O"}` + "\n"

func TestWhatIsNotZeroIsSet(t *testing.T) {
	set := [][]bool{{false, true, false}, {false, true, true}}
	for name, c := range map[string]struct {
		picture interface {
			image.Image
			Set(x, y int, c color.Color)
		}
		on, off color.Color
	}{
		"grey":                    {image.NewGray(image.Rect(0, 0, 3, 2)), color.Gray{255}, color.Gray{0}},
		"grey, dim":               {image.NewGray(image.Rect(0, 0, 3, 2)), color.Gray{1}, color.Gray{0}},
		"16-bit grey, dim":        {image.NewGray16(image.Rect(0, 0, 3, 2)), color.Gray16{1}, color.Gray16{0}},
		"colour":                  {image.NewNRGBA(image.Rect(0, 0, 3, 2)), color.NRGBA{B: 1, A: 255}, color.NRGBA{A: 255}},
		"colour on transparency":  {image.NewNRGBA(image.Rect(0, 0, 3, 2)), color.NRGBA{R: 9, A: 255}, color.NRGBA{R: 9}},
		"16-bit colour":           {image.NewNRGBA64(image.Rect(0, 0, 3, 2)), color.NRGBA64{G: 1, A: 65535}, color.NRGBA64{A: 65535}},
		"palette, black object 1": {image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.White, color.Black}), color.Black, color.White},
	} {
		t.Run(name, func(t *testing.T) {
			for y, row := range set {
				for x, on := range row {
					c.picture.Set(x, y, map[bool]color.Color{true: c.on, false: c.off}[on])
				}
			}
			path := filepath.Join(t.TempDir(), "mask.png")
			var file bytes.Buffer
			if err := png.Encode(&file, c.picture); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, file.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
			stdout, stderr, status := call(t, "", "rle", "encode", path)
			if stdout != exampleLine || status != exitDone {
				t.Errorf("exit status %d, stdout %q, stderr %q; want %q", status, stdout, stderr, exampleLine)
			}
		})
	}
}

func TestPictureOfMorePixelsThanThereIsMemoryIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mask.png")
	head := []byte("IHDR\x00\x03\x0d\x40\x00\x03\x0d\x40\x08\x00\x00\x00\x00") // 200000×200000, grey
	text := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	text = binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(head))
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := call(t, "", "rle", "encode", path)
	if stdout != "" || status != exitFailed || !strings.Contains(stderr, "200000×200000 pixels are more than 268435456") {
		t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}

func TestDecodedPicturesEncodeToTheSameLines(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "made", "here")
	lines := exampleLine + "\n  \n" + `{"counts":"6","size":[2,3],"note":"empty"}` + "\n" + `{"size":[2,3],"counts":"06"}`
	if _, stderr, status := call(t, lines, "rle", "decode", "--out", folder); status != exitDone {
		t.Fatalf("exit status %d: %s", status, stderr)
	}
	var files []string
	for _, name := range []string{"000000.png", "000001.png", "000002.png"} {
		files = append(files, filepath.Join(folder, name))
	}
	stdout, stderr, status := call(t, "", append([]string{"rle", "encode"}, files...)...)
	want := exampleLine + `{"size":[2,3],"counts":"6"}` + "\n" + `{"size":[2,3],"counts":"06"}` + "\n"
	if stdout != want || status != exitDone {
		t.Errorf("exit status %d, stdout %q, stderr %q; want %q", status, stdout, stderr, want)
	}
	file, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	picture, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if grey, ok := picture.(*image.Gray); !ok || !bytes.Equal(grey.Pix, []byte{0, 255, 0, 0, 255, 255}) {
		t.Errorf("the picture holds %v", picture)
	}
}

func TestStatsAreThoseOfThePixels(t *testing.T) {
	stdout, _, status := call(t, exampleLine+`{"size":[2,3],"counts":"6"}`+"\n", "rle", "stats")
	want := `{"area":3,"bbox":[1,0,2,2],"runs":4}` + "\n" + `{"area":0,"bbox":[0,0,0,0],"runs":1}` + "\n"
	if stdout != want || status != exitDone {
		t.Errorf("exit status %d, stdout %q, want %q", status, stdout, want)
	}
}

func TestLinesThatAreNoMasksNameTheirPlace(t *testing.T) {
	for name, c := range map[string]struct{ lines, says string }{
		"not JSON":            {exampleLine + "mask", "stdin, line 2: no COCO RLE"},
		"a frame of results":  {`{"v":1,"size":[2,3],"objects":[]}`, "stdin, line 1: no COCO RLE"},
		"uncompressed counts": {`{"size":[2,3],"counts":[6]}`, "stdin, line 1: no COCO RLE"},
		"size of three":       {`{"size":[2,3,1],"counts":"6"}`, "stdin, line 1: no COCO RLE"},
		"runs too short":      {"\n" + `{"size":[2,3],"counts":"5"}`, "stdin, line 2: "},
		"absurd size":         {`{"size":[65535,65536],"counts":"000"}`, "stdin, line 1: "},
	} {
		t.Run(name, func(t *testing.T) {
			for _, arguments := range [][]string{{"rle", "stats"}, {"rle", "decode", "--out", t.TempDir()}} {
				_, stderr, status := call(t, c.lines, arguments...)
				if status != exitFailed || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
					t.Errorf("%s: exit status %d, stderr %q, want %q", arguments[1], status, stderr, c.says)
				}
			}
		})
	}
}

func TestPicturesOfAbsurdSizeAreRefused(t *testing.T) {
	line, err := json.Marshal(rle.Empty(16385, 16384).COCO())
	if err != nil {
		t.Fatal(err)
	}
	_, stderr, status := call(t, string(line), "rle", "decode", "--out", t.TempDir())
	if status != exitFailed || !strings.Contains(stderr, "000000.png: a mask of 16385×16384 pixels") {
		t.Errorf("exit status %d, stderr %q", status, stderr)
	}
}

func TestFilesThatAreNoPicturesAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mask.png")
	if err := os.WriteFile(path, []byte("GIF89a"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, path + "s"} {
		_, stderr, status := call(t, "", "rle", "encode", path)
		if status != exitFailed || !strings.Contains(stderr, path) {
			t.Errorf("exit status %d, stderr %q", status, stderr)
		}
	}
}
