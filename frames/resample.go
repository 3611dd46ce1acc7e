package frames

// resampler brings a stored picture to another size in one pass over its rows: a row is converted to RGB bytes, filtered
// along x, and weighed into the output rows it belongs to. No full-size float picture exists.
type resampler struct {
	x, y *axis

	reader  rowReader
	words   []uint32  // one converted row
	rows    [3]floats // filtered row; left and right output row in the making, or the two rows around an output
	sources [2]int    // enlarging: which source rows rows[1] and rows[2] hold, −1 for none
}

// floats is one row of three planes, one after the other: R, G, B.
type floats []float32

func newResampler(x, y *axis) *resampler {
	r := &resampler{x: x, y: y, words: make([]uint32, x.in)}
	for i := range r.rows {
		r.rows[i] = make(floats, 3*x.out)
	}
	return r
}

// run gives the output rows from first to before last, in order, to emit: three planes of x.out values times scale, whose
// full scale is 255. emit must not keep the row.
func (r *resampler) run(p *Picture, first, last int, emit func(o int, row floats, scale float32)) {
	r.reader.start(p)
	if r.y.between != nil {
		r.enlarge(p, first, last, emit)
		return
	}
	r.reduce(p, first, last, emit)
}

func (r *resampler) load(p *Picture, y int, dst floats) {
	r.reader.row(p, y, r.words)
	n := r.x.out
	r.x.filter(r.words, dst[:n], dst[n:2*n], dst[2*n:])
}

func (r *resampler) reduce(p *Picture, first, last int, emit func(int, floats, float32)) {
	row, left, right := r.rows[0], r.rows[1], r.rows[2]
	clear(left)
	for s := first; s <= last; s++ { // segment s ends output s−1 and begins output s
		clear(right)
		seg := r.y.segments[s]
		for k := range seg.n {
			r.load(p, seg.first+k, row)
			weigh(row, left, right, float32(seg.t0+float64(k)*r.y.step))
		}
		if s > first {
			emit(s-1, left, r.y.inverse[s-1])
		}
		left, right = right, left
	}
}

// weigh adds (1−t)·row to left and t·row to right.
func weigh(row, left, right floats, t float32) {
	left, right = left[:len(row)], right[:len(row)]
	for i, v := range row {
		w := v * t
		left[i] += v - w
		right[i] += w
	}
}

func (r *resampler) enlarge(p *Picture, first, last int, emit func(int, floats, float32)) {
	r.sources = [2]int{-1, -1}
	for o := first; o < last; o++ {
		at := r.y.between[o]
		if r.sources[1] == at.i { // one row further: the lower one becomes the upper one
			r.rows[1], r.rows[2] = r.rows[2], r.rows[1]
			r.sources[0], r.sources[1] = r.sources[1], r.sources[0]
		}
		for i, y := range [2]int{at.i, at.j} {
			if r.sources[i] != y {
				r.load(p, y, r.rows[1+i])
				r.sources[i] = y
			}
		}
		blend(r.rows[0], r.rows[1], r.rows[2], at.t)
		emit(o, r.rows[0], 1)
	}
}

func blend(dst, a, b floats, t float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + (b[i]-a[i])*t
	}
}

// place says where row o of a picture in stored orientation goes in an upright one of w×h: its pixel j belongs at
// base + j·step.
func place(r Rotation, o, w, h int) (base, step int) {
	length := w // of the row
	if r.sideways() {
		length = h
	}
	switch r.turn() {
	case Rotate90:
		base, step = w-1-o, w
	case Rotate180:
		base, step = w*h-1-o*w, -1
	case Rotate270:
		base, step = (h-1)*w+o, -w
	default:
		base, step = o*w, 1
	}
	if r&Mirrored != 0 {
		return base + (length-1)*step, -step
	}
	return base, step
}
