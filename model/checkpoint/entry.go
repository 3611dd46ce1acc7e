package checkpoint

import (
	"fmt"
	"io"
	"math"
	"math/bits"
)

// storage is the bytes that one or several tensors lie in.
type storage interface {
	// size in bytes.
	size() int64
	// read returns n bytes from offset on; both were checked against size.
	read(offset, n int64) ([]byte, error)
}

// entry is one tensor: a view of a storage as PyTorch has it.
type entry struct {
	dtype   dtype
	shape   []int
	strides []int // in elements; nil: row-major without gaps
	offset  int64 // in bytes
	storage storage
}

// maxGaps is how many bytes a view with gaps may stretch over without being mostly weights: it is read as a whole.
const maxGaps = 8 << 20

// check tells whether the view lies within its storage and asks for no more elements than lie there. It must hold before
// anything is read, so that a file cannot ask for more memory than it has bytes.
func (e entry) check() error {
	size := int64(e.dtype.size())
	if size == 0 {
		return fmt.Errorf("%w: %q", ErrDType, string(e.dtype))
	}
	count, err := elements(e.shape)
	if err != nil {
		return err
	}
	if e.strides != nil && len(e.strides) != len(e.shape) {
		return fmt.Errorf("%w: %d strides for %d dimensions", ErrDamaged, len(e.strides), len(e.shape))
	}
	available := e.storage.size()
	if e.offset < 0 || e.offset > available || count > (available-e.offset)/size {
		return fmt.Errorf("%w: %d elements of %d bytes from byte %d on, but its storage has %d bytes", ErrDamaged, count, size, e.offset, available)
	}
	if count == 0 {
		return nil
	}
	for i, stride := range e.strides {
		hi, lo := bits.Mul64(uint64(stride), uint64(e.shape[i]-1))
		if stride < 0 || hi != 0 || lo > uint64(available) {
			return fmt.Errorf("%w: stride %d leaves the storage of %d bytes", ErrDamaged, stride, available)
		}
	}
	last := e.last()
	if last >= (available-e.offset)/size {
		return fmt.Errorf("%w: strides %v leave the storage of %d bytes", ErrDamaged, e.strides, available)
	}
	if last*size > maxGaps && last/8 > count {
		return fmt.Errorf("%w: strides %v stretch %d elements over %d bytes; in Python save contiguous tensors", ErrFormat, e.strides, count, last*size)
	}
	return nil
}

// last is the element with the highest address, counted from the first. No product and no sum of few dimensions overflows in
// a view whose strides were checked.
func (e entry) last() int64 {
	last := int64(0)
	for i, stride := range e.strides {
		last += int64(stride) * int64(e.shape[i]-1)
	}
	return last
}

// maxDimensions is more than any weight has; it keeps sums of strides far from overflow.
const maxDimensions = 16

// elements multiplies the shape out, refusing what overflows.
func elements(shape []int) (int64, error) {
	if len(shape) > maxDimensions {
		return 0, fmt.Errorf("%w: %d dimensions", ErrDamaged, len(shape))
	}
	count := uint64(1)
	for _, n := range shape {
		hi, lo := bits.Mul64(count, uint64(n))
		if n < 0 || hi != 0 || lo > math.MaxInt64 {
			return 0, fmt.Errorf("%w: shape %v", ErrDamaged, shape)
		}
		count = lo
	}
	return int64(count), nil
}

// contiguous tells whether the strides are those of a row-major tensor without gaps. A dimension of one may have any.
func (e entry) contiguous() bool {
	want := 1
	for i := len(e.strides) - 1; i >= 0; i-- {
		if e.shape[i] != 1 && e.strides[i] != want {
			return false
		}
		want *= e.shape[i]
	}
	return true
}

// float32s reads and widens the tensor in row-major order.
func (e entry) float32s() ([]float32, error) {
	widen := e.dtype.widener()
	if widen == nil {
		return nil, fmt.Errorf("%w: it is %s; weights are F32, F16 or BF16", ErrDType, e.dtype)
	}
	count, err := elements(e.shape)
	if err != nil {
		return nil, err
	}
	values := make([]float32, count)
	if count == 0 {
		return values, nil
	}
	if e.contiguous() {
		data, err := e.storage.read(e.offset, count*int64(e.dtype.size()))
		if err != nil {
			return nil, err
		}
		widen(values, data)
		return values, nil
	}
	data, err := e.storage.read(e.offset, (e.last()+1)*int64(e.dtype.size()))
	if err != nil {
		return nil, err
	}
	widen(values, e.gather(data, int(count)))
	return values, nil
}

// gather copies the elements of a view with gaps or turned axes into row-major order.
func (e entry) gather(data []byte, count int) []byte {
	size := e.dtype.size()
	rows := make([]byte, 0, count*size)
	index := make([]int, len(e.shape)) // of the next element, counted up like an odometer
	at := 0
	for range count {
		rows = append(rows, data[at*size:(at+1)*size]...)
		for d := len(index) - 1; d >= 0; d-- {
			index[d]++
			at += e.strides[d]
			if index[d] < e.shape[d] {
				break
			}
			at -= index[d] * e.strides[d]
			index[d] = 0
		}
	}
	return rows
}

// section is a storage that lies in the file as it is.
type section struct {
	r     io.ReaderAt
	start int64
	n     int64
}

func (s section) size() int64 { return s.n }

func (s section) read(offset, n int64) ([]byte, error) {
	data := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(s.r, s.start+offset, n), data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return data, nil
}
