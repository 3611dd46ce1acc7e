package checkpoint

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const random64 = "../../integration/testdata/random64/model.pt"

func TestAModelSavedByPyTorchOpens(t *testing.T) {
	c, err := Open(random64)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Format() != PyTorch || len(c.Names()) != 383 || !slices.IsSorted(c.Names()) {
		t.Errorf("format %s, %d tensors", c.Format(), len(c.Names()))
	}
	shape, ok := c.Shape("maskmem_tpos_enc")
	if !ok || !slices.Equal(shape, []int{7, 1, 1, 32}) || c.DType("maskmem_tpos_enc") != "F32" {
		t.Errorf("shape %v, type %s", shape, c.DType("maskmem_tpos_enc"))
	}
	for _, name := range c.Names() {
		values, err := c.Float32s(name)
		if err != nil {
			t.Fatal(err)
		}
		shape, _ := c.Shape(name)
		if n, _ := elements(shape); int(n) != len(values) {
			t.Errorf("%s: %d values for shape %v", name, len(values), shape)
		}
	}
}

func TestEveryWeightIsTakenOnceOrReported(t *testing.T) {
	c, err := Open(random64)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	weights := NewWeights(c)
	if !weights.Has("no_mem_embed") || weights.Has("no_mem") {
		t.Error("Has does not tell what is there")
	}
	if values, err := weights.Take("no_mem_embed", 1, 1, 64); err != nil || len(values) != 64 {
		t.Fatalf("%d values, %v", len(values), err)
	}
	for _, c := range []struct {
		name  string
		shape []int
		is    error
		says  string
	}{
		{"no_mem_embed", []int{1, 1, 64}, ErrTaken, "no_mem_embed"},
		{"no_mem_embd", []int{1, 1, 64}, ErrMissing, `the nearest is "no_mem_embed"`},
		{"no_mem_pos_enc", []int{64}, ErrShape, "it is [1 1 64], the network wants [64]"},
	} {
		_, err := weights.Take(c.name, c.shape...)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "model.pt") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if left := weights.Unused(); len(left) != len(c.Names())-1 || slices.Contains(left, "no_mem_embed") {
		t.Errorf("%d unused of %d", len(left), len(c.Names()))
	}
}

func BenchmarkReadEveryWeight(b *testing.B) {
	c, err := Open(random64)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		for _, name := range c.Names() {
			if _, err := c.Float32s(name); err != nil {
				b.Fatal(err)
			}
		}
	}
}
