package tensor

import (
	"errors"
	"fmt"
	"sync"
)

// ErrExhausted says that a pool's budget does not hold another tensor of the wanted size; [Exhausted] says which and how much.
var ErrExhausted = errors.New("tensor: pool exhausted")

// Exhausted is the error of a spent pool. It wraps ErrExhausted.
type Exhausted struct {
	Pool               *Pool
	Used, Budget, Want int64 // bytes; Want is what another tensor takes
}

// Error implements error.
func (e *Exhausted) Error() string {
	return fmt.Sprintf("%v: %d of %d bytes in use, %d more wanted", ErrExhausted, e.Used, e.Budget, e.Want)
}

// Unwrap makes it an ErrExhausted.
func (e *Exhausted) Unwrap() error { return ErrExhausted }

// Pool hands out tensors on one device within a budget, and keeps released blocks for reuse, as far as live and idle bytes
// together are at most twice the most that were ever live. Safe for concurrent use.
type Pool struct {
	name   string
	device Device
	budget int64 // bytes, 0 is unlimited

	mu    sync.Mutex
	idle  map[int]*idle // released blocks by size
	gives int64         // how often a block came back: the pool's clock
	stats Stats
}

// idle is the released blocks of one size.
type idle struct {
	blocks []Memory
	taken  int64 // the clock when one was last taken
}

// Stats counts what a pool holds and did.
type Stats struct {
	Live        int   // tensors not yet released
	LiveBytes   int64 // bytes in them
	IdleBytes   int64 // bytes kept for reuse
	PeakBytes   int64 // most LiveBytes ever
	Allocations int64 // blocks asked of the device since the start
	MovedIn     int64 // bytes that To and Put copied into this pool from another
	Moves       int64 // tensors that they copied
}

// NewPool returns an empty pool. The name stands in errors; a budget of 0 is unlimited.
func NewPool(name string, device Device, budget int64) *Pool {
	return &Pool{name: name, device: device, budget: budget, idle: map[int]*idle{}}
}

// Name is the pool's name, for errors and metrics.
func (p *Pool) Name() string { return p.name }

// Device is where this pool's tensors live.
func (p *Pool) Device() Device { return p.device }

// Budget is how many bytes the pool may hold; 0 is no limit.
func (p *Pool) Budget() int64 { return p.budget }

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
	t.references.Born()
	return t, nil
}

func (p *Pool) take(size int) (Memory, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var memory Memory
	if same := p.idle[size]; same != nil && len(same.blocks) > 0 {
		last := len(same.blocks) - 1
		memory = same.blocks[last]
		same.blocks, same.taken = same.blocks[:last], p.gives
		p.stats.IdleBytes -= int64(size)
	} else {
		if p.budget > 0 && p.stats.LiveBytes+p.stats.IdleBytes+int64(size) > p.budget {
			p.trim()
		}
		if p.budget > 0 && p.stats.LiveBytes+int64(size) > p.budget {
			return Memory{}, &Exhausted{Pool: p, Used: p.stats.LiveBytes, Budget: p.budget, Want: int64(size)}
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
	p.gives++
	p.stats.Live--
	p.stats.LiveBytes -= int64(size)
	p.stats.IdleBytes += int64(size)
	same := p.idle[size]
	if same == nil {
		same = &idle{taken: p.gives}
		p.idle[size] = same
	}
	same.blocks = append(same.blocks, memory)
	for p.stats.LiveBytes+p.stats.IdleBytes > idleFactor*p.stats.PeakBytes {
		p.freeStalest()
	}
}

// idleFactor bounds live and idle bytes together by the most that were ever live: the sizes of tensors change with the number of
// objects, and blocks of sizes that do not come again must not pile up.
const idleFactor = 2

// freeStalest gives a block back to the device, of the size that nobody has asked for the longest.
func (p *Pool) freeStalest() {
	stalest, oldest := 0, (*idle)(nil)
	for size, same := range p.idle {
		if oldest == nil || same.taken < oldest.taken {
			stalest, oldest = size, same
		}
	}
	last := len(oldest.blocks) - 1
	if last >= 0 {
		p.device.Free(oldest.blocks[last])
		oldest.blocks = oldest.blocks[:last]
		p.stats.IdleBytes -= int64(stalest)
	}
	if last <= 0 {
		delete(p.idle, stalest)
	}
}

// Trim gives idle blocks back to the device.
func (p *Pool) Trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trim()
}

func (p *Pool) trim() {
	for size, same := range p.idle {
		for _, m := range same.blocks {
			p.device.Free(m)
		}
		p.stats.IdleBytes -= int64(size * len(same.blocks))
		delete(p.idle, size)
	}
}

// blockSize rounds up so that tensors of nearly equal size share blocks.
func blockSize(size int) int { return max(hostAlignment, (size+hostAlignment-1)&^(hostAlignment-1)) }
