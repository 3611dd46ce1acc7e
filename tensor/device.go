package tensor

import (
	"errors"
	"unsafe"
)

// Memory is a block of bytes at home on one device. Exactly one of the two fields is set.
type Memory struct {
	Host   []byte         // host memory
	Device unsafe.Pointer // device memory: never dereferenced by Go
}

// from is the memory behind its first offset bytes.
func (m Memory) from(offset int) Memory {
	if m.Host != nil {
		return Memory{Host: m.Host[offset:]}
	}
	return Memory{Device: unsafe.Add(m.Device, offset)}
}

// Device is where a pool's bytes live. A pool calls Alloc and Free under its own lock, rarely after warm-up; Copy is called
// by [Tensor.To] from any goroutine.
type Device interface {
	// Name is "cpu" or "cuda:N".
	Name() string
	// Alloc returns size bytes aligned to at least 64, with undefined contents.
	Alloc(size int) (Memory, error)
	// Free takes ownership of a block that Alloc returned.
	Free(m Memory)
	// Copy moves size bytes into dst, which is at home on this device, from src at home on this device or on the host
	// (or the other way round, where dst is host memory), and returns when dst may be read.
	Copy(dst, src Memory, size int) error
	// Scatter copies row i of src, of size bytes, to row destinations[i] of dst. All three are at home on this device;
	// destinations are rows int64 numbers, all different.
	Scatter(dst, src, destinations Memory, rows, size int) error
}

// hostAlignment suits the widest vector loads of the inference engine.
const hostAlignment = 64

type host struct{}

// Host is ordinary memory, the home of every tensor in a build without CUDA.
func Host() Device { return host{} }

func (host) Name() string { return "cpu" }

func (host) Alloc(size int) (Memory, error) {
	raw := make([]byte, size+hostAlignment)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) & (hostAlignment - 1))
	return Memory{Host: raw[skip : skip+size : skip+size]}, nil
}

func (host) Free(Memory) {}

func (host) Copy(dst, src Memory, size int) error {
	if dst.Host == nil || src.Host == nil {
		return errors.New("tensor: the host device copies host memory only")
	}
	copy(dst.Host[:size], src.Host[:size])
	return nil
}

func (host) Scatter(dst, src, destinations Memory, rows, size int) error {
	if dst.Host == nil || src.Host == nil || destinations.Host == nil {
		return errors.New("tensor: the host device scatters host memory only")
	}
	to := unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(destinations.Host))), rows)
	for i, row := range to {
		copy(dst.Host[int(row)*size:][:size], src.Host[i*size:])
	}
	return nil
}
