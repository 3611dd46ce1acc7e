package memory_test

import (
	"testing"

	"maskstream/memory"
	"maskstream/tensor"
)

// sam2 is the policy of every shipped configuration.
var sam2 = memory.Policy{NumMaskmem: 7, MaxPointers: 16, MaxConditioning: -1, Stride: 1, OnlyPast: true, Signed: true}

func newPool(t testing.TB, name string) *tensor.Pool {
	pool := tensor.NewPool(name, tensor.Host(), 0)
	t.Cleanup(func() { tensor.NoLeaks(t, pool) })
	return pool
}

// newEntry is what a frame left behind; its first pointer value is mark.
func newEntry(t testing.TB, pool *tensor.Pool, mark float32) *memory.Entry {
	t.Helper()
	e := &memory.Entry{}
	for _, part := range []struct {
		to    **tensor.Tensor
		dtype tensor.DType
		shape []int
	}{{&e.Features, tensor.BFloat16, []int{64, 2}}, {&e.Logits, tensor.Float32, []int{16, 16}}, {&e.Pointer, tensor.Float32, []int{4}}} {
		made, err := pool.New(part.dtype, part.shape...)
		if err != nil {
			t.Fatal(err)
		}
		clear(made.Bytes())
		*part.to = made
	}
	e.Pointer.Float32s()[0] = mark
	return e
}

// bankOf remembers recent and conditioning frames, the latter in the given order of prompts.
func bankOf(t testing.TB, pool *tensor.Pool, retention memory.Retention, recent, conditioning []int) *memory.Bank {
	t.Helper()
	bank := memory.NewBank(retention, nil, nil)
	t.Cleanup(bank.Release)
	for _, f := range recent {
		add(t, bank, pool, f, memory.Recent)
	}
	for _, f := range conditioning {
		add(t, bank, pool, f, memory.Conditioning)
	}
	return bank
}

func add(t testing.TB, bank *memory.Bank, pool *tensor.Pool, frame int, kind memory.Kind) {
	t.Helper()
	if err := bank.Add(frame, kind, newEntry(t, pool, float32(frame))); err != nil {
		t.Fatal(err)
	}
}

// span is from…to, both inclusive.
func span(from, to int) []int {
	var frames []int
	for f := from; f <= to; f++ {
		frames = append(frames, f)
	}
	return frames
}
