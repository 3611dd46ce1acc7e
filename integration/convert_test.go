package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"maskstream/model/ort"
	"maskstream/model/sam2"
	"maskstream/tensor"
)

// TestConvertedGraphsAreTheModel opens the files that convert writes and runs the first of them beside the built-in model.
func TestConvertedGraphsAreTheModel(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "graphs")
	r := must(t, "model", "convert", "nano", "-o", folder)
	var converted sam2.Graphs
	var paths []string
	for _, part := range converted.Parts() {
		path := filepath.Join(folder, part.Name+".onnx")
		paths = append(paths, path)
		var err error
		if *part.Model, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Fields(r.stdout); !slices.Equal(got, paths) {
		t.Errorf("it says it wrote %q", got)
	}
	weights, config, err := sam2.Load("nano", "")
	if err != nil {
		t.Fatal(err)
	}
	defer weights.Close()
	pool := tensor.NewPool("test", tensor.Host(), 0)
	defer tensor.NoLeaks(t, pool)
	network, err := ort.Open(config, &converted, ort.Options{Pool: pool})
	if err != nil {
		t.Fatalf("%v (`make setup` installs ONNX Runtime)", err)
	}
	defer network.Close()
	pixels, err := pool.New(tensor.Float32, 1, 3, config.ImageSize, config.ImageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer pixels.Release()
	features, err := network.EncodeImage(pixels)
	if err != nil {
		t.Fatal(err)
	}
	features.Release()
}

func TestAConversionThatCannotBeSaysWhy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		arguments []string
		status    int
		says      string
	}{
		{[]string{"nano"}, 2, "-o DIR"},
		{[]string{"none.pt", "-o", t.TempDir()}, 2, "none.pt"},
		{[]string{"testdata/random64/model.pt", "-o", t.TempDir()}, 2, "--model-config"},
		{[]string{"nano", "-o", filepath.Join(file, "folder")}, 1, file},
	} {
		r := call(t, append([]string{"model", "convert"}, c.arguments...)...)
		if r.status != c.status || !strings.Contains(r.stderr, c.says) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%q: status %d, %s", c.arguments, r.status, r.stderr)
		}
	}
}
