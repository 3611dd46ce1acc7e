package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maskstream/model/seeded"
)

// seed is that of testdata/seeded/record.py.
const seed = 1

// withinRange is what an implementation that sums in another order may differ by: logits within 5e-3 of their range, and masks
// where a logit is that near to 0.
func withinRange() bounds { return bounds{iou: 0.99, pixels: 0.005, span: 5e-3} }

// seededWeights writes a model's made-up weights into a folder that the test removes.
func seededWeights(t *testing.T, shapes, name string) string {
	t.Helper()
	models, err := seeded.ReadShapes(shapes)
	if err != nil {
		t.Fatal(err)
	}
	if models[name] == nil {
		t.Fatalf("%s: no %s", shapes, name)
	}
	path := filepath.Join(t.TempDir(), name+".safetensors")
	if err := seeded.Write(path, models[name], seed); err != nil {
		t.Fatal(err)
	}
	return path
}

// replaySeeded runs a script with a small configuration's made-up weights against testdata/seeded/NAME.
func replaySeeded(t *testing.T, name, script string, flags ...string) {
	weights := seededWeights(t, "testdata/seeded/shapes.json.gz", name)
	command := []string{"track", "testdata/random64/frames", "--model", weights, "--model-config", "testdata/seeded/" + name + ".yaml"}
	replay(t, session{"testdata/seeded/" + script, "testdata/seeded/" + name}, withinRange(), append(command, flags...)...)
}

// TestASessionOfTheSAM20FormEqualsTheReference: pointers without positions, no embedding of absent objects; two objects, a
// correction and a reverse pass, with an encoder of two heads and windows that do not divide.
func TestASessionOfTheSAM20FormEqualsTheReference(t *testing.T) {
	replaySeeded(t, "sam2_small", "correct_and_reverse.json")
}

// TestASessionOfEdgeTAMEqualsTheReference: two objects in one batch, long enough for all memories and
// pointers to take part, and back.
func TestASessionOfEdgeTAMEqualsTheReference(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	replaySeeded(t, "edgetam_small", "both_ways.json", "--trace", path)
	trace, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Seven memories of 12 latents and a grid of 4×4, and 16 pointers in two tokens each.
	if want := fmt.Sprintf(`"tokens":%d}`, 7*(12+4*4)+16*2); !strings.Contains(string(trace), want) {
		t.Errorf("no frame of the trace has %s:\n%s", want, trace)
	}
}
