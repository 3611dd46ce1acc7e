package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"maskstream/internal/userfile"
	"maskstream/model/amg"
	"maskstream/propagate"
)

// autoFlags switch automatic masks on and set their options.
type autoFlags struct {
	on   bool
	file string
}

func (f *autoFlags) add(flags *pflag.FlagSet, usage string) {
	flags.BoolVar(&f.on, "auto", false, usage)
	flags.StringVar(&f.file, "options", "", "`FILE.json` with options of --auto, under the reference's names")
}

// options reads the file, or gives the defaults.
func (f autoFlags) options() (amg.Options, error) {
	if f.file == "" {
		return amg.Default(), nil
	}
	if !f.on {
		return amg.Options{}, usagef("--options %s are for --auto, which is not given", f.file)
	}
	data, err := userfile.Read(f.file, 1<<20)
	if err != nil {
		return amg.Options{}, usageError{err}
	}
	options, err := amg.ParseOptions(data)
	if err != nil {
		return options, usageError{fmt.Errorf("%s: %w", f.file, err)}
	}
	return options, nil
}

// findObjects finds everything on a clip's first frame, as prompts of a script: the masks, with ids from 1 in the order found.
func findObjects(ctx context.Context, clip propagate.Clip, network amg.Network, options amg.Options, pools homes) ([]propagate.Op, error) {
	generator, err := amg.New(network, options, pools.network)
	if err != nil {
		return nil, err
	}
	first := 0
	frame, err := clip.Frame(ctx, first)
	if err != nil {
		return nil, fmt.Errorf("frame %d: %w", first, err)
	}
	defer frame.Release()
	found, err := generator.Generate(ctx, frame)
	if err != nil {
		return nil, fmt.Errorf("frame %d: %w", first, err)
	}
	if len(found) == 0 {
		return nil, errors.New("--auto: nothing on the first frame passes the filters; lower pred_iou_thresh or stability_score_thresh with --options FILE.json")
	}
	ops := make([]propagate.Op, len(found))
	for i, r := range found {
		id, mask := i+1, r.Mask.COCO()
		ops[i] = propagate.Op{Verb: propagate.AddMask, Frame: &first, Object: &id, Mask: &mask}
	}
	return ops, nil
}
