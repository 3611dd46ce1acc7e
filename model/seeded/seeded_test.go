package seeded

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"maskstream/model/checkpoint"
)

// TestValuesAreThoseOfTheTwinInPython: first, second and last number of tensors under each rule, as seeded.py prints them.
func TestValuesAreThoseOfTheTwinInPython(t *testing.T) {
	for _, c := range []struct {
		name  string
		shape []int
		want  [3]uint32
	}{
		{"maskmem_tpos_enc", []int{7, 1, 1, 64}, [3]uint32{0xbf072153, 0xbd3b02f7, 0x3f504dd0}},
		{"sam_mask_decoder.iou_token.weight", []int{1, 256}, [3]uint32{0x3dac8415, 0xbc23b53e, 0xbda7ecae}},
		{"image_encoder.trunk.body.stem.conv1.bn.running_var", []int{24}, [3]uint32{0x3fa95016, 0x3fb42a40, 0x3f9069ea}},
		{"memory_attention.layers.0.self_attn.q_proj.weight", []int{256, 256}, [3]uint32{0x3ce4fd95, 0xbcd8a707, 0x3e1b392b}},
		{"memory_encoder.fuser.layers.0.norm.weight", []int{256}, [3]uint32{0x3f6b1c89, 0x3f8d8908, 0x3f5ec04a}},
	} {
		x := Values(c.name, c.shape, 1)
		got := [3]uint32{math.Float32bits(x[0]), math.Float32bits(x[1]), math.Float32bits(x[len(x)-1])}
		if got != c.want {
			t.Errorf("%s: %x, want %x", c.name, got, c.want)
		}
	}
}

func TestWhatIsWrittenIsACheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights.safetensors")
	shapes := Shapes{"a.weight": {3, 5}, "b.bn.num_batches_tracked": {}, "c.bias": {2}}
	if err := Write(path, shapes, 9); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, name := range []string{"a.weight", "c.bias"} {
		got, err := c.Float32s(name)
		shape, _ := c.Shape(name)
		if err != nil || !slices.Equal(shape, shapes[name]) || !slices.Equal(got, Values(name, shape, 9)) {
			t.Errorf("%s: %v %v, %v", name, shape, got, err)
		}
	}
	if shape, ok := c.Shape("b.bn.num_batches_tracked"); !ok || len(shape) != 0 || c.DType("b.bn.num_batches_tracked") != "I64" {
		t.Errorf("a counter is %s%v", c.DType("b.bn.num_batches_tracked"), shape)
	}
	if slices.Equal(Values("c.bias", []int{2}, 9), Values("c.bias", []int{2}, 8)) {
		t.Error("another seed makes the same weights")
	}
	if err := Write(filepath.Join(path, "below"), shapes, 9); err == nil {
		t.Error("a file below a file was written")
	}
	if _, err := ReadShapes(path); err == nil {
		t.Error("weights were read as shapes")
	}
}
