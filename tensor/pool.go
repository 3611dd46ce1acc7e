package tensor

import (
	"errors"
	"fmt"
	"sync"
)

// ErrExhausted says that a pool's budget does not hold another tensor of the wanted size.
var ErrExhausted = errors.New("tensor: pool exhausted")

// Pool hands out tensors on one device within a budget, and keeps released blocks for reuse. Safe for concurrent use.
type Pool struct {
	name   string
	device Device
	budget int64 // bytes, 0 is unlimited

	mu    sync.Mutex
	idle  map[int][]Memory // released blocks by size
	stats Stats
}

// Stats counts what a pool holds and did.
type Stats struct {
	Live        int   // tensors not yet released
	LiveBytes   int64 // bytes in them
	IdleBytes   int64 // bytes kept for reuse
	PeakBytes   int64 // most LiveBytes ever
	Allocations int64 // blocks asked of the device since the start
	MovedIn     int64 // bytes that To copied into this pool from another
	Moves       int64 // tensors that it copied
}

// NewPool returns an empty pool. The name stands in errors; a budget of 0 is unlimited.
func NewPool(name string, device Device, budget int64) *Pool {
	return &Pool{name: name, device: device, budget: budget, idle: map[int][]Memory{}}
}

// Name is the pool's name, for errors and metrics.
func (p *Pool) Name() string { return p.name }

// Device is where this pool's tensors live.
func (p *Pool) Device() Device { return p.device }

// Stats returns a snapshot.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// New returns a tensor with one reference and undefined contents; it wraps [ErrExhausted] when the budget is spent.
// A dimension below zero is a bug of the caller and panics.
func (p *Pool) New(dtype DType, shape ...int) (*Tensor, error) {
	n := Elements(shape)
	size := blockSize(n * dtype.Size())
	memory, err := p.take(size)
	if err != nil {
		return nil, fmt.Errorf("%s%v in pool %q: %w", dtype, shape, p.name, err)
	}
	t := &Tensor{pool: p, block: memory, blockSize: size, memory: memory, dtype: dtype, shape: append([]int(nil), shape...)}
	t.references.Store(1)
	return t, nil
}

func (p *Pool) take(size int) (Memory, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var memory Memory
	if blocks := p.idle[size]; len(blocks) > 0 {
		memory = blocks[len(blocks)-1]
		p.idle[size] = blocks[:len(blocks)-1]
		p.stats.IdleBytes -= int64(size)
	} else {
		if p.budget > 0 && p.stats.LiveBytes+p.stats.IdleBytes+int64(size) > p.budget {
			p.trim()
		}
		if p.budget > 0 && p.stats.LiveBytes+int64(size) > p.budget {
			return Memory{}, fmt.Errorf("%w: %d of %d bytes in use, %d more wanted", ErrExhausted, p.stats.LiveBytes, p.budget, size)
		}
		var err error
		if memory, err = p.device.Alloc(size); err != nil {
			return Memory{}, err
		}
		p.stats.Allocations++
	}
	p.stats.Live++
	p.stats.LiveBytes += int64(size)
	p.stats.PeakBytes = max(p.stats.PeakBytes, p.stats.LiveBytes)
	return memory, nil
}

func (p *Pool) give(memory Memory, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Live--
	p.stats.LiveBytes -= int64(size)
	p.stats.IdleBytes += int64(size)
	p.idle[size] = append(p.idle[size], memory)
}

// Trim gives idle blocks back to the device.
func (p *Pool) Trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trim()
}

func (p *Pool) trim() {
	for size, blocks := range p.idle {
		for _, m := range blocks {
			p.device.Free(m)
		}
		p.stats.IdleBytes -= int64(size * len(blocks))
		delete(p.idle, size)
	}
}

// blockSize rounds up so that tensors of nearly equal size share blocks.
func blockSize(size int) int { return max(hostAlignment, (size+hostAlignment-1)&^(hostAlignment-1)) }
