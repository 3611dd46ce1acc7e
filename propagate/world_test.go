package propagate

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"maskstream/frames"
	"maskstream/memory"
	"maskstream/model/modeltest"
	"maskstream/rle"
	"maskstream/tensor"
)

// Pictures are 320×160, the model sees 128×128, so a pixel of the low-resolution map is 10×5 pixels of the picture.
const (
	width, height = 320, 160
	size, lowRes  = 128, 32
)

// world is a tracker on the fake network, and what draws its frames.
type world struct {
	t       testing.TB
	network *modeltest.Network
	tracker *Tracker
	scene   modeltest.Scene
	pool    *tensor.Pool // the network's and the frames'
	traces  []Trace
}

// newWorld is a tracker with this product's defaults, changed by change, which may be nil. Its end is checked for leaks.
func newWorld(t testing.TB, change func(*Options)) *world {
	t.Helper()
	return newWorldWithin(t, 0, change)
}

// newWorldWithin is newWorld whose network has so many bytes for what it makes.
func newWorldWithin(t testing.TB, budget int64, change func(*Options)) *world {
	t.Helper()
	w := &world{t: t, pool: tensor.NewPool("network", tensor.Host(), budget)}
	w.network = modeltest.New(w.pool, size)
	w.scene = modeltest.Scene{Pool: w.pool, Size: size, Width: width, Height: height}
	o := Options{FillHoleArea: 8, CorrectAsConditioning: true, Trace: func(tr Trace) { w.traces = append(w.traces, tr) }}
	if change != nil {
		change(&o)
	}
	w.tracker = New(w.network, o)
	t.Cleanup(func() {
		w.tracker.Close()
		tensor.NoLeaks(t, w.pool, w.tracker.scratch)
		if o.State != nil {
			tensor.NoLeaks(t, o.State)
		}
		if o.Overflow != nil {
			tensor.NoLeaks(t, o.Overflow)
		}
	})
	return w
}

// Two dots that drift: the first in the upper half, the second in the lower.
func first(n int) modeltest.Dot  { return modeltest.Dot{X: 60 + 2*float64(n%60), Y: 40, R: 20} }
func second(n int) modeltest.Dot { return modeltest.Dot{X: 250 - 2*float64(n%60), Y: 120, R: 20} }

func both(n int) []modeltest.Dot { return []modeltest.Dot{first(n), second(n)} }

// seen is what a result says of one object: enough to compare bit by bit.
type seen struct {
	id    int
	has   bool // a result at all
	area  int  // positive logits
	x, y  int  // their middle, in pixels of the picture
	score float32
	bits  uint64 // of logits, pointer and score
}

// near says whether the mask lies on the dot.
func (s seen) near(d modeltest.Dot) bool {
	return s.area > 0 && max(s.x-int(d.X), int(d.X)-s.x) <= 10 && max(s.y-int(d.Y), int(d.Y)-s.y) <= 5
}

func look(r *Result) []seen {
	defer r.Release()
	all := make([]seen, len(r.Objects))
	for i, o := range r.Objects {
		all[i] = seen{id: o.ID, has: o.Logits != nil, score: o.ObjectScore}
		if o.Logits == nil {
			continue
		}
		x, y := 0, 0
		for at, v := range o.Logits.Float32s() {
			if v > 0 {
				all[i].area++
				x += at%lowRes*10 + 5
				y += at/lowRes*5 + 2
			}
		}
		if all[i].area > 0 {
			all[i].x, all[i].y = x/all[i].area, y/all[i].area
		}
		h := fnv.New64a()
		h.Write(o.Logits.Bytes())
		h.Write(o.Pointer.Bytes())
		fmt.Fprint(h, o.ObjectScore, o.PredictedIoU)
		all[i].bits = h.Sum64()
	}
	return all
}

// prompt points at an object on frame n, drawn with dots.
func (w *world) prompt(n, id int, p Prompt, dots ...modeltest.Dot) []seen {
	w.t.Helper()
	frame := w.scene.Frame(n, dots...)
	defer frame.Release()
	if p.Width == 0 {
		p.Width, p.Height = width, height
	}
	r, err := w.tracker.Prompt(frame, id, p)
	if err != nil {
		w.t.Fatal(err)
	}
	return look(r)
}

func (w *world) commit() {
	w.t.Helper()
	if err := w.tracker.Commit(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) step(n int, direction memory.Direction, dots ...modeltest.Dot) []seen {
	w.t.Helper()
	frame := w.scene.Frame(n, dots...)
	defer frame.Release()
	r, err := w.tracker.Step(frame, direction)
	if err != nil {
		w.t.Fatal(err)
	}
	return look(r)
}

// pass steps over from…to with both dots, in whichever direction that is.
func (w *world) pass(from, to int) map[int][]seen {
	w.t.Helper()
	direction := memory.Forward
	if to < from {
		direction = memory.Reverse
	}
	all := map[int][]seen{}
	for n := from; n != to+int(direction); n += int(direction) {
		all[n] = w.step(n, direction, both(n)...)
	}
	return all
}

// recent is which frames an object remembers besides the prompted ones.
func (w *world) recent(id int) []int { return w.tracker.find(id).bank.Frames(memory.Recent) }

// traced is the last trace of an object on a frame.
func (w *world) traced(frame, id int) Trace {
	w.t.Helper()
	for _, tr := range slices.Backward(w.traces) {
		if tr.Frame == frame && tr.Object == id {
			return tr
		}
	}
	w.t.Fatalf("object %d attended to nothing on frame %d", id, frame)
	return Trace{}
}

func click(d modeltest.Dot) Prompt {
	return Prompt{Points: [][2]float32{{float32(d.X), float32(d.Y)}}, Labels: []int{1}}
}

// twice is two clicks, which the network answers with another predicted IoU.
func twice(d modeltest.Dot) Prompt {
	p := click(d)
	return Prompt{Points: append(p.Points, p.Points...), Labels: []int{1, 1}}
}

func span(from, to int) []int {
	frames := []int{}
	for f := from; f <= to; f++ {
		frames = append(frames, f)
	}
	return frames
}

// discs is a clip with both dots.
type discs struct {
	scene         modeltest.Scene
	length, every int
}

func (c discs) Every() int { return c.every }

func (c discs) Frame(_ context.Context, number int) (*frames.Frame, error) {
	if number >= c.length {
		return nil, fmt.Errorf("disc clip: %w", ErrPastEnd)
	}
	return c.scene.Frame(number, both(number)...), nil
}

// line is one outcome of a session.
type line struct {
	step, frame int
	direction   string // prompt, forward, reverse, removed
	objects     []int
}

// play runs a script on a clip of both dots and returns its lines and what they show.
func play(t testing.TB, w *world, length, every int, script string) ([]line, [][]seen, error) {
	t.Helper()
	s, err := ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	w.tracker.options.CorrectAsConditioning = s.Options.CorrectAsConditioning
	w.tracker.options.ClearAroundInput = s.Options.ClearAroundInput
	var lines []line
	var all [][]seen
	err = NewSession(w.tracker, discs{w.scene, length, every}, s).Run(context.Background(), func(o Outcome) error {
		if o.Removed != nil {
			lines = append(lines, line{o.Step, -1, "removed", o.Removed.Remaining})
			all = append(all, nil)
			return nil
		}
		l := line{o.Step, o.Frame.Picture.Meta.Frame, string(rle.Prompted), []int{}}
		if !o.Result.Prompted {
			l.direction = map[memory.Direction]string{memory.Forward: "forward", memory.Reverse: "reverse"}[o.Result.Pass]
		}
		for _, object := range o.Result.Objects {
			l.objects = append(l.objects, object.ID)
		}
		for i := range o.Result.Objects { // look releases what the session lends
			if object := o.Result.Objects[i]; object.Logits != nil {
				object.Logits.Retain()
				object.Pointer.Retain()
			}
		}
		lines, all = append(lines, l), append(all, look(o.Result))
		return nil
	})
	return lines, all, err
}
