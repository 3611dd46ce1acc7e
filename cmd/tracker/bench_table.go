package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"maskstream/frames"
	"maskstream/memory"
	"maskstream/propagate"
	"maskstream/rle"
	"maskstream/tensor"
)

// benchSize says how large the benchmarks of whole pictures are.
type benchSize struct {
	width, height    int // of the picture that is searched
	points           int // a side
	masks            int
	canvasW, canvasH int // of the masks
}

var (
	benchFull  = benchSize{width: benchWidth, height: benchHeight, points: 32, masks: 300, canvasW: 960, canvasH: 540}
	benchQuick = benchSize{width: 160, height: 96, points: 4, masks: 33, canvasW: 96, canvasH: 54}
)

// benchmarks is what tracker bench measures, in the order of a frame's way.
func benchmarks(size benchSize) []benchmark {
	all := []benchmark{{"frame_to_tensor_1080p", benchConvert}}
	for _, objects := range []int{1, 4, 16} {
		all = append(all, benchmark{"track_step", func(context.Context) (trial, error) { return benchStep(objects, false, false) }})
	}
	for _, offload := range [][2]bool{{true, false}, {false, true}, {true, true}} {
		all = append(all, benchmark{"track_step", func(context.Context) (trial, error) { return benchStep(4, offload[0], offload[1]) }})
	}
	sized := func(prepare func(benchSize) (trial, error)) func(context.Context) (trial, error) {
		return func(context.Context) (trial, error) { return prepare(size) }
	}
	return append(all,
		benchmark{"logits_to_rle_1080p", benchRuns1080},
		benchmark{"rle_codec_1080p", benchCodec},
		benchmark{"uint8_to_float32", benchBytes},
		benchmark{"transfer_restore_pad", benchTransfer},
		benchmark{"mask_decode_300", sized(benchDecode)},
		benchmark{"boundary_copies", sized(benchBoundaries)},
		benchmark{"segment_images", func(ctx context.Context) (trial, error) { return benchImages(ctx, size) }},
		benchmark{"amg_1080p", func(ctx context.Context) (trial, error) { return benchAutomatic(ctx, size) }},
	)
}

const benchWidth, benchHeight = 1920, 1080

// benchPicture is a 1080p picture as cameras send it, smooth with some noise.
func benchPicture() *frames.Picture {
	random := rand.New(rand.NewPCG(1, 2))
	p := &frames.Picture{Width: benchWidth, Height: benchHeight, Format: frames.YUV420P, Matrix: frames.BT709}
	for i, size := range [3][2]int{{benchWidth, benchHeight}, {benchWidth / 2, benchHeight / 2}, {benchWidth / 2, benchHeight / 2}} {
		plane := make([]byte, size[0]*size[1])
		for at := range plane {
			x, y := float64(at%size[0])/float64(size[0]), float64(at/size[0])/float64(size[1])
			plane[at] = byte(128 + 90*math.Sin(7*x)*math.Cos(5*y) + random.Float64()*8)
		}
		p.Planes[i], p.Strides[i] = plane, size[0]
	}
	return p.Own(nil)
}

// benchConvert is picture to tensor for the built-in model.
func benchConvert(context.Context) (trial, error) {
	const size = 256
	picture := benchPicture()
	converter := frames.NewConverter(size, tensor.NewPool("video", tensor.Host(), 0))
	return trial{work: map[string]any{"size": [2]int{benchHeight, benchWidth}, "model_size": size, "format": "yuv420p"}, run: func() error {
		frame, err := converter.Convert(picture)
		if err != nil {
			return err
		}
		frame.Release()
		return nil
	}}, nil
}

// benchStep is one frame of the built-in model with a full memory bank: encoded once, all objects attended, decoded and
// remembered. With frames or memories at home elsewhere, it also says how much a frame moves.
func benchStep(objects int, offloadVideo, offloadState bool) (trial, error) {
	pools, err := newHomes(offloadVideo, offloadState, poolSizes{})
	if err != nil {
		return trial{}, err
	}
	network, err := openModel("nano", "", 0, pools.network)
	if err != nil {
		return trial{}, err
	}
	frame, err := frames.NewConverter(network.Config().ImageSize, pools.video).Convert(benchPicture())
	if err != nil {
		return trial{}, err
	}
	options := propagate.Options{FillHoleArea: 8, CorrectAsConditioning: true, State: pools.state}
	options.Retention = memory.Live(options.Policy(network.Config()), 1)
	tracker := propagate.New(network, options)
	t := trial{work: map[string]any{"objects": objects, "model": "nano", "size": network.Config().ImageSize, "offload_video": offloadVideo, "offload_state": offloadState}}
	t.close = func() {
		tracker.Close()
		frame.Release()
		network.Close()
	}
	for i := range objects {
		x, y := float32(i%4)*benchWidth/4, float32(i/4)*benchHeight/4
		box := [4]float32{x + 20, y + 20, x + 400, y + 240}
		result, err := tracker.Prompt(frame, i+1, propagate.Prompt{Box: &box, Width: benchWidth, Height: benchHeight})
		if err != nil {
			t.close()
			return trial{}, err
		}
		result.Release()
	}
	if err := tracker.Commit(); err != nil {
		t.close()
		return trial{}, err
	}
	t.run = func() error {
		// A new frame each time, so that it is encoded; the same pixels cost the same.
		next := frames.NewFrame(frame.Pixels.Retain(), frame.Picture.Retain())
		defer next.Release()
		frame.Index++
		next.Index = frame.Index
		result, err := tracker.Step(next, memory.Forward)
		if err != nil {
			return err
		}
		result.Release()
		return nil
	}
	for range 16 { // until the bank is full
		if err := t.run(); err != nil {
			t.close()
			return trial{}, fmt.Errorf("filling the memory bank: %w", err)
		}
	}
	before := moved(pools)
	if err := t.run(); err != nil {
		t.close()
		return trial{}, err
	}
	t.work["moved_kib"] = (moved(pools) - before) >> 10
	return t, nil
}

// moved is how many bytes have gone from one pool to another.
func moved(pools homes) (bytes int64) {
	for _, p := range pools.all() {
		bytes += p.Stats().MovedIn
	}
	return bytes
}

// benchLogits is a person-sized blob with an uneven edge on 256×256 low-resolution logits.
func benchLogits() []float32 {
	const side = 256
	random := rand.New(rand.NewPCG(3, 4))
	logits := make([]float32, side*side)
	for i := range logits {
		x, y := float64(i%side)-110, (float64(i/side)-130)/2.6
		logits[i] = float32((32-math.Hypot(x, y))*0.4 + random.NormFloat64()*0.3)
	}
	return logits
}

// benchRuns1080 is logits to runs at the picture's size.
func benchRuns1080(context.Context) (trial, error) {
	logits := benchLogits()
	var encoder rle.Encoder
	mask := encoder.FromLogits(logits, 256, 256, benchHeight, benchWidth)
	return trial{work: map[string]any{"size": [2]int{benchHeight, benchWidth}, "low_res": 256, "runs_in_mask": len(mask.Runs)}, run: func() error {
		encoder.FromLogits(logits, 256, 256, benchHeight, benchWidth)
		return nil
	}}, nil
}

// benchCodec is a mask's way through COCO's string and back to pixels.
func benchCodec(context.Context) (trial, error) {
	var encoder rle.Encoder
	mask := encoder.FromLogits(benchLogits(), 256, 256, benchHeight, benchWidth)
	pixels := make([]byte, benchHeight*benchWidth)
	return trial{work: map[string]any{"size": [2]int{benchHeight, benchWidth}, "bytes": len(mask.Counts())}, run: func() error {
		read, err := rle.Parse(benchHeight, benchWidth, mask.Counts())
		if err != nil {
			return err
		}
		if err := read.Decode(pixels); err != nil {
			return err
		}
		if again := rle.FromBits(benchHeight, benchWidth, pixels); again.Area() != mask.Area() {
			return fmt.Errorf("the mask came back with area %d, it had %d", again.Area(), mask.Area())
		}
		return nil
	}}, nil
}
