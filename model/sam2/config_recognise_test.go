package sam2

import (
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"maskstream/model"
	"maskstream/model/checkpoint"
)

// shapes are a state dict's names and shapes.
type shapes map[string][]int

// publishedShapes are those of the nine published models, as PyTorch builds them (testdata/names_and_shapes.py).
func publishedShapes(t *testing.T) map[string]shapes {
	t.Helper()
	file, err := os.Open("testdata/names_and_shapes.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var models map[string]shapes
	if err := json.NewDecoder(text).Decode(&models); err != nil {
		t.Fatal(err)
	}
	return models
}

// sparse is a file of which only the first bytes are not zero.
type sparse []byte

func (s sparse) ReadAt(p []byte, at int64) (int, error) {
	clear(p)
	if at < int64(len(s)) {
		copy(p, s[at:])
	}
	return len(p), nil
}

var _ io.ReaderAt = sparse{}

// weightsOf is a safetensors checkpoint of those names and shapes, all zeros, at its full size but without the memory.
func weightsOf(t *testing.T, tensors shapes) *checkpoint.Checkpoint {
	t.Helper()
	header := map[string]any{}
	offset := 0
	for name, shape := range tensors {
		n := 4
		for _, d := range shape {
			n *= d
		}
		header[name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{offset, offset + n}}
		offset += n
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	c, err := checkpoint.Read(sparse(file), int64(len(file)+offset), "weights")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryPublishedModelIsRecognisedByItsWeights(t *testing.T) {
	known, err := Known()
	if err != nil {
		t.Fatal(err)
	}
	models := publishedShapes(t)
	if len(models) != 9 || len(known) != 10 {
		t.Fatalf("%d recorded, %d known", len(models), len(known))
	}
	millions := map[string]float64{"tiny": 38.9, "small": 46, "base_plus": 80.8, "large": 224.4, "": 13.9}
	for name, tensors := range models {
		c := weightsOf(t, tensors)
		config, err := Recognise(c)
		if err != nil {
			t.Error(err)
			continue
		}
		i := slices.IndexFunc(known, func(k model.Config) bool { return k.Name == name })
		if config.Name != name || !reflect.DeepEqual(config, known[i]) {
			t.Errorf("%s was taken for %s", name, config.Name)
		}
		s := Inspect(c, nil)
		_, size, _ := strings.Cut(name, "_hiera_")
		if got := float64(s.Parameters) / 1e6; s.Model != name || got < millions[size]-0.1 || got > millions[size]+0.1 {
			t.Errorf("%s: inspected as %s with %.2f million parameters", name, s.Model, got)
		}
	}
}

// less is the tensors without those of a module.
func less(tensors shapes, module string) shapes {
	left := shapes{}
	for name, shape := range tensors {
		if !strings.HasPrefix(name, module) {
			left[name] = shape
		}
	}
	return left
}

func TestWhatIsNotKnownSaysWhatItIs(t *testing.T) {
	tiny := publishedShapes(t)["sam2.1_hiera_tiny"]
	without := func(names ...string) shapes {
		changed := shapes{}
		for name, shape := range tiny {
			if !slices.Contains(names, name) {
				changed[name] = shape
			}
		}
		return changed
	}
	for _, c := range []struct {
		name    string
		tensors shapes
		says    string
	}{
		{"half way between 2.0 and 2.1", without("no_obj_embed_spatial"), "almost sam2.1_hiera_tiny, but no_obj_embed_spatial is false, not true"},
		{"a block missing", without("image_encoder.trunk.blocks.11.norm1.weight"), "stages is 1-2-7-1, not 1-2-7-2"},
		{"EdgeTAM with a block less", less(publishedShapes(t)["edgetam"], "image_encoder.trunk.body.stages_3.blocks.1."), "almost edgetam, but depths of RepViT's stages is 2-2-14-1, not 2-2-14-2"},
		{"Hugging Face's names", shapes{"vision_encoder.backbone.pos_embed": {1}}, "Hugging Face"},
		{"SAM 1", shapes{"image_encoder.patch_embed.proj.weight": {1}}, "Segment Anything 1"},
		{"another trunk", shapes{"image_encoder.trunk.body.stem.0.c.weight": {1}}, "neither a Hiera nor EdgeTAM's RepViT"},
		{"something else", shapes{"bert.embeddings": {1}}, "no image encoder"},
	} {
		_, err := Recognise(weightsOf(t, c.tensors))
		if !errors.Is(err, ErrUnknownModel) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	wide := without()
	wide["image_encoder.trunk.patch_embed.proj.weight"] = []int{128, 3, 7, 7}
	if _, err := Recognise(weightsOf(t, wide)); err == nil {
		t.Error("a trunk of another width was taken for a known one")
	}
}
