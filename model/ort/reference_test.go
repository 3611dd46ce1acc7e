package ort

import (
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"maskstream/model"
	"maskstream/model/checkpoint"
	"maskstream/model/sam2"
	"maskstream/tensor"
)

const random64 = "../../integration/testdata/random64/"

// bench is an opened network with what the tests hold it against: testdata/random64.safetensors, made by testdata/record.py.
type bench struct {
	testing.TB
	*Network
	pool     *tensor.Pool
	recorded *checkpoint.Checkpoint
	owned    []interface{ Release() }
}

// open opens the small random network; its weights may be changed on the way. Everything is released when the test ends.
func open(t testing.TB, change func(name string, weight []float32)) *bench {
	t.Helper()
	return openSize(t, 256, change)
}

// openSize is open for pictures of another size, which the weights do not mind.
func openSize(t testing.TB, size int, change func(name string, weight []float32)) *bench {
	t.Helper()
	weights, config, err := sam2.Load(random64+"model.pt", random64+"model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer weights.Close()
	config.ImageSize = size
	recorded, err := checkpoint.Open("testdata/random64.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	pool := tensor.NewPool("test", tensor.Host(), 0)
	network, err := Load(config, changed{checkpoint.NewWeights(weights), change}, Options{Pool: pool, Threads: 1})
	if err != nil {
		t.Fatalf("%v (`make setup` installs ONNX Runtime)", err)
	}
	b := &bench{TB: t, Network: network, pool: pool, recorded: recorded}
	t.Cleanup(func() {
		for _, x := range b.owned {
			x.Release()
		}
		tensor.NoLeaks(t, pool)
		if err := network.Close(); err != nil {
			t.Error(err)
		}
		recorded.Close()
	})
	return b
}

type changed struct {
	sam2.Weights
	change func(name string, weight []float32)
}

func (c changed) Take(name string, shape ...int) ([]float32, error) {
	weight, err := c.Weights.Take(name, shape...)
	if err == nil && c.change != nil {
		c.change(name, weight)
	}
	return weight, err
}

// own releases x when the test ends.
func own[T interface{ Release() }](b *bench, x T, err error) T {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	b.owned = append(b.owned, x)
	return x
}

func (b *bench) frame(i int) *model.Features {
	b.Helper()
	pixels := own(b, readPixels(b, b.pool, filepath.Join("testdata", fmt.Sprintf("%05d.png", i))), nil)
	features, err := b.EncodeImage(pixels)
	return own(b, features, err)
}

func readPixels(t testing.TB, pool *tensor.Pool, path string) *tensor.Tensor {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	picture, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	size := picture.Bounds().Dx()
	pixels, err := pool.New(tensor.Float32, 1, 3, size, size)
	if err != nil {
		t.Fatal(err)
	}
	mean, deviation := [3]float32{0.485, 0.456, 0.406}, [3]float32{0.229, 0.224, 0.225}
	for y := range size {
		for x := range size {
			r, g, b, _ := picture.At(x, y).RGBA()
			for c, v := range [3]uint32{r, g, b} {
				pixels.Float32s()[(c*size+y)*size+x] = (float32(v>>8)/255 - mean[c]) / deviation[c]
			}
		}
	}
	return pixels
}

func (b *bench) want(name string) []float32 {
	b.Helper()
	x, err := b.recorded.Float32s(name)
	if err != nil {
		b.Fatal(err)
	}
	return x
}

// near holds got against a recorded tensor.
func (b *bench) near(name string, got []float32, bound float64) {
	b.Helper()
	b.same(name, got, b.want(name), bound)
}

func (b *bench) same(what string, got, want []float32, bound float64) {
	b.Helper()
	if len(got) != len(want) {
		b.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	worst, at := 0.0, 0
	for i := range got {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= worst) {
			worst, at = d, i
		}
	}
	if !(worst <= bound) {
		b.Errorf("%s differs by %g (%g, want %g, at %d)", what, worst, got[at], want[at], at)
	} else {
		b.Logf("%s differs by %.2g", what, worst)
	}
}

// every takes each n-th block of size numbers.
func every(n, size int, x []float32) []float32 {
	var out []float32
	for i := 0; i+size <= len(x); i += n * size {
		out = append(out, x[i:i+size]...)
	}
	return out
}

func widen(t *tensor.Tensor) []float32 {
	var out []float32
	for _, x := range t.BFloat16s() {
		out = append(out, tensor.FromBFloat16(x))
	}
	return out
}

func (b *bench) nearPrediction(name string, p *model.Prediction, i int) {
	b.Helper()
	logits, pointer := p.Logits.Index(i), p.Pointers.Index(i)
	defer logits.Release()
	defer pointer.Release()
	b.near(name+"/logits", logits.Float32s(), 2e-4)
	b.near(name+"/pointer", pointer.Float32s(), 5e-4)
	b.near(name+"/iou", p.PredictedIoU[i:i+1], 1e-5)
	b.near(name+"/score", p.ObjectScores[i:i+1], 2e-4)
}

func TestAFrameIsEncodedAsByTheReference(t *testing.T) {
	b := open(t, nil)
	f := b.frame(0)
	for i, level := range []*tensor.Tensor{f.HighRes0, f.HighRes1, f.Embedding} {
		plane := level.Shape()[2] * level.Shape()[3]
		b.near(fmt.Sprintf("level/%d", i), every(4, plane, level.Float32s()), 1e-4)
	}
}

func TestASessionGoesAsTheReferences(t *testing.T) {
	b := open(t, nil)
	var memories, pointers []*tensor.Tensor
	for frame := range 4 {
		f := b.frame(frame)
		prompt := model.Prompt{Multimask: true}
		var embedding *tensor.Tensor
		if frame == 0 { // the box 90,40 – 170,150 of a video of 320×180
			const x, y = 256. / 320, 256. / 180
			prompt = model.Prompt{Points: []model.Point{{X: 90 * x, Y: 40 * y, Label: model.BoxTopLeft}, {X: 170 * x, Y: 150 * y, Label: model.BoxBottomRight}}}
		} else {
			a := model.Attention{Memories: []model.SpatialMemory{{Features: memories[0], Temporal: 6}}}
			a.Pointers = append(a.Pointers, model.Pointer{Vector: pointers[0], Distance: float32(frame)})
			for past := 1; past < frame; past++ {
				a.Memories = append(a.Memories, model.SpatialMemory{Features: memories[past], Temporal: frame - past - 1})
			}
			for past := frame - 1; past > 0; past-- {
				a.Pointers = append(a.Pointers, model.Pointer{Vector: pointers[past], Distance: float32(frame - past)})
			}
			e, err := b.AttendMemory(f, []model.Attention{a})
			embedding = own(b, e, err)
		}
		p, err := b.DecodeMasks(f, embedding, []model.Prompt{prompt})
		own(b, p, err)
		b.near(fmt.Sprintf("session/%d/low_res_logits", frame), p.Logits.Float32s(), 5e-4)
		b.near(fmt.Sprintf("session/%d/object_pointer", frame), p.Pointers.Float32s(), 5e-3)
		b.near(fmt.Sprintf("session/%d/object_score_logit", frame), p.ObjectScores, 1e-3)
		memory, err := b.EncodeMemory(f, p.Logits, p.ObjectScores, []bool{frame == 0})
		own(b, memory, err)
		memories = append(memories, own(b, memory.Index(0), nil))
		pointers = append(pointers, own(b, p.Pointers.Index(0), nil))
	}
}

// prompts are those of testdata/record.py. They need the logits of prompts before them.
func (b *bench) prompts(f *model.Features) []*model.Prediction {
	click := []model.Point{{X: 190, Y: 128, Label: model.Positive}}
	cases := []struct {
		points    []model.Point
		previous  int
		multimask bool
	}{
		{click, -1, true},
		{click, -1, false},
		{[]model.Point{click[0], {X: 20.5, Y: 30.25, Label: model.Negative}}, -1, false},
		{[]model.Point{{X: 60, Y: 60, Label: model.BoxTopLeft}, {X: 140, Y: 210, Label: model.BoxBottomRight}, {X: 100, Y: 100, Label: model.Positive}}, -1, false},
		{nil, -1, true},
		{[]model.Point{{X: 120, Y: 90, Label: model.Negative}, {X: 30, Y: 200, Label: model.Positive}}, 0, false},
		{[]model.Point{{X: 250, Y: 4, Label: model.Positive}}, 2, true},
	}
	var all []*model.Prediction
	for _, c := range cases {
		prompt := model.Prompt{Points: c.points, Multimask: c.multimask}
		if c.previous >= 0 {
			prompt.Logits = own(b, all[c.previous].Logits.Index(0), nil)
		}
		p, err := b.DecodeMasks(f, nil, []model.Prompt{prompt})
		all = append(all, own(b, p, err))
	}
	return all
}

func TestPromptsAreDecodedAsByTheReference(t *testing.T) {
	b := open(t, nil)
	for i, p := range b.prompts(b.frame(0)) {
		b.nearPrediction(fmt.Sprintf("prompt/%d", i), p, 0)
	}
}

// drawn are the masks of testdata/record.py: an ellipse and nothing.
func (b *bench) drawn() []model.Prompt {
	size := b.Config().ImageSize
	var prompts []model.Prompt
	for i := range 2 {
		mask, err := b.pool.New(tensor.Float32, size, size)
		own(b, mask, err)
		for at := range mask.Float32s() {
			x, y := (float64(at%size)-150)/60, (float64(at/size)-100)/35
			mask.Float32s()[at] = flag(i == 0 && x*x+y*y < 1)
		}
		prompts = append(prompts, model.Prompt{Mask: mask})
	}
	return prompts
}

func TestDrawnMasksAreAnsweredAsByTheReference(t *testing.T) {
	b := open(t, nil)
	p, err := b.DecodeMasks(b.frame(0), nil, b.drawn())
	own(b, p, err)
	b.nearPrediction("mask/0", p, 0)
	b.nearPrediction("mask/1", p, 1)
}

// memories are those of testdata/record.py: a prompted, a tracked and an absent object.
func (b *bench) memories(f *model.Features, predictions []*model.Prediction) *tensor.Tensor {
	low := b.Config().LowRes()
	logits, err := b.pool.New(tensor.Float32, 3, low, low)
	own(b, logits, err)
	left := logits.Float32s()
	for i := range 2 {
		left = left[copy(left, predictions[i].Logits.Float32s()):]
	}
	for i := range left {
		left[i] = model.NoObjectLogit
	}
	memory, err := b.EncodeMemory(f, logits, []float32{3, 0.5, -2}, []bool{true, false, false})
	return own(b, memory, err)
}

func TestMemoriesAreEncodedAndAttendedToAsByTheReference(t *testing.T) {
	b := open(t, nil)
	f := b.frame(0)
	predictions := b.prompts(f)
	all := b.memories(f, predictions)
	var memories, pointers []*tensor.Tensor
	for i := range 3 {
		memories = append(memories, own(b, all.Index(i), nil))
		pointers = append(pointers, own(b, predictions[i].Pointers.Index(0), nil))
		want := b.want(fmt.Sprintf("memory/%d", i))
		b.roundedAlike(fmt.Sprintf("memory/%d", i), widen(memories[i]), want)
		for k, x := range want { // one number that is rounded otherwise can turn the attention of a cell
			memories[i].BFloat16s()[k] = tensor.ToBFloat16(x)
		}
	}
	for i, c := range []struct {
		memories, rows []int
		pointers       []int
		distances      []float32
	}{
		{[]int{0, 1, 2}, []int{6, 1, 0}, []int{0, 2}, []float32{9, 1}},
		{[]int{0, 2}, []int{6, 5}, nil, nil},
		{nil, nil, []int{0, 1, 2}, []float32{40, 15, 2}},
	} {
		var a model.Attention
		for k, which := range c.memories {
			a.Memories = append(a.Memories, model.SpatialMemory{Features: memories[which], Temporal: c.rows[k]})
		}
		for k, which := range c.pointers {
			a.Pointers = append(a.Pointers, model.Pointer{Vector: pointers[which], Distance: c.distances[k]})
		}
		e, err := b.AttendMemory(f, []model.Attention{a})
		own(b, e, err)
		cells := b.Config().Cells()
		b.near(fmt.Sprintf("attention/%d", i), every(4, cells*cells, e.Float32s()), 2e-4)
	}
}

func TestALargePictureIsAttendedToInBlocks(t *testing.T) {
	b := openSize(t, 640, nil)
	pixels, err := b.pool.New(tensor.Float32, 1, 3, 640, 640)
	own(b, pixels, err)
	fillWithNoise(pixels.Float32s())
	f, err := b.EncodeImage(pixels)
	own(b, f, err)
	memory, err := b.pool.New(tensor.BFloat16, 1600, b.Config().MemoryDim)
	own(b, memory, err)
	for i := range memory.BFloat16s() {
		memory.BFloat16s()[i] = tensor.ToBFloat16(float32(math.Sin(float64(i))))
	}
	e, err := b.AttendMemory(f, []model.Attention{{Memories: []model.SpatialMemory{{Features: memory, Temporal: 6}}}})
	own(b, e, err)
	b.near("large/level", every(16, 1600, f.Embedding.Float32s()), 1e-4)
	b.near("large/attention", every(16, 1600, e.Float32s()), 2e-4)
}

// fillWithNoise writes the same numbers from −1 to 1 as testdata/record.py.
func fillWithNoise(x []float32) {
	state := uint32(1)
	for i := range x {
		state = state*1664525 + 1013904223
		x[i] = float32(state>>16)/32768 - 1
	}
}

// roundedAlike wants bfloat16 numbers to be equal but for a few that lie next to each other, where sums in another order fall
// to the other side of a rounding. A Cast that truncates fails it: half of the numbers would differ.
func (b *bench) roundedAlike(what string, got, want []float32) {
	b.Helper()
	other := 0
	for i := range want {
		if got[i] != want[i] {
			other++
			if math.Abs(float64(got[i]-want[i])) > math.Abs(float64(want[i]))/128+1e-5 {
				b.Fatalf("%s: %g at %d, want %g", what, got[i], i, want[i])
			}
		}
	}
	if other > len(want)/50 {
		b.Errorf("%s: %d of %d numbers are rounded otherwise", what, other, len(want))
	}
	b.Logf("%s: %d of %d rounded otherwise", what, other, len(want))
}

func TestAnAbsentObjectHasNoMaskAndTheNoObjectPointer(t *testing.T) {
	var absent []float32
	b := open(t, func(name string, weight []float32) {
		switch name {
		case "sam_mask_decoder.pred_obj_score_head.layers.2.bias":
			weight[0] -= 1000
		case "no_obj_ptr":
			absent = slices.Clone(weight)
		}
	})
	p, err := b.DecodeMasks(b.frame(0), nil, []model.Prompt{{Multimask: true}})
	own(b, p, err)
	if p.ObjectScores[0] > -900 {
		t.Errorf("score %g", p.ObjectScores[0])
	}
	for _, x := range p.Logits.Float32s() {
		if x != model.NoObjectLogit {
			t.Fatalf("a logit is %g", x)
		}
	}
	b.same("pointer", p.Pointers.Float32s(), absent, 0)

	// A drawn mask stays what it is, but its pointer passes the decoder's own gate.
	p, err = b.DecodeMasks(b.frame(0), nil, b.drawn()[:1])
	own(b, p, err)
	if p.ObjectScores[0] != 10 || slices.Max(p.Logits.Float32s()) != 10 {
		t.Errorf("score %g, highest logit %g", p.ObjectScores[0], slices.Max(p.Logits.Float32s()))
	}
	b.same("pointer", p.Pointers.Float32s(), absent, 0)
}
