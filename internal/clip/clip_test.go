package clip

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"maskstream/frames"
	"maskstream/propagate"
	"maskstream/tensor"
)

const pictureBytes, pixelBytes = 3 * 4 * 2, 4 * 3 * 4

// film gives count pictures, and counts how often it is opened and how many pictures are read.
type film struct {
	count, opened, read, closed int
	pool                        *tensor.Pool

	gop    int  // a key frame every so many pictures; 0: it cannot seek
	late   int  // how many pictures a seek ends up behind where it was asked for
	broken int  // pictures that are wrong after a seek
	wrong  bool // whatever comes after a seek is
	still  bool // all have one time
}

type reel struct {
	film   *film
	next   int
	broken int // pictures that come out wrong, after a seek
	lost   bool
}

func (f *film) open(context.Context) (Reader, error) {
	f.opened++
	if f.gop > 0 {
		return &seekable{reel{film: f}}, nil
	}
	return &reel{film: f}, nil
}

type seekable struct{ reel }

func (r *seekable) Seek(_ context.Context, pts time.Duration) error {
	at := int(pts / time.Second)
	r.next = min(at-at%r.film.gop+r.film.late, r.film.count)
	r.broken, r.lost = r.film.broken, r.film.wrong
	return nil
}

func (r *reel) Next(context.Context) (*frames.Picture, error) {
	if r.next == r.film.count {
		return nil, io.EOF
	}
	r.film.read++
	p := &frames.Picture{Width: 4, Height: 2, Format: frames.RGB24, Planes: [3][]byte{make([]byte, pictureBytes)}, Strides: [3]int{12}, Meta: frames.Meta{Frame: r.next, PTS: time.Duration(r.next) * time.Second}}
	p.Planes[0][0] = byte(r.next)
	if r.broken > 0 || r.lost && r.next%4 == 3 {
		p.Planes[0][1] = 99
		r.broken--
	}
	if r.film.still {
		p.Meta.PTS = 0
	}
	r.next++
	return p.Own(nil), nil
}

func (r *reel) Close() error {
	r.film.closed++
	return nil
}

func (f *film) convert(p *frames.Picture) (*frames.Frame, error) {
	if p.Planes[0][0] != byte(p.Meta.Frame) || p.Planes[0][1] != 0 {
		return nil, errors.New("the picture is another than it was")
	}
	pixels, err := f.pool.New(tensor.Float32, 1, 3, 2, 2)
	if err != nil {
		return nil, err
	}
	return frames.NewFrame(pixels, p.Retain()), nil
}

// walk asks for frames in order and returns the numbers that came, up to the end of the film.
func walk(t *testing.T, c *Clip, numbers ...int) (got []int) {
	t.Helper()
	for _, n := range numbers {
		frame, err := c.Frame(t.Context(), n)
		if errors.Is(err, propagate.ErrPastEnd) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, frame.Picture.Meta.Frame)
		frame.Release()
	}
	return got
}

func upTo(n int) (numbers []int) {
	for i := range n {
		numbers = append(numbers, i)
	}
	return numbers
}

func TestFramesAreReachedInAnyOrderWithinTheBudget(t *testing.T) {
	descending := upTo(20)
	slices.Reverse(descending)
	const frame = pictureBytes + pixelBytes
	for name, c := range map[string]struct {
		options Options
		ask     []int
		want    []int
		opened  int
		read    int // pictures decoded
	}{
		"forward needs one opening":                    {Options{}, upTo(20), upTo(20), 1, 20},
		"the same frame again is not read again":       {Options{}, []int{3, 3, 3}, []int{3, 3, 3}, 1, 4},
		"past the end":                                 {Options{}, []int{18, 19, 20}, []int{18, 19}, 1, 20},
		"back without a budget opens again":            {Options{}, []int{5, 2}, []int{5, 2}, 2, 6 + 3},
		"backwards within the budget":                  {Options{Budget: 20 * frame}, append(upTo(20), descending...), append(upTo(20), descending...), 1, 20},
		"backwards beyond it goes in blocks of frames": {Options{Budget: 10 * frame}, descending, descending, 2, 30},
		"every third":                                  {Options{Every: 3}, []int{0, 3, 6, 18, 21}, []int{0, 3, 6, 18}, 1, 20},
		"the limit counts processed frames":            {Options{Every: 3, Limit: 2}, []int{0, 3, 6}, []int{0, 3}, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			f := &film{count: 20, pool: tensor.NewPool("test", tensor.Host(), 0)}
			clip := New(f.open, f.convert, c.options)
			if got := walk(t, clip, c.ask...); !slices.Equal(got, c.want) {
				t.Errorf("frames %v, want %v", got, c.want)
			}
			if f.opened != c.opened || f.read != c.read {
				t.Errorf("opened %d times and read %d pictures, want %d and %d", f.opened, f.read, c.opened, c.read)
			}
			if peak := f.pool.Stats().PeakBytes; c.options.Budget > 0 && peak > c.options.Budget {
				t.Errorf("%d bytes of pixels at once, the budget is %d", peak, c.options.Budget)
			}
			if err := clip.Close(); err != nil || f.closed != f.opened {
				t.Errorf("closed %d of %d readers, %v", f.closed, f.opened, err)
			}
			tensor.NoLeaks(t, f.pool)
		})
	}
}

func TestAFullPoolMakesRoomFirstElsewhereThenAmongTheFrames(t *testing.T) {
	pool := tensor.NewPool("test", tensor.Host(), 6*64) // six frames
	others := make([]*tensor.Tensor, 4)
	for i := range others {
		others[i], _ = pool.New(tensor.Uint8, 64)
	}
	asked := 0
	var clip *Clip
	makeRoom := func(err error) error {
		asked++
		if len(others) == 0 {
			return clip.MakeRoom(err)
		}
		others[0].Release()
		others = others[1:]
		return nil
	}
	f := &film{count: 20, pool: pool}
	clip = New(f.open, f.convert, Options{Budget: 1 << 20, MakeRoom: makeRoom})
	order := append(upTo(20), 19, 18, 17, 3)
	if got := walk(t, clip, order...); !slices.Equal(got, order) {
		t.Errorf("frames %v, want %v", got, order)
	}
	if asked <= 4 || len(others) != 0 {
		t.Errorf("asked for room %d times, %d are left", asked, len(others))
	}
	if err := clip.Close(); err != nil {
		t.Fatal(err)
	}
	blocked, err := pool.New(tensor.Uint8, 6*64)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clip.Frame(t.Context(), 0); !errors.Is(err, tensor.ErrExhausted) {
		t.Errorf("without any room: %v", err)
	}
	blocked.Release()
	if got := walk(t, clip, 0); !slices.Equal(got, []int{0}) {
		t.Errorf("with room again: %v", got)
	}
	if err := clip.Close(); err != nil {
		t.Fatal(err)
	}
	tensor.NoLeaks(t, pool)
}

func TestBackwardPassDecodesFromKeyFramesWhereSeekingIsExact(t *testing.T) {
	const count, frame = 96, pictureBytes + pixelBytes
	descending := upTo(count)
	slices.Reverse(descending)
	for name, c := range map[string]struct {
		film film
		most int // pictures decoded
	}{
		"without seeking":                       {film{}, 700},
		"key frames":                            {film{gop: 12}, 230},
		"a seek that ends up late":              {film{gop: 12, late: 3}, 250},
		"pictures that are broken after a seek": {film{gop: 12, broken: 5}, 350},
		"a seek that leads elsewhere":           {film{gop: 12, wrong: true}, 800},
		"no times":                              {film{gop: 12, still: true}, 700},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.film
			f.count, f.pool = count, tensor.NewPool("test", tensor.Host(), 0)
			numbered := 0
			clip := New(f.open, f.convert, Options{Budget: 8 * frame, Number: func() func(*frames.Picture) {
				return func(*frames.Picture) { numbered++ }
			}})
			if got := walk(t, clip, upTo(count+1)...); !slices.Equal(got, upTo(count)) {
				t.Fatalf("forward: frames %v", got)
			}
			if got := walk(t, clip, descending...); !slices.Equal(got, descending) {
				t.Errorf("frames %v", got)
			}
			t.Logf("%d pictures decoded, opened %d times", f.read, f.opened)
			if f.read > c.most || numbered != count {
				t.Errorf("%d pictures decoded, want %d at most; %d numbered", f.read, c.most, numbered)
			}
			if err := clip.Close(); err != nil || f.closed != f.opened {
				t.Errorf("closed %d of %d readers, %v", f.closed, f.opened, err)
			}
			tensor.NoLeaks(t, f.pool)
		})
	}
}
