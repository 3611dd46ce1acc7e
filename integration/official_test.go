//go:build slow

package integration

import (
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

const publishedShapes = "../model/sam2/testdata/names_and_shapes.json.gz"

// TestOfficialCheckpointsMatchPyTorch: each published architecture with made-up weights is recognised by them alone, and answers
// one click and follows it for three frames at 1024×1024 as the reference.
func TestOfficialCheckpointsMatchPyTorch(t *testing.T) {
	frames := enlargedFrames(t, 4)
	for _, name := range []string{
		"sam2.1_hiera_tiny", "sam2.1_hiera_small", "sam2.1_hiera_base_plus", "sam2.1_hiera_large",
		"sam2_hiera_tiny", "sam2_hiera_small", "sam2_hiera_base_plus", "sam2_hiera_large", "edgetam",
	} {
		t.Run(name, func(t *testing.T) {
			weights := seededWeights(t, publishedShapes, name)
			replay(t, session{"testdata/seeded/one_click.json", "testdata/seeded/official/" + name}, withinRange(), "track", frames, "--model", weights)
		})
	}
}

// TestAFullSizeSessionEqualsTheReference: tiny at 1024×1024, 16 frames, two objects, forward and reverse. The weights are seeded
// (model/seeded) and not random ones of torch's, since these would have to be stored, 150 MB of them, or made by torch, which the tests
// do without.
func TestAFullSizeSessionEqualsTheReference(t *testing.T) {
	weights := seededWeights(t, publishedShapes, "sam2.1_hiera_tiny")
	replay(t, session{"testdata/seeded/two_ways.json", "testdata/seeded/official/full_size"}, withinRange(), "track", enlargedFrames(t, 16), "--model", weights)
}

// enlargedFrames is a folder with the first pictures of testdata/random64/frames, every pixel 4×4 times.
func enlargedFrames(t *testing.T, count int) string {
	t.Helper()
	folder := t.TempDir()
	for i := range count {
		name := fmt.Sprintf("%05d.png", i)
		in, err := os.Open(filepath.Join("testdata/random64/frames", name))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		small, err := png.Decode(in)
		if err != nil {
			t.Fatal(err)
		}
		const times = 4
		large := image.NewRGBA(image.Rect(0, 0, times*small.Bounds().Dx(), times*small.Bounds().Dy()))
		for y := range large.Rect.Dy() {
			for x := range large.Rect.Dx() {
				large.Set(x, y, small.At(x/times, y/times))
			}
		}
		out, err := os.Create(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(out, large); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
