package main

import (
	"context"
	"errors"
	"fmt"
	"image/png"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"maskstream/frames"
	"maskstream/model/amg"
	"maskstream/tensor"
)

// segmentFlags is what tracker segment was told.
type segmentFlags struct {
	modelFlags
	auto          autoFlags
	points, boxes []string

	out, overlay string
}

func newSegment() *cobra.Command {
	var f segmentFlags
	command := &cobra.Command{
		Use:   "segment IMAGE…",
		Short: "Masks on pictures: of what you point at, or of everything",
		Long: `Masks on pictures, as a JSON array of records with COCO run-length masks; an array for each picture where there are several.

Point at objects with --point and --box, each [OBJECT@IMAGE:]VALUE with pictures counted from 0 (without a place: object 1 on every
picture), one record an object in the order of their ids. Or find everything with --auto; --options names a file with the options of the
reference's automatic mask generator, as in {"points_per_side": 16, "pred_iou_thresh": 0.7}.

An IMAGE is anything that FFmpeg reads; of a video the first picture is taken.`,
		Example: `  tracker segment photo.jpg --auto --overlay masks.png > masks.json
  tracker segment photo.jpg --point 120,90 --box 2@0:10,10,80,90`,
		Args: cobra.MinimumNArgs(1),
	}
	flags := command.Flags()
	f.modelFlags.add(flags)
	f.auto.add(flags, "find the masks of everything")
	flags.StringArrayVar(&f.points, "point", nil, "point `X,Y[,0|1]` on the object, or beside it with 0")
	flags.StringArrayVar(&f.boxes, "box", nil, "box `X0,Y0,X1,Y1` around the object")
	flags.StringVar(&f.out, "out", "-", "`FILE.json` for the records, or - for stdout")
	flags.StringVar(&f.overlay, "overlay", "", "`FILE.png` for the picture with the masks drawn over it (of one picture only)")
	command.MarkFlagsMutuallyExclusive("auto", "point")
	command.MarkFlagsMutuallyExclusive("auto", "box")
	command.RunE = func(command *cobra.Command, args []string) error {
		open := func(pool *tensor.Pool) (imageNetwork, error) { return f.open(pool) }
		return segment(command.Context(), command.OutOrStdout(), args, f, open)
	}
	return command
}

// imageNetwork is a network that masks are found with, and that is closed afterwards.
type imageNetwork interface {
	amg.Network
	Close() error
}

// segment opens the network once, whatever the number of pictures: what does not depend on the picture, as the dense positional
// encoding, is computed once a call, and is gone with it.
func segment(ctx context.Context, stdout io.Writer, images []string, f segmentFlags, open func(*tensor.Pool) (imageNetwork, error)) (err error) {
	if f.overlay != "" && len(images) > 1 {
		return usagef("--overlay draws over one picture, there are %d", len(images))
	}
	if f.overlay != "" && !strings.EqualFold(filepath.Ext(f.overlay), ".png") {
		return usagef("--overlay %s: it is a picture, whose name ends in .png", f.overlay)
	}
	if !f.auto.on && len(f.points)+len(f.boxes) == 0 {
		return usagef("nothing to segment: point at an object with --point X,Y or --box X0,Y0,X1,Y1, or take everything with --auto")
	}
	if err := f.keepApart(images); err != nil {
		return err
	}
	options, err := f.auto.options()
	if err != nil {
		return err
	}
	prompts, err := imagePrompts(f.points, f.boxes, len(images))
	if err != nil {
		return err
	}
	pools, err := newHomes(false, false, poolSizes{})
	if err != nil {
		return err
	}
	network, err := open(pools.network)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, network.Close()) }()
	generator, err := amg.New(network, options, pools.network)
	if err != nil {
		return err
	}
	converter := frames.NewConverter(network.Config().ImageSize, pools.video)
	all := make([][]amg.Record, len(images))
	for i, name := range images {
		frame, err := firstFrame(ctx, name, converter)
		if err != nil {
			return err
		}
		if f.auto.on {
			all[i], err = generator.Generate(ctx, frame)
		} else if err = onPicture(prompts[i], frame.Picture); err == nil {
			all[i], err = generator.Segment(ctx, frame, prompts[i])
		}
		if err == nil && f.overlay != "" {
			err = drawRecords(f.overlay, frame.Picture, all[i])
		}
		frame.Release()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if f.auto.on && len(slices.Concat(all...)) == 0 {
		slog.Warn("nothing passes the filters; lower pred_iou_thresh or stability_score_thresh with --options FILE.json")
	}
	return writeTo(f.out, stdout, func(w io.Writer) error {
		lines := jsonLines(w)
		if len(all) == 1 {
			return lines.Encode(all[0])
		}
		return lines.Encode(all)
	})
}

// firstFrame reads an image, or the first picture of something longer.
func firstFrame(ctx context.Context, name string, converter *frames.Converter) (*frames.Frame, error) {
	source, err := openRecording(ctx, name)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	picture, err := source.opened.Next(ctx)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there is no picture in it", name)
	}
	if err != nil {
		return nil, err
	}
	defer picture.Release()
	return converter.Convert(picture)
}

// drawRecords writes a picture with masks drawn over it, the first on top.
func drawRecords(path string, picture *frames.Picture, records []amg.Record) error {
	var painter frames.Painter
	canvas, err := painter.Paint(picture, nil)
	if err != nil {
		return err
	}
	layers := make([]frames.Layer, len(records))
	for i, r := range records {
		layers[len(records)-1-i] = frames.Layer{Mask: r.Mask, Colour: frames.Colour(i + 1)}
	}
	frames.Draw(canvas, layers)
	return writeTo(path, nil, func(w io.Writer) error { return png.Encode(w, canvas) })
}

// writeTo writes a whole file, or to stdout where the path is -.
func writeTo(path string, stdout io.Writer, write func(io.Writer) error) (err error) {
	if path == "-" && stdout != nil {
		return write(stdout)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return write(file)
}

// keepApart refuses to write over a file that is read, and both results into one file.
func (f segmentFlags) keepApart(images []string) error {
	taken := []named{{"--model", f.model}, {"--model-config", f.config}, {"--options", f.auto.file}}
	for _, image := range images {
		taken = append(taken, named{"the input", image})
	}
	return keepApart(taken, []named{{"--out", f.out}, {"--overlay", f.overlay}})
}
