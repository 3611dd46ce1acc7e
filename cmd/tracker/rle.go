package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
				mask, err := interruptible(command.Context(), func() (rle.Mask, error) { return readMaskPicture(file) })
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
		for mask, err := range masks(interruptibleReader{command.Context(), command.InOrStdin()}) {
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
			for mask, err := range masks(interruptibleReader{command.Context(), command.InOrStdin()}) {
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
