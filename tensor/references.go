package tensor

import "sync/atomic"

// References counts who holds a value that is shared: it is born with one reference, and whoever gives the last one back frees what it
// holds. Safe for concurrent use.
type References struct{ n atomic.Int32 }

// Born gives the value its first reference.
func (r *References) Born() { r.n.Store(1) }

// Retain adds a reference. After the last release it is a bug and panics.
func (r *References) Retain() {
	if r.n.Add(1) <= 1 {
		panic("tensor: retained after the last release")
	}
}

// Release takes a reference and says whether it was the last one. Releasing once too often is a bug and panics.
func (r *References) Release() (last bool) {
	n := r.n.Add(-1)
	if n < 0 {
		panic("tensor: released twice")
	}
	return n == 0
}

// Held says whether anybody has a reference.
func (r *References) Held() bool { return r.n.Load() > 0 }
