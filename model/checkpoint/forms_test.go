package checkpoint

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// expectation is one tensor in testdata/expected.json, written by PyTorch (testdata/make.py).
type expectation struct {
	DType  string
	Shape  []int
	Values []int32 // the bits of its float32s; nil where it is no weight
}

func TestEveryFormPyTorchWritesIsReadBitForBit(t *testing.T) {
	text, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var files map[string]map[string]expectation
	if err := json.Unmarshal(text, &files); err != nil {
		t.Fatal(err)
	}
	if len(files) != 12 {
		t.Fatalf("%d files", len(files))
	}
	for file, tensors := range files {
		t.Run(file, func(t *testing.T) {
			c, err := Open("testdata/" + file)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if len(c.Names()) != len(tensors) {
				t.Errorf("tensors %v", c.Names())
			}
			for name, want := range tensors {
				compare(t, c, name, want)
			}
		})
	}
}

func compare(t *testing.T, c *Checkpoint, name string, want expectation) {
	t.Helper()
	shape, ok := c.Shape(name)
	if !ok || !slices.Equal(shape, want.Shape) || c.DType(name) != want.DType {
		t.Errorf("%s: %v of %s, want %v of %s", name, shape, c.DType(name), want.Shape, want.DType)
	}
	values, err := c.Float32s(name)
	if want.Values == nil {
		if !errors.Is(err, ErrDType) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), want.DType) {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	if err != nil {
		t.Error(err)
	}
	bits := make([]int32, len(values))
	for i, v := range values {
		bits[i] = int32(math.Float32bits(v))
	}
	if !slices.Equal(bits, want.Values) {
		t.Errorf("%s: %v", name, values)
	}
}

func TestEveryHalfWidensExactly(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		exponent, mantissa := int(h>>10&31), float64(h&1023)
		want := math.Ldexp(mantissa, -24)
		if exponent > 0 {
			want = math.Ldexp(1024+mantissa, exponent-25)
		}
		if exponent == 31 {
			want = math.Inf(1)
			if mantissa != 0 {
				want = math.NaN()
			}
		}
		if h&0x8000 != 0 {
			want = -want
		}
		got := float64(halfToFloat32(h))
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) || math.Signbit(got) != (h&0x8000 != 0) {
			t.Fatalf("%#04x: %v, want %v", h, got, want)
		}
	}
}

func TestWhatIsNoCheckpointSaysWhatToDo(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct{ name, content, says string }{
		{"empty.pt", "", "empty"},
		{"page.pt", "\n<!DOCTYPE html><html>Not found</html>", "web page"},
		{"pointer.pt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 155\n", "git lfs pull"},
		{"packed.pt", "\x1f\x8b\x08\x00", "unpack"},
		{"text.pt", "model: tiny\n", "neither"},
		{"short.pt", "P", "neither"},
		{"other.zip.pt", archive(part{"readme.txt", "hello"}), "data.pkl"},
		{"nested.zip.pt", archive(part{"a/b/data.pkl", "hello"}), "data.pkl"},
	} {
		path := folder + "/" + c.name
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, path, ErrFormat, c.says)
	}
	refused(t, folder, ErrFormat, "folder")
	refused(t, "/dev/zero", ErrFormat, "a pipe or a device")
	refused(t, folder+"/none.pt", os.ErrNotExist, "none.pt")
	refused(t, "testdata/legacy.pt", ErrFormat, "torch.save")
	refused(t, "testdata/torchscript.pt", ErrFormat, "state_dict")
	refused(t, "testdata/whole_module.pt", ErrUnsafe, "torch.nn.modules.linear.Linear")
}

func refused(t *testing.T, path string, is error, says string) {
	t.Helper()
	_, err := Open(path)
	if !errors.Is(err, is) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: %v", path, err)
	}
}

func TestTheNameOfAFileDoesNotMatter(t *testing.T) {
	data, err := os.ReadFile("testdata/mixed.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/mixed.pt"
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Format() != Safetensors || c.Name() != path {
		t.Errorf("%s read as %s", c.Name(), c.Format())
	}
}
