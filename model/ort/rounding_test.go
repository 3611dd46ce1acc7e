package ort

import (
	"math"
	"testing"

	"maskstream/model/onnx"
	"maskstream/tensor"
)

// Memories are rounded to bfloat16 by ONNX Runtime, and must be as the reference rounds them.
func TestCastRoundsToNearestEven(t *testing.T) {
	if err := initialise(""); err != nil {
		t.Fatalf("%v (`make setup` installs ONNX Runtime)", err)
	}
	numbers := []float32{0, 1, -1, 3.14159, 1e-40, 3e38, float32(math.Inf(1))}
	for _, bits := range []uint32{0x3f808000, 0x3f818000, 0x3f808001, 0x3f817fff, 0xbf808000, 0xbf818000, 0x7f7fffff, 0x00018000} {
		numbers = append(numbers, math.Float32frombits(bits))
	}
	n := len(numbers)
	graph, err := onnx.Build("cast", func(g *onnx.Graph) {
		g.Output("y", g.Cast(g.Input("x", onnx.Float, n), onnx.BFloat16))
	})
	if err != nil {
		t.Fatal(err)
	}
	options, err := sessionOptions(Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer options.Destroy()
	s, err := newSession("cast", graph, options, []string{"x"}, []string{"y"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	pool := tensor.NewPool("test", tensor.Host(), 0)
	y, err := pool.New(tensor.BFloat16, n)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Release()
	if err := s.call([]array{floats(numbers, n)}, []array{whole(y)}); err != nil {
		t.Fatal(err)
	}
	for i, x := range numbers {
		if got, want := y.BFloat16s()[i], tensor.ToBFloat16(x); got != want {
			t.Errorf("%x becomes %04x, want %04x", math.Float32bits(x), got, want)
		}
	}
}
