package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"

	"maskstream/frames"
	"maskstream/ingest"
	"maskstream/model/amg"
	"maskstream/tensor"
)

// benchScene is one picture of the test scene.
func benchScene(size benchSize) (*frames.Picture, error) {
	scene, err := ingest.ParseTestScene(fmt.Sprintf("testscene:?size=%dx%d", size.width, size.height))
	if err != nil {
		return nil, err
	}
	p := &frames.Picture{Width: size.width, Height: size.height, Format: frames.RGB24, Strides: [3]int{3 * size.width}}
	p.Planes[0] = make([]byte, 3*size.width*size.height)
	scene.Render(0, p.Planes[0])
	return p.Own(nil), nil
}

// benchAutomatic is automatic masks on a 1080p picture with the built-in model, in turn with the reference's way step by step. The
// records must be the same. The thresholds are lower than the defaults, which this small model's scores do not reach.
func benchAutomatic(ctx context.Context, size benchSize) (trial, error) {
	const batch = 32
	pools, err := newHomes(false, false, poolSizes{})
	if err != nil {
		return trial{}, err
	}
	network, err := openModel("nano", "", 0, pools.network)
	if err != nil {
		return trial{}, err
	}
	t := trial{few: true, close: func() { network.Close() }}
	picture, err := benchScene(size)
	if err != nil {
		t.close()
		return trial{}, err
	}
	frame, err := frames.NewConverter(network.Config().ImageSize, pools.video).Convert(picture)
	if err != nil {
		t.close()
		return trial{}, err
	}
	t.close = func() {
		frame.Release()
		network.Close()
	}
	options := amg.Default()
	options.PointsPerSide, options.PointsPerBatch, options.PredIoUThresh, options.StabilityScoreThresh = &size.points, batch, 0.4, 0.5
	saved, plain := tensor.NewPool("saved", tensor.Host(), 0), tensor.NewPool("plain", tensor.Host(), 0)
	with, err := amg.New(network, options, saved)
	if err == nil {
		var without *amg.Generator
		if without, err = amg.NewPlain(network, options, plain); err == nil {
			t.inTurn(ctx, frame, with, without)
			t.after = func() map[string]any {
				runs := with.Counts.Candidates / (3 * size.points * size.points)
				return map[string]any{"interpolated": with.Counts.Interpolated / runs, "plain_interpolated": without.Counts.Interpolated / runs, "candidates": with.Counts.Candidates / runs,
					"scratch_peak_bytes": saved.Stats().PeakBytes, "plain_scratch_peak_bytes": plain.Stats().PeakBytes, "sparse_chunks": with.Counts.Moved.Sparse / runs, "dense_chunks": with.Counts.Moved.Dense / runs}
			}
		}
	}
	if err != nil {
		t.close()
		return trial{}, err
	}
	t.work = map[string]any{"size": [2]int{size.height, size.width}, "points_per_side": size.points, "points_per_batch": batch, "model": "nano"}
	return t, nil
}

// inTurn runs two generators on a frame and holds their records to one another.
func (t *trial) inTurn(ctx context.Context, frame *frames.Frame, with, without *amg.Generator) {
	var found []amg.Record
	t.run = func() (err error) {
		found, err = with.Generate(ctx, frame)
		t.work["annotations"] = len(found)
		return err
	}
	t.plain = func() error {
		records, err := without.Generate(ctx, frame)
		if err != nil {
			return err
		}
		if a, b := fmt.Sprint(found), fmt.Sprint(records); a != b {
			return fmt.Errorf("%d records with the savings, %d without, and they differ", len(found), len(records))
		}
		return nil
	}
}

// benchImages is one call of tracker segment over three pictures, in turn with three calls: a call opens the network, and computes
// the positional encoding, once.
func benchImages(ctx context.Context, size benchSize) (_ trial, err error) {
	const images = 3
	folder, err := os.MkdirTemp("", "tracker-bench-*")
	if err != nil {
		return trial{}, err
	}
	t := trial{few: true, close: func() { os.RemoveAll(folder) }, work: map[string]any{"images": images, "model": "nano"}}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	var names []string
	for i := range images {
		names = append(names, filepath.Join(folder, fmt.Sprintf("%d.png", i)))
		picture := image.NewGray(image.Rect(0, 0, size.width, size.height))
		if err := writeTo(names[i], nil, func(w io.Writer) error { return png.Encode(w, picture) }); err != nil {
			return trial{}, err
		}
	}
	f := segmentFlags{modelFlags: modelFlags{model: "nano", device: "auto"}, points: []string{"9,9"}, out: "-"}
	call := func(names []string) error {
		return segment(ctx, io.Discard, names, f, func(pool *tensor.Pool) (imageNetwork, error) { return f.open(pool) })
	}
	t.run = func() error { return call(names) }
	t.plain = func() (err error) {
		for i := range names {
			err = errors.Join(err, call(names[i:i+1]))
		}
		return err
	}
	return t, nil
}
