// Package seeded makes weights up from a seed, so that models of full size are tested without a download. What they answer
// means nothing, but it is the same here and in PyTorch: seeded.py beside this file makes the same numbers to the last bit, and
// recordings of the reference under these weights are what tests compare with.
//
//	shapes, err := seeded.ReadShapes("names_and_shapes.json.gz") // of every model, as PyTorch names them
//	err = seeded.Write("tiny.safetensors", shapes["sam2.1_hiera_tiny"], 1)
package seeded

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
)

// Shapes are the names and shapes of a model's tensors.
type Shapes map[string][]int

// ReadShapes reads a gzip-compressed JSON object of models' shapes by their names.
func ReadShapes(path string) (map[string]Shapes, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("seeded: %w", err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("seeded: %s: %w", path, err)
	}
	var models map[string]Shapes
	if err := json.NewDecoder(text).Decode(&models); err != nil {
		return nil, fmt.Errorf("seeded: %s: %w", path, err)
	}
	return models, nil
}

// Values makes up the tensor of a name: its numbers are spread evenly about a middle, both of which depend on what it is for.
func Values(name string, shape []int, seed uint64) []float32 {
	count := 1
	for _, n := range shape {
		count *= n
	}
	spread, middle := rule(name, shape)
	width, at := float32(spread*math.Sqrt(3)), float32(middle)
	key := hash(name) ^ seed
	values := make([]float32, count)
	for i := range values {
		values[i] = float32(width*uniform(key, i)) + at // rounded in between, on every machine
	}
	return values
}

// uniform is number i of a key, in [−1, 1): splitmix64 (Steele, Lea and Flood 2014) cut to the 24 bits that a float32 holds.
func uniform(key uint64, i int) float32 {
	z := key + uint64(i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float32(z>>40)*0x1p-23 - 1
}

// hash is FNV-1a.
func hash(name string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, b := range []byte(name) {
		h = (h ^ uint64(b)) * 0x100000001b3
	}
	return h
}

// rule says how wide and about what a weight's numbers are spread. Under these rules every part of a model matters, and logits
// stay within tens.
func rule(name string, shape []int) (spread, middle float64) {
	switch {
	case strings.HasSuffix(name, "pred_obj_score_head.layers.2.bias"):
		return 0, 6 // the object is there
	case strings.HasSuffix(name, "running_var"):
		return 0.3, 1
	case strings.HasSuffix(name, ".bn.weight"):
		return 0.1, 0.5 // of a convolution beside an identity: the whole neither grows nor fades
	case strings.HasSuffix(name, "gamma"):
		return 0.1, 0.5
	case name == "maskmem_tpos_enc", name == "no_obj_ptr", name == "no_obj_embed_spatial", name == "no_mem_embed":
		return 0.5, 0
	case len(shape) < 2 && strings.HasSuffix(name, "weight"):
		return 0.1, 1 // of a normalisation
	case len(shape) < 2:
		return 0.1, 0
	}
	inputs := 1
	for _, n := range shape[1:] {
		inputs *= n
	}
	spread = 1 / math.Sqrt(float64(inputs))
	// Under sharper attention to memories one number that is rounded otherwise would move a mask.
	sharp := strings.HasSuffix(name, "cross_attn_image.q_proj.weight") || strings.HasSuffix(name, "cross_attn_image.k_proj.weight")
	if strings.HasPrefix(name, "memory_attention.") && strings.HasSuffix(name, "_proj.weight") && !sharp {
		spread *= 2
	}
	if strings.HasPrefix(name, "obj_ptr_proj.layers.2") || strings.HasPrefix(name, "obj_ptr_tpos_proj") {
		spread *= 20
	}
	if strings.HasSuffix(name, "mask_downsampler.encoder.12.weight") {
		spread *= 3
	}
	return spread, 0
}
