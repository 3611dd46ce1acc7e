// Package tensor holds numbers with a shape, a home and a reference count.
//
// A [Tensor] lives in a [Pool]; a pool has a [Device] (host memory in every build, CUDA memory under the build tag cuda)
// and a budget in bytes. A tensor is born with one reference, [Tensor.Retain] adds one, [Tensor.Release] takes one, and the
// last one gives the bytes back to the pool, which keeps them for the next tensor of that size: after warm-up a stream
// allocates nothing. Moving between host and device is [Tensor.To], which is free when the tensor is at home already, so
// offloading is a choice of pool and not a mode.
//
//	pool := tensor.NewPool("frames", tensor.Host(), 64<<20)
//	t, err := pool.New(tensor.Float32, 1, 3, 256, 256) // err is tensor.ErrExhausted when the budget is spent
//	defer t.Release()
//	pixels := t.Float32s()
package tensor
