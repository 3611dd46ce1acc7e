package tensor

import (
	"fmt"
	"unsafe"
)

// DType is the type of a tensor's elements.
type DType uint8

const (
	Float32  DType = iota
	BFloat16       // the upper half of a float32, rounded to nearest even
	Uint8
	Int64
)

// Size is the number of bytes of one element.
func (d DType) Size() int {
	switch d {
	case Float32:
		return 4
	case BFloat16:
		return 2
	case Uint8:
		return 1
	case Int64:
		return 8
	}
	panic(fmt.Sprintf("tensor: unknown type %d", d))
}

func (d DType) String() string {
	switch d {
	case Float32:
		return "float32"
	case BFloat16:
		return "bfloat16"
	case Uint8:
		return "uint8"
	case Int64:
		return "int64"
	}
	return fmt.Sprintf("DType(%d)", uint8(d))
}

// Tensor is a dense row-major array. Its contents may be read by any holder of a reference, and written only while there is
// one holder.
type Tensor struct {
	pool      *Pool
	block     Memory // what goes back to the pool
	blockSize int
	memory    Memory // where the elements start
	dtype     DType
	shape     []int

	parent     *Tensor // set for a view, which holds one reference on it
	references References
}

// Retain adds a reference and returns t, so that it can stand in an assignment.
func (t *Tensor) Retain() *Tensor {
	t.references.Retain()
	return t
}

// Release takes a reference; the last one gives the memory back. Releasing once too often is a bug and panics.
// A nil tensor is ignored, so that error paths stay short.
func (t *Tensor) Release() {
	switch {
	case t == nil || !t.references.Release():
	case t.parent != nil:
		t.parent.Release()
	default:
		t.pool.give(t.block, t.blockSize)
	}
}

// Shape is the size of each dimension; it must not be changed.
func (t *Tensor) Shape() []int { return t.shape }

// DType is the type of the elements.
func (t *Tensor) DType() DType { return t.dtype }

// Pool is the tensor's home.
func (t *Tensor) Pool() *Pool { return t.pool }

// Len is the number of elements.
func (t *Tensor) Len() int { return Elements(t.shape) }

// Memory is the tensor's first byte, for engines and kernels.
func (t *Tensor) Memory() Memory { return t.memory }

// Float32s is the contents of a float32 tensor on the host; anything else is a bug and panics.
func (t *Tensor) Float32s() []float32 {
	t.mustBe(Float32)
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(t.memory.Host))), t.Len())
}

// BFloat16s is the contents of a bfloat16 tensor on the host as bit patterns; anything else panics.
func (t *Tensor) BFloat16s() []uint16 {
	t.mustBe(BFloat16)
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(t.memory.Host))), t.Len())
}

// Int64s is the contents of an int64 tensor on the host; anything else panics.
func (t *Tensor) Int64s() []int64 {
	t.mustBe(Int64)
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(t.memory.Host))), t.Len())
}

// Bytes is the contents on the host, whatever the type; a device tensor panics.
func (t *Tensor) Bytes() []byte {
	t.mustBe(t.dtype)
	return t.memory.Host[:t.Len()*t.dtype.Size()]
}

func (t *Tensor) mustBe(d DType) {
	if !t.references.Held() {
		panic("tensor: used after its last release")
	}
	if t.dtype != d {
		panic(fmt.Sprintf("tensor: %s read as %s", t.dtype, d))
	}
	if t.memory.Host == nil {
		panic("tensor: device memory read by the host; move it with To first")
	}
}

// Index is a view of element i of the first dimension, with a reference of its own that the caller releases; it keeps all of
// t alive.
func (t *Tensor) Index(i int) *Tensor {
	if len(t.shape) == 0 || i < 0 || i >= t.shape[0] {
		panic(fmt.Sprintf("tensor: index %d of shape %v", i, t.shape))
	}
	size := Elements(t.shape[1:]) * t.dtype.Size()
	v := &Tensor{pool: t.pool, memory: t.memory.from(i * size), dtype: t.dtype, shape: t.shape[1:], parent: t.Retain()}
	v.references.Born()
	return v
}

// Rows is a view of elements from first to before end of the first dimension, as Index is of one.
func (t *Tensor) Rows(first, end int) *Tensor {
	if len(t.shape) == 0 || first < 0 || end < first || end > t.shape[0] {
		panic(fmt.Sprintf("tensor: rows %d to %d of shape %v", first, end, t.shape))
	}
	size := Elements(t.shape[1:]) * t.dtype.Size()
	shape := append([]int{end - first}, t.shape[1:]...)
	v := &Tensor{pool: t.pool, memory: t.memory.from(first * size), dtype: t.dtype, shape: shape, parent: t.Retain()}
	v.references.Born()
	return v
}

// To returns the tensor at home in pool: t itself with one more reference where it lives there, a copy
// otherwise. The caller releases the result; t stays the caller's.
func (t *Tensor) To(pool *Pool) (*Tensor, error) {
	if t.pool == pool {
		return t.Retain(), nil
	}
	moved, err := pool.New(t.dtype, t.shape...)
	if err != nil {
		return nil, err
	}
	if err := moved.Put(0, t); err != nil {
		moved.Release()
		return nil, err
	}
	return moved, nil
}

// Put copies part, of the same type, into t from its element at on. Where part has another home, this is a move and counts as one. t
// must have no other holder; a part that does not fit is a bug and panics.
func (t *Tensor) Put(at int, part *Tensor) error {
	if part.dtype != t.dtype || at < 0 || at+part.Len() > t.Len() {
		panic(fmt.Sprintf("tensor: %s%v put at %d of %s%v", part.dtype, part.shape, at, t.dtype, t.shape))
	}
	size := part.Len() * part.dtype.Size()
	device := t.pool.device
	if part.memory.Host == nil {
		device = part.pool.device
	}
	if err := device.Copy(t.memory.from(at*t.dtype.Size()), part.memory, size); err != nil {
		return fmt.Errorf("moving %s%v from %s to %s: %w", part.dtype, part.shape, part.pool.device.Name(), t.pool.device.Name(), err)
	}
	if part.pool != t.pool {
		t.pool.mu.Lock()
		t.pool.stats.MovedIn += int64(size)
		t.pool.stats.Moves++
		t.pool.mu.Unlock()
	}
	return nil
}

// Elements is the number of elements of a shape; the empty shape is a scalar.
func Elements(shape []int) int {
	n := 1
	for _, d := range shape {
		if d < 0 {
			panic(fmt.Sprintf("tensor: shape %v", shape))
		}
		n *= d
	}
	return n
}

// Stack copies tensors of one type and shape into a new one in pool, along a new first dimension.
func Stack(pool *Pool, parts ...*Tensor) (*Tensor, error) {
	first := parts[0]
	whole, err := pool.New(first.dtype, append([]int{len(parts)}, first.shape...)...)
	if err != nil {
		return nil, err
	}
	for i, p := range parts {
		if err := whole.Put(i*first.Len(), p); err != nil {
			whole.Release()
			return nil, fmt.Errorf("stacking %d tensors: %w", len(parts), err)
		}
	}
	return whole, nil
}
