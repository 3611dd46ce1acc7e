package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"maskstream/rle"
)

func newRLE() *cobra.Command {
	command := &cobra.Command{
		Use:   "rle",
		Short: "COCO run-length masks from pictures, to pictures, and in figures",
	}
	command.AddCommand(newRLEEncode(), newRLEDecode(), newRLEStats())
	return command
}

func newRLEEncode() *cobra.Command {
	return &cobra.Command{
		Use:   "encode FILE.png…",
		Short: "Mask pictures → one line of COCO RLE JSON each",
		Long: `Mask pictures → one line of COCO RLE JSON each, in the order given.

What is not zero is set: in a picture with a palette the index, in any other the colour, whatever its depth.
A pixel that is fully transparent is not set.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, files []string) error {
			lines := jsonLines(command.OutOrStdout())
			for _, file := range files {
				mask, err := readMaskPicture(file)
				if err != nil {
					return err
				}
				if err := lines.Encode(mask.COCO()); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func newRLEDecode() *cobra.Command {
	command := &cobra.Command{
		Use:   "decode --out DIR",
		Short: "COCO RLE JSON lines on stdin → 000000.png …",
		Long:  "COCO RLE JSON lines on stdin → one 8-bit grey picture each, 255 where the mask is set, named 000000.png and on.",
		Args:  cobra.NoArgs,
	}
	folder := command.Flags().String("out", "", "`DIR` for the pictures, made where it does not exist")
	command.RunE = func(command *cobra.Command, _ []string) error {
		if *folder == "" {
			return usagef("which folder are the pictures for? Say so with --out DIR")
		}
		if err := os.MkdirAll(*folder, 0o777); err != nil {
			return err
		}
		number := 0
		for mask, err := range masks(command.InOrStdin()) {
			if err != nil {
				return err
			}
			if err := writeMaskPicture(filepath.Join(*folder, fmt.Sprintf("%06d.png", number)), mask); err != nil {
				return err
			}
			number++
		}
		return nil
	}
	return command
}

func newRLEStats() *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "COCO RLE JSON lines on stdin → area, box and number of runs of each",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			lines := jsonLines(command.OutOrStdout())
			for mask, err := range masks(command.InOrStdin()) {
				if err != nil {
					return err
				}
				if err := lines.Encode(struct {
					Area int64  `json:"area"`
					BBox [4]int `json:"bbox"`
					Runs int    `json:"runs"`
				}{mask.Area(), mask.Box(), len(mask.Runs)}); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// jsonLines encodes without HTML's escapes: < and > are frequent in counts.
func jsonLines(out io.Writer) *json.Encoder {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder
}

// masks reads COCO RLE JSON lines and ends with the first error, which names its line. Blank lines are passed over.
func masks(in io.Reader) iter.Seq2[rle.Mask, error] {
	return func(yield func(rle.Mask, error) bool) {
		reader := bufio.NewReader(in)
		for line := 1; ; line++ {
			text, err := reader.ReadBytes('\n')
			if err != nil && !errors.Is(err, io.EOF) {
				yield(rle.Mask{}, fmt.Errorf("stdin, line %d: %w", line, err))
				return
			}
			last := err != nil
			if len(bytes.TrimSpace(text)) > 0 {
				mask, err := parseMask(text)
				if err != nil {
					yield(rle.Mask{}, fmt.Errorf("stdin, line %d: %w", line, err))
					return
				}
				if !yield(mask, nil) {
					return
				}
			}
			if last {
				return
			}
		}
	}
}

func parseMask(text []byte) (rle.Mask, error) {
	var coco struct {
		Size   []int   `json:"size"`
		Counts *string `json:"counts"`
	}
	if err := json.Unmarshal(text, &coco); err != nil {
		return rle.Mask{}, fmt.Errorf(`no COCO RLE, which is {"size":[height,width],"counts":"…"}: %w`, err)
	}
	if len(coco.Size) != 2 || coco.Counts == nil {
		return rle.Mask{}, errors.New(`no COCO RLE, which is {"size":[height,width],"counts":"…"}: needs both keys`)
	}
	return rle.Parse(coco.Size[0], coco.Size[1], *coco.Counts)
}

func readMaskPicture(path string) (rle.Mask, error) {
	file, err := os.Open(path)
	if err != nil {
		return rle.Mask{}, err
	}
	defer file.Close()
	picture, err := png.Decode(bufio.NewReader(file))
	if err != nil {
		return rle.Mask{}, fmt.Errorf("%s: not a PNG that can be read: %w", path, err)
	}
	height, width := picture.Bounds().Dy(), picture.Bounds().Dx()
	return rle.FromBits(height, width, setPixels(picture)), nil
}

// setPixels is a byte per pixel, row after row, non-zero where the picture is.
func setPixels(picture image.Image) []byte {
	bounds := picture.Bounds()
	bits := make([]byte, 0, bounds.Dx()*bounds.Dy())
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		switch picture := picture.(type) {
		case *image.Gray:
			start := picture.PixOffset(bounds.Min.X, y)
			bits = append(bits, picture.Pix[start:start+bounds.Dx()]...)
		case *image.Paletted: // the index is the object's number, its colour is for looking at
			start := picture.PixOffset(bounds.Min.X, y)
			bits = append(bits, picture.Pix[start:start+bounds.Dx()]...)
		default:
			for x := bounds.Min.X; x < bounds.Max.X; x++ {
				bit := byte(0)
				if r, g, b, _ := picture.At(x, y).RGBA(); r|g|b != 0 { // 16 bits each, already times alpha
					bit = 1
				}
				bits = append(bits, bit)
			}
		}
	}
	return bits
}

// maxPicturePixels keeps a line that claims an absurd size from asking for as much memory: 16384×16384.
const maxPicturePixels = 1 << 28

func writeMaskPicture(path string, mask rle.Mask) error {
	if pixels := mask.Height * mask.Width; pixels == 0 || pixels > maxPicturePixels {
		return fmt.Errorf("%s: a mask of %d×%d pixels makes no picture: 1 to %d pixels do", path, mask.Height, mask.Width, maxPicturePixels)
	}
	picture := image.NewGray(image.Rect(0, 0, mask.Width, mask.Height))
	if err := mask.Decode(picture.Pix); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i, bit := range picture.Pix {
		picture.Pix[i] = -bit // 0 or 255
	}
	var buffer bytes.Buffer
	if err := png.Encode(&buffer, picture); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, buffer.Bytes(), 0o666)
}
