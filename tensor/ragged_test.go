package tensor

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"unsafe"
)

// remote is a device whose memory the host cannot see, and that counts what crosses.
type remote struct {
	mu                       sync.Mutex
	blocks                   map[unsafe.Pointer][]byte
	in, out, inside, scatter int // copies to it, from it, within it; scatters
}

func newRemote() *remote { return &remote{blocks: map[unsafe.Pointer][]byte{}} }

func (*remote) Name() string { return "remote" }

func (r *remote) Alloc(size int) (Memory, error) {
	b := make([]byte, size)
	p := unsafe.Pointer(unsafe.SliceData(b))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blocks[p] = b
	return Memory{Device: p}, nil
}

func (r *remote) Free(m Memory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.blocks, m.Device)
}

func (r *remote) Copy(dst, src Memory, size int) error {
	switch {
	case dst.Host == nil && src.Host == nil:
		r.inside++
	case dst.Host == nil:
		r.in++
	default:
		r.out++
	}
	copy(seen(dst, size), seen(src, size))
	return nil
}

func (r *remote) Scatter(dst, src, destinations Memory, rows, size int) error {
	r.scatter++
	to := unsafe.Slice((*int64)(destinations.Device), rows)
	for i, row := range to {
		copy(unsafe.Slice((*byte)(unsafe.Add(dst.Device, int(row)*size)), size), unsafe.Slice((*byte)(unsafe.Add(src.Device, i*size)), size))
	}
	return nil
}

func seen(m Memory, size int) []byte {
	if m.Device != nil {
		return unsafe.Slice((*byte)(m.Device), size)
	}
	return m.Host[:size]
}

// prompts are the points and labels of n images, the second of which has none.
func prompts(n int) (points [][]float32, labels [][]int64) {
	for i := range n {
		points, labels = append(points, nil), append(labels, nil)
		for k := range (i * 5) % 7 {
			if i == 1 {
				break
			}
			points[i] = append(points[i], float32(i), float32(k)+0.5)
			labels[i] = append(labels[i], int64(k%2))
		}
	}
	return points, labels
}

func collate(t *testing.T, pool *Pool, n int) *Ragged {
	t.Helper()
	points, labels := prompts(n)
	r, err := Collate(pool, RowsOf(2, points), RowsOf(1, labels))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// padded is what padding gives, made part by part.
func padded(parts [][]float32, width, least int, fill ...float32) []float32 {
	rows := least
	for _, p := range parts {
		rows = max(rows, len(p)/width)
	}
	var all []float32
	for _, p := range parts {
		all = append(all, p...)
		for range rows - len(p)/width {
			all = append(all, fill...)
		}
	}
	return all
}

// padOn pads field 0 and brings it to the host.
func padOn(t *testing.T, r *Ragged, least int) []float32 {
	t.Helper()
	p, err := Pad[float32](r, 0, least, -7, -8)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	home := NewPool("home", Host(), 0)
	defer NoLeaks(t, home)
	if p.Pool().Device().Name() == "cpu" {
		return slices.Clone(p.Float32s())
	}
	here, err := p.To(home)
	if err != nil {
		t.Fatal(err)
	}
	defer here.Release()
	return slices.Clone(here.Float32s())
}

func TestABatchMovesInAsManyCopiesWhateverTheNumberOfParts(t *testing.T) {
	for _, n := range []int{0, 1, 2, 64} {
		home, device := NewPool("home", Host(), 0), newRemote()
		there := NewPool("there", device, 0)
		r := collate(t, home, n)
		moved, err := r.To(there)
		if err != nil {
			t.Fatal(err)
		}
		if device.in != 3 || there.Stats().Moves != 3 {
			t.Errorf("%d parts moved in %d copies, %d of them counted; want 3: two fields and where their rows go", n, device.in, there.Stats().Moves)
		}
		r.Release()
		moved.Release()
		NoLeaks(t, home, there)
	}
}

func TestNothingIsReadBackToTakeABatchApartAndPadIt(t *testing.T) {
	home, device := NewPool("home", Host(), 0), newRemote()
	there := NewPool("there", device, 0)
	points, _ := prompts(64)
	r := collate(t, home, 64)
	moved, err := r.To(there)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range moved.Fields[0].Parts {
		if p.Shape()[0] != len(points[i])/2 {
			t.Errorf("part %d has shape %v", i, p.Shape())
		}
	}
	device.in = 0
	p, err := Pad[int64](moved, 1, 1, -1)
	if err != nil {
		t.Fatal(err)
	}
	if device.out != 0 || device.inside != 0 || device.in != 1 || device.scatter != 1 {
		t.Errorf("padding took %d reads, %d copies inside, %d writes and %d scatters; want one write of the filling and one scatter", device.out, device.inside, device.in, device.scatter)
	}
	for _, x := range []interface{ Release() }{p, r, moved} {
		x.Release()
	}
	NoLeaks(t, home, there)
}

func TestAPackedBatchIsPaddedAsARaggedOne(t *testing.T) {
	for _, n := range []int{1, 2, 3, 17} {
		for _, least := range []int{0, 1, 9} {
			points, _ := prompts(n)
			home := NewPool("home", Host(), 0)
			there := NewPool("there", newRemote(), 0)
			r := collate(t, home, n)
			moved, err := r.To(there)
			if err != nil {
				t.Fatal(err)
			}
			want := padded(points, 2, least, -7, -8)
			if got := padOn(t, r, least); !slices.Equal(got, want) {
				t.Errorf("%d parts, at least %d: got %v, want %v", n, least, got, want)
			}
			if got := padOn(t, moved, least); !slices.Equal(got, want) {
				t.Errorf("%d parts, at least %d, moved: got %v, want %v", n, least, got, want)
			}
			r.Release()
			moved.Release()
			NoLeaks(t, home, there)
		}
	}
}

func TestWhatACallerDoesToThePartsIsWhatTheBatchSays(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, r *Ragged, points [][]float32){
		"edited in place": func(t *testing.T, r *Ragged, points [][]float32) {
			points[3][1] = 99
			r.Fields[0].Parts[3].Float32s()[1] = 99
		},
		"replaced": func(t *testing.T, r *Ragged, points [][]float32) {
			points[1] = []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
			r.replace(t, 1, points[1], make([]int64, 8))
		},
		"reordered": func(t *testing.T, r *Ragged, points [][]float32) {
			points[0], points[3] = points[3], points[0]
			for _, f := range r.Fields {
				f.Parts[0], f.Parts[3] = f.Parts[3], f.Parts[0]
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			points, _ := prompts(5)
			home, device := NewPool("home", Host(), 0), newRemote()
			there := NewPool("there", device, 0)
			r := collate(t, home, 5)
			change(t, r, points)
			want := padded(points, 2, 0, -7, -8)
			if got := padOn(t, r, 0); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			moved, err := r.To(there)
			if err != nil {
				t.Fatal(err)
			}
			if got := padOn(t, moved, 0); !slices.Equal(got, want) {
				t.Errorf("moved: got %v, want %v", got, want)
			}
			if device.scatter != 1 { // what moved is packed again, whatever was done before
				t.Errorf("%d scatters after moving", device.scatter)
			}
			device.scatter = 0
			back := moved.Fields[0].Parts
			back[0], back[2] = back[2], back[0]
			padOn(t, moved, 0)
			if device.scatter != 0 {
				t.Error("a batch that was reordered where it is was padded from its old block")
			}
			r.Release()
			moved.Release()
			NoLeaks(t, home, there)
		})
	}
}

// replace puts other rows in the place of part i.
func (r *Ragged) replace(t *testing.T, i int, points []float32, labels []int64) {
	t.Helper()
	other, err := Collate(r.pool, RowsOf(2, [][]float32{points}), RowsOf(1, [][]int64{labels}))
	if err != nil {
		t.Fatal(err)
	}
	for k := range r.Fields {
		r.Fields[k].Parts[i].Release()
		r.Fields[k].Parts[i] = other.Fields[k].Parts[0].Retain()
	}
	other.Release()
}

func TestFieldsThatDoNotAgreeAreRefused(t *testing.T) {
	pool := NewPool("test", Host(), 0)
	if _, err := Collate(pool, RowsOf(2, [][]float32{{1, 2}}), RowsOf(1, [][]int64{{1, 2}})); err == nil {
		t.Error("one point with two labels was taken")
	}
	if _, err := Collate(pool, RowsOf(2, [][]float32{{1, 2, 3}})); err == nil {
		t.Error("one point and a half were taken")
	}
	if _, err := Collate(NewPool("small", Host(), 64), RowsOf(1, [][]float32{make([]float32, 99)})); !errors.Is(err, ErrExhausted) {
		t.Errorf("a spent pool gave %v", err)
	}
	NoLeaks(t, pool)
}
