package sam2

import (
	"bytes"
	"strings"
	"testing"

	"maskstream/model/checkpoint"
)

// counted are weights that count who takes the matrix of the positional encoding.
type counted struct {
	Weights
	taken int
}

func (c *counted) Take(name string, shape ...int) ([]float32, error) {
	if strings.HasSuffix(name, "positional_encoding_gaussian_matrix") {
		c.taken++
	}
	return c.Weights.Take(name, shape...)
}

func buildSmall(t *testing.T) (*Graphs, *counted) {
	t.Helper()
	weights, config, err := Load(random64+"model.pt", random64+"model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer weights.Close()
	c := &counted{Weights: checkpoint.NewWeights(weights)}
	graphs, err := Build(config, c)
	if err != nil {
		t.Fatal(err)
	}
	return graphs, c
}

// nodes counts a graph's operators of one type: field 4 of each node.
func nodes(graph []byte, op string) int {
	return bytes.Count(graph, append([]byte{4<<3 | 2, byte(len(op))}, op...))
}

// Masks are resized in chunks on their way to runs, but what is exported is one plain resize of all masks.
func TestTheExportedGraphKeepsOneUnchunkedResize(t *testing.T) {
	graphs, _ := buildSmall(t)
	for name, c := range map[string]struct {
		graph []byte
		want  int
	}{"memory encoder": {graphs.MemoryEncoder, 1}, "mask decoder": {graphs.MaskDecoder, 0}} {
		if got := nodes(c.graph, "Resize"); got != c.want {
			t.Errorf("the %s resizes %d times, want %d", name, got, c.want)
		}
		for _, op := range []string{"Loop", "Scan", "Split"} {
			if got := nodes(c.graph, op); got != 0 {
				t.Errorf("the %s has %d nodes %s", name, got, op)
			}
		}
		if nodes(c.graph, "Add") == 0 {
			t.Errorf("the %s adds nothing: the test cannot read it", name)
		}
	}
}

// The dense positional encoding is part of the mask decoder, computed when it is built and never again: its only sines are those
// of the points.
func TestTheDensePositionalEncodingIsAConstant(t *testing.T) {
	graphs, weights := buildSmall(t)
	if weights.taken != 1 {
		t.Errorf("computed %d times for one network", weights.taken)
	}
	if got := nodes(graphs.MaskDecoder, "Sin"); got != 1 {
		t.Errorf("the mask decoder has %d sines", got)
	}
	if _, again := buildSmall(t); again.taken != 1 {
		t.Errorf("computed %d times for the next network: it was kept", again.taken)
	}
}
