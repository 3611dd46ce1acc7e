package tensor

import (
	"fmt"
	"slices"
	"unsafe"
)

// Ragged is a batch of parts with unequally many rows each, some with none: the points of several prompts and their labels, say.
// It has one field for each kind of value, and every field has as many rows in a part as the others.
//
// All parts of a field lie in one block. How many rows each has is known to the host, and where each row goes when the batch is
// padded lies beside the blocks: so a batch moves in as many copies as it has fields and one, however many parts there are,
// nothing has to be read back to take it apart, and padding is one scatter a field.
type Ragged struct {
	// Fields are the batch's. Parts may be edited, replaced or reordered; what the batch says then is what the parts say.
	Fields []RaggedField

	pool         *Pool
	counts       []int   // rows of each part
	destinations *Tensor // Σ int64: the row in a field padded to the longest part, counted through all parts
}

// RaggedField is one kind of value.
type RaggedField struct {
	// Parts are rᵢ×width each; the batch holds a reference of each. Who replaces one releases the old one.
	Parts []*Tensor

	packed *Tensor   // Σ×width
	views  []*Tensor // Parts as they were made, to see whether they still are
	width  int
}

// Element is a type that a Ragged holds.
type Element interface{ float32 | int64 }

// Rows describes a field for [Collate]: parts of so many numbers a row.
type Rows struct {
	width int
	dtype DType
	parts [][]byte
}

// RowsOf are parts of rows that are width wide; they are borrowed until Collate returns.
func RowsOf[T Element](width int, parts [][]T) Rows {
	r := Rows{width: width, dtype: dtypeOf[T]()}
	for _, p := range parts {
		r.parts = append(r.parts, bytesOf(p))
	}
	return r
}

func dtypeOf[T Element]() DType {
	if _, ok := any(*new(T)).(int64); ok {
		return Int64
	}
	return Float32
}

func bytesOf[T Element](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(*new(T))))
}

// Collate packs fields into pool, each in one copy. Fields that are not made of whole rows, or do not agree on the rows of their
// parts, are an error; else it wraps [ErrExhausted].
func Collate(pool *Pool, fields ...Rows) (_ *Ragged, err error) {
	r := &Ragged{pool: pool}
	defer func() {
		if err != nil {
			r.Release()
		}
	}()
	for i, f := range fields {
		size := f.width * f.dtype.Size()
		counts := make([]int, len(f.parts))
		for k, p := range f.parts {
			if counts[k] = len(p) / size; len(p)%size != 0 {
				return nil, fmt.Errorf("tensor: part %d of field %d is not made of rows of %d", k, i, f.width)
			}
		}
		if err := r.count(i, counts); err != nil {
			return nil, err
		}
		packed, err := pool.New(f.dtype, sum(counts), f.width)
		if err != nil {
			return nil, err
		}
		r.Fields = append(r.Fields, r.field(packed))
		if err := packed.write(slices.Concat(f.parts...)); err != nil {
			return nil, err
		}
	}
	return r, r.place()
}

// count takes the rows of field i's parts, which are those of field 0's.
func (r *Ragged) count(i int, counts []int) error {
	if i > 0 && !slices.Equal(counts, r.counts) {
		return fmt.Errorf("tensor: parts of field %d have %v rows, those of field 0 have %v", i, counts, r.counts)
	}
	r.counts = counts
	return nil
}

// place makes the destinations.
func (r *Ragged) place() (err error) {
	longest := longest(r.counts, 0)
	to := make([]int64, 0, sum(r.counts))
	for i, n := range r.counts {
		for row := range n {
			to = append(to, int64(i*longest+row))
		}
	}
	if r.destinations, err = r.pool.New(Int64, len(to)); err != nil {
		return err
	}
	return r.destinations.write(bytesOf(to))
}

// write fills a tensor from the host.
func (t *Tensor) write(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	return t.pool.device.Copy(t.memory, Memory{Host: data}, len(data))
}

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func longest(counts []int, least int) int {
	for _, c := range counts {
		least = max(least, c)
	}
	return least
}

// field takes ownership of a packed block and cuts it into its parts.
func (r *Ragged) field(packed *Tensor) RaggedField {
	f := RaggedField{packed: packed, width: packed.shape[1]}
	from := 0
	for _, n := range r.counts {
		f.Parts = append(f.Parts, packed.Rows(from, from+n))
		from += n
	}
	f.views = slices.Clone(f.Parts)
	return f
}

// packed says whether the parts of every field are still those that were cut from its block, in their order.
func (r *Ragged) packed() bool {
	for _, f := range r.Fields {
		if !slices.Equal(f.Parts, f.views) {
			return false
		}
	}
	return true
}

// To returns the batch at home in pool, from the parts as they are now. A packed batch moves block by block; one whose parts
// were replaced or reordered moves part by part and is packed anew. The caller releases the result; r stays the caller's.
func (r *Ragged) To(pool *Pool) (_ *Ragged, err error) {
	moved := &Ragged{pool: pool}
	defer func() {
		if err != nil {
			moved.Release()
		}
	}()
	if r.packed() {
		moved.counts = r.counts
		if moved.destinations, err = r.destinations.To(pool); err != nil {
			return nil, err
		}
		for _, f := range r.Fields {
			packed, err := f.packed.To(pool)
			if err != nil {
				return nil, err
			}
			moved.Fields = append(moved.Fields, moved.field(packed))
		}
		return moved, nil
	}
	return r.rebuilt(pool)
}

// Pad is field i with every part as long as the longest and at least as least: n×rows×width, with rows of fill behind those of a
// shorter part. It is at home where the batch is. The caller releases it.
func Pad[T Element](r *Ragged, i, least int, fill ...T) (*Tensor, error) {
	f := r.Fields[i]
	if len(fill) != f.width {
		panic(fmt.Sprintf("tensor: a row of %d numbers to fill rows of %d", len(fill), f.width))
	}
	return r.pad(i, least, bytesOf(fill))
}

func (r *Ragged) pad(i, least int, fill []byte) (_ *Tensor, err error) {
	f := r.Fields[i]
	rows := least
	for _, p := range f.Parts {
		rows = max(rows, p.shape[0])
	}
	padded, err := r.pool.New(f.packed.dtype, len(f.Parts), rows, f.width)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			padded.Release()
		}
	}()
	device := r.pool.device
	if err := padded.write(slices.Repeat(fill, len(f.Parts)*rows)); err != nil {
		return nil, err
	}
	if slices.Equal(f.Parts, f.views) && rows == longest(r.counts, 0) {
		return padded, device.Scatter(padded.memory, f.packed.memory, r.destinations.memory, f.packed.shape[0], len(fill))
	}
	for k, p := range f.Parts { // ordinary padding
		if err := device.Copy(padded.memory.from(k*rows*len(fill)), p.memory, p.Len()*p.dtype.Size()); err != nil {
			return nil, err
		}
	}
	return padded, nil
}

// rebuilt packs the parts as they are now in pool.
func (r *Ragged) rebuilt(pool *Pool) (_ *Ragged, err error) {
	moved := &Ragged{pool: pool}
	defer func() {
		if err != nil {
			moved.Release()
		}
	}()
	for i, f := range r.Fields {
		counts := make([]int, len(f.Parts))
		for k, p := range f.Parts {
			counts[k] = p.shape[0]
		}
		if err := moved.count(i, counts); err != nil {
			return nil, err
		}
		packed, err := pool.New(f.packed.dtype, sum(counts), f.width)
		if err != nil {
			return nil, err
		}
		moved.Fields = append(moved.Fields, moved.field(packed))
		for k, p := range f.Parts {
			there, err := p.To(pool)
			if err != nil {
				return nil, err
			}
			err = pool.device.Copy(moved.Fields[i].Parts[k].memory, there.memory, p.Len()*p.dtype.Size())
			there.Release()
			if err != nil {
				return nil, err
			}
		}
	}
	return moved, moved.place()
}

// Release gives everything back. Nil is ignored.
func (r *Ragged) Release() {
	if r == nil {
		return
	}
	r.destinations.Release()
	for _, f := range r.Fields {
		for _, p := range f.Parts {
			p.Release()
		}
		f.packed.Release()
	}
}
