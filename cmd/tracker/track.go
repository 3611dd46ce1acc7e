package main

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"maskstream/frames"
	"maskstream/internal/clip"
	"maskstream/internal/stream"
	"maskstream/internal/userfile"
	"maskstream/model/amg"
	"maskstream/model/ort"
	"maskstream/propagate"
)

// trackFlags is what tracker track was told.
type trackFlags struct {
	modelFlags
	pools   poolSizes
	prompts promptFlags
	auto    autoFlags
	script  string

	maxFrames, every int

	out, overlay, lowRes, trace string
	offloadVideo, offloadState  bool
	motionAware                 bool
}

func newTrack() *cobra.Command {
	var f trackFlags
	command := &cobra.Command{
		Use:   "track INPUT",
		Short: "Follow objects through a file, a URL or a folder of pictures",
		Long: `Follow objects through a video file, a URL or a folder of pictures (.png, .jpg, in the order of their numbers), every frame,
as fast as it goes. Masks leave as JSON lines on stdout or in --out. INPUT may be pipe:0, which is stdin.

Where the pictures change their size, or their time jumps back by more than a second, an epoch begins: the lines say which, and "frame"
counts within it. Prompts count all pictures from 0. --overlay has the size of its first picture; others are fitted into it with bars.

Point at objects with --point, --box and --mask, each [OBJECT@FRAME:]VALUE, take everything on the first frame with --auto, or give a
whole session with --script.`,
		Example: `  tracker track clip.mp4 --box 90,40,170,150 --overlay masks.mp4 --out masks.jsonl
  tracker track clip.mp4 --point 120,90 --point 200,60,0 --box 2@12:10,10,80,90 --reverse`,
		Args: one("INPUT"),
	}
	flags := command.Flags()
	f.modelFlags.add(flags)
	f.pools.add(flags)
	flags.StringArrayVar(&f.prompts.points, "point", nil, "point `X,Y[,0|1]` on the object, or beside it with 0")
	flags.StringArrayVar(&f.prompts.boxes, "box", nil, "box `X0,Y0,X1,Y1` around the object")
	flags.StringArrayVar(&f.prompts.masks, "mask", nil, "`FILE.png` with the object's mask: what is not black")
	flags.BoolVar(&f.prompts.reverse, "reverse", false, "follow the objects backwards, too, from the first prompted frame")
	f.auto.add(flags, "follow what is found on the first frame")
	flags.StringVar(&f.script, "script", "", "`FILE.json` with a session script, in place of prompts")
	flags.IntVar(&f.maxFrames, "max-frames", 0, "end after `N` frames (0: all)")
	flags.IntVar(&f.every, "every", 1, "process every `N`th frame only")
	flags.StringVar(&f.out, "out", "-", "`FILE.jsonl` for the masks, or - for stdout")
	flags.StringVar(&f.overlay, "overlay", "", "`FILE.mp4` (or .m4v, .mov, .mkv) for the video with the masks drawn over it, pass after pass")
	flags.StringVar(&f.lowRes, "low-res", "", "`FILE.safetensors` for the low-resolution logits behind the masks")
	flags.StringVar(&f.trace, "trace", "", "`FILE.jsonl` for which memories each frame attended to")
	flags.BoolVar(&f.offloadVideo, "offload-video", false, "keep frames in host memory")
	flags.BoolVar(&f.offloadState, "offload-state", false, "keep memories and masks in host memory")
	flags.BoolVar(&f.motionAware, "motion-aware", false, "choose masks and memories also by how the object moves")
	for _, prompt := range []string{"point", "box", "mask"} {
		command.MarkFlagsMutuallyExclusive("script", prompt)
		command.MarkFlagsMutuallyExclusive("auto", prompt)
	}
	command.MarkFlagsMutuallyExclusive("script", "auto")
	command.MarkFlagsMutuallyExclusive("script", "reverse")
	command.RunE = func(command *cobra.Command, args []string) error { return track(command, args[0], f) }
	return command
}

// maxScript is room for a hundred masks of noise.
const maxScript = 256 << 20

// session is the script that the flags name; with --auto it lacks the prompts until the first frame has been seen.
func (f trackFlags) session() (*propagate.Script, error) {
	switch {
	case f.every < 1:
		return nil, usagef("--every %d: must be 1 or more", f.every)
	case f.maxFrames < 0:
		return nil, usagef("--max-frames %d: must be 0 (all) or more", f.maxFrames)
	case f.auto.on:
		return f.prompts.passes(nil), nil
	case f.script == "":
		return f.prompts.script()
	}
	data, err := userfile.Read(f.script, maxScript)
	if err != nil {
		return nil, usageError{err}
	}
	script, err := propagate.ParseScript(data)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", f.script, err)}
	}
	return script, nil
}

// track opens what one session needs and runs it.
func track(command *cobra.Command, input string, f trackFlags) (err error) {
	ctx := command.Context()
	script, err := interruptible(ctx, f.session)
	if err != nil {
		return err
	}
	options, err := f.auto.options()
	if err != nil {
		return err
	}
	source, err := openRecording(ctx, input)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := cmp.Or(f.keepApart(source.info.Source), f.prompts.within(script, source.info)); err != nil {
		return err
	}
	pools, err := newHomes(f.offloadVideo || script.Offload.Video, f.offloadState || script.Offload.State, f.pools)
	if err != nil {
		return err
	}
	network, err := f.open(pools.network)
	if err != nil {
		return err
	}
	defer network.Close()
	err = f.follow(command, source, script, options, network, pools)
	return outOfRoom(err, fmt.Sprintf("give more with --%s and --%s, or keep less: fewer --max-frames, every second frame with --every 2, or no --reverse", networkBytesFlag, hostBytesFlag))
}

// follow runs one session from its recording to its lines.
func (f trackFlags) follow(command *cobra.Command, source *recording, script *propagate.Script, options amg.Options, network *ort.Network, pools homes) (err error) {
	ctx := command.Context()
	converter := frames.NewConverter(network.Config().ImageSize, pools.video)
	var tracker *propagate.Tracker // once it is known what to follow
	var recording *clip.Clip
	recording = clip.New(source.open, converter.Convert, clip.Options{
		Every: f.every, Limit: f.maxFrames, Budget: pools.keptFrames(script), Number: numbering,
		MakeRoom: func(err error) error {
			if tracker == nil {
				return recording.MakeRoom(err)
			}
			return tracker.MakeRoom(err)
		},
	})
	defer func() { err = errors.Join(err, recording.Close()) }()
	if f.auto.on {
		found, err := findObjects(ctx, recording, network, options, pools)
		if err != nil {
			return err
		}
		script.Steps = append(found, script.Steps...)
	}
	outputs, err := f.outputs(command.OutOrStdout(), source.info)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, outputs.close()) }()
	progress := newProgress(command.ErrOrStderr(), expected(script, source.info.Frames, f.every, f.maxFrames))
	defer progress.close()

	tracking := script.TrackerOptions(pools.state, outputs.trace())
	tracking.Overflow, tracking.MakeRoom = pools.overflow(), recording.MakeRoom
	tracking.MotionAware = f.motionAware
	tracking.Retention = script.Retention(tracking.Policy(network.Config()))
	tracker = propagate.New(network, tracking)
	defer tracker.Close()

	encoder := stream.Encoder{Stream: "clip", Run: newRunID(), NonOverlap: script.Options.NonOverlapMasks, LostAfter: 10 * time.Second}
	session := propagate.NewSession(tracker, recording, script)
	return session.Run(ctx, func(o propagate.Outcome) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		progress.step()
		if o.Removed != nil {
			return outputs.removed(o.Removed)
		}
		if err := f.prompts.fits(script.Steps[o.Step], o.Frame.Picture); err != nil {
			return err
		}
		width, height := script.Size(o.Frame)
		result := encoder.Encode(o.Result, o.Frame.Picture.Meta, height, width)
		result.Step = &o.Step
		return outputs.result(o, result)
	})
}

// keptFrames is how many bytes of frames are kept: a session that only goes forward never looks back.
func (h homes) keptFrames(script *propagate.Script) int64 {
	if script.LooksBack() {
		return h.frames(512 << 20)
	}
	return 0
}
