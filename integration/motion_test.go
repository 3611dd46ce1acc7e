package integration

import (
	"fmt"
	"path/filepath"
	"testing"

	"maskstream/ingest"
	"maskstream/rle"
)

// TestMotionAwareTracksThroughOcclusion follows the three objects of a test scene in which the second passes before the first, and
// holds their masks to what is really there.
func TestMotionAwareTracksThroughOcclusion(t *testing.T) {
	const from, to = 115, 155 // around frame 140 little of the first is left
	address := fmt.Sprintf("testscene:?size=320x180&frames=%d&seed=2&pace=0", to)
	scene, err := ingest.ParseTestScene(address)
	if err != nil {
		t.Fatal(err)
	}
	follow := func(flags ...string) (mean [3]float64) {
		out := filepath.Join(t.TempDir(), "masks.jsonl")
		arguments := append([]string{"track", address, "--out", out}, flags...)
		for object := 1; object <= 3; object++ {
			b := scene.Mask(from, object).Box()
			arguments = append(arguments, "--box", fmt.Sprintf("%d@%d:%d,%d,%d,%d", object, from, b[0], b[1], b[0]+b[2], b[1]+b[3]))
		}
		must(t, arguments...)
		for _, l := range readLines(t, out) {
			for i, o := range l.Objects {
				if l.Direction != rle.Forward {
					continue
				}
				mask, err := rle.ParseCOCO(o.Segmentation)
				if err != nil {
					t.Fatal(err)
				}
				iou, _ := overlapOf(t, mask, scene.Mask(l.Frame.Frame, o.ID))
				mean[i] += iou / (to - from)
			}
		}
		return mean
	}
	plain, aware := follow(), follow("--motion-aware")
	t.Logf("mean IoU of objects 1 to 3: plain %.4f, motion-aware %.4f", plain, aware)
	for i := range plain { // nothing here looks like another thing, so that there is nothing to win either
		if plain[i] < 0.8 || aware[i] < plain[i]-0.02 {
			t.Errorf("object %d: plain %.4f, motion-aware %.4f", i+1, plain[i], aware[i])
		}
	}
	if plain == aware {
		t.Error("--motion-aware changes nothing")
	}
}
