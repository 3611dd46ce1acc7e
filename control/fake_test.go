package control

import (
	"context"
	"io"
	"log/slog"
	"math"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"maskstream/frames"
	"maskstream/rle"
	"maskstream/sink"
	"maskstream/tensor"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("waited 30 s for %s", what)
}

func noGoroutinesLeft(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() { until(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= before }) })
}

// fakeStream tracks discs on a picture of its own: every prompt makes a disc around its first point or in its box.
type fakeStream struct {
	preview *sink.MJPEG

	mu       sync.Mutex
	state    StreamState
	reason   string // why it is down, or has ended
	size     [2]int // height, width
	frame    int
	discs    map[int][3]float64 // object → x, y, radius
	next     int
	requests []PromptRequest
	reverses []ReverseRequest
	options  []string
	err      error // what the next verb answers
	stall    bool  // verbs wait for their context
	webrtc   *WebRTCStatus
}

func newFake(width, height int) *fakeStream {
	return &fakeStream{preview: sink.NewMJPEG(sink.MJPEGOptions{Log: quiet()}), state: Up, size: [2]int{height, width}, discs: map[int][3]float64{}, next: 1}
}

func (f *fakeStream) begin(ctx context.Context) error {
	if f.stall {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.err
}

func (f *fakeStream) Prompt(ctx context.Context, request PromptRequest) (*rle.Frame, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, request)
	object := f.next
	if request.Object != nil {
		object = *request.Object
	}
	f.next = max(f.next, object+1)
	switch b := request.Box; {
	case b != nil:
		f.discs[object] = [3]float64{(b[0] + b[2]) / 2, (b[1] + b[3]) / 2, min(b[2]-b[0], b[3]-b[1]) / 2}
	case len(request.Points) > 0:
		f.discs[object] = [3]float64{request.Points[0][0], request.Points[0][1], 40}
	}
	return f.result(rle.Prompted), nil
}

func (f *fakeStream) Clear(ctx context.Context, object int, _ FrameRef) (*rle.Frame, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.discs[object]; !ok {
		return nil, Errorf(NotFound, "there is no object %d", object)
	}
	return f.result(rle.Prompted), nil
}

func (f *fakeStream) Remove(ctx context.Context, object int) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.discs[object]; !ok {
		return Errorf(NotFound, "there is no object %d", object)
	}
	delete(f.discs, object)
	return nil
}

func (f *fakeStream) Reset(ctx context.Context) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.discs)
	return nil
}

func (f *fakeStream) Reverse(ctx context.Context, request ReverseRequest) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reverses = append(f.reverses, request)
	return nil
}

func (f *fakeStream) Discover(ctx context.Context, options []byte) (*rle.Frame, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.options = append(f.options, string(options))
	return f.result(rle.Prompted), nil
}

func (f *fakeStream) Status() StreamStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	latency := &Histogram{}
	latency.Observe(0.02)
	latency.Observe(3)
	s := StreamStatus{State: f.state, Run: "0badcafe", Frame: f.frame, Size: f.size, FPS: 24.96, LatencyMS: 41.7, Viewers: f.preview.Viewers(), Error: f.reason,
		Counters: Counters{Decoded: 7, Dropped: []DropCount{{"queue", "busy", 3}}, LastFrame: time.Unix(1700000000, 0), Latency: []StageLatency{{"infer", latency}},
			Sinks: []sink.Stats{{Name: "nats", Written: 5, Dropped: 2}}, Past: PastCounters{Frames: 30, Bytes: 5000, NotKept: 1, CaughtUp: 8, Reversed: 9},
			Pools: []PoolStats{{"network", tensor.Stats{LiveBytes: 70, IdleBytes: 60, MovedIn: 50}}}}}
	s.WebRTC = f.webrtc
	for _, o := range f.result(rle.Forward).Objects {
		s.Objects = append(s.Objects, ObjectStatus{ID: o.ID, State: o.State, Area: o.Area, BBox: o.BBox})
	}
	return s
}

func (f *fakeStream) Preview() http.Handler { return f.preview }

// result is drawn under f.mu.
func (f *fakeStream) result(direction rle.Direction) *rle.Frame {
	r := &rle.Frame{V: 1, Stream: "demo", Run: "0badcafe", Seq: int64(f.frame), Frame: f.frame, Size: f.size, Direction: direction, Objects: []rle.Object{}}
	ids := make([]int, 0, len(f.discs))
	for id := range f.discs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		d := f.discs[id]
		bits := make([]byte, f.size[0]*f.size[1])
		for y := range f.size[0] {
			for x := range f.size[1] {
				if math.Hypot(float64(x)-d[0], float64(y)-d[1]) < d[2] {
					bits[y*f.size[1]+x] = 1
				}
			}
		}
		m := rle.FromBits(f.size[0], f.size[1], bits)
		state := rle.Tracked
		if m.Area() == 0 {
			state = rle.Occluded
		}
		r.Objects = append(r.Objects, rle.Object{ID: id, State: state, Segmentation: m.COCO(), Area: m.Area(), BBox: m.Box()})
	}
	return r
}

// show puts one picture, a dusk-coloured gradient, into the preview.
func (f *fakeStream) show(ctx context.Context) error {
	f.mu.Lock()
	f.frame++
	r := f.result(rle.Forward)
	h, w := f.size[0], f.size[1]
	f.mu.Unlock()
	p := &frames.Picture{Width: w, Height: h, Format: frames.RGB24}
	pixels := make([]byte, 3*w*h)
	for y := range h {
		for x := range w {
			i := 3 * (y*w + x)
			pixels[i], pixels[i+1], pixels[i+2] = byte(40+80*y/h), byte(60+40*x/w), byte(110-50*y/h)
		}
	}
	p.Planes[0], p.Strides[0] = pixels, 3*w
	p.Own(nil)
	item := sink.Item{Result: r, Picture: p}
	defer item.Release()
	return f.preview.Write(ctx, item)
}
