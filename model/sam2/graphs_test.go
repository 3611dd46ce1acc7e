package sam2

import (
	"errors"
	"strings"
	"testing"

	"maskstream/model"
	"maskstream/model/checkpoint"
	"maskstream/model/nano"
)

// Build takes every weight once and leaves none, so names and shapes are those of the published checkpoints.
func TestEveryPublishedModelIsBuilt(t *testing.T) {
	for name, tensors := range publishedShapes(t) {
		if strings.HasPrefix(name, "sam2_") && name != "sam2_hiera_tiny" || testing.Short() && strings.HasSuffix(name, "large") {
			continue // the sizes of SAM 2.0 differ as those of 2.1; large is a gigabyte of zeros
		}
		c := weightsOf(t, tensors)
		config, err := Recognise(c)
		if err != nil {
			t.Fatal(err)
		}
		graphs, err := Build(config, checkpoint.NewWeights(c))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		floats := 0
		for _, shape := range tensors {
			n := 1
			for _, d := range shape {
				n *= d
			}
			floats += n
		}
		if size := len(graphs.ImageEncoder) + len(graphs.MaskDecoder) + len(graphs.MemoryAttention) + len(graphs.MemoryEncoder); size < 3*floats {
			t.Errorf("%s: graphs of %d bytes for %d weights", name, size, floats)
		}
	}
}

func TestANetworkThatCannotBeBuiltSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*model.Config)
		want   error
		says   string
	}{
		"a part that is missing":    {func(c *model.Config) { c.DirectlyAddNoMemEmbed = false }, ErrConfig, "directly_add_no_mem_embed"},
		"a size without cells":      {func(c *model.Config) { c.ImageSize = 250 }, ErrConfig, "250"},
		"windows that do not tile":  {func(c *model.Config) { c.ImageSize = 32 * 9 }, nil, ""},
		"position windows too wide": {func(c *model.Config) { c.Trunk.WindowSpec[0] = 7 }, ErrConfig, "windows of 7 on 64"},
		"weights left over":         {func(c *model.Config) { c.MemoryAttention.Layers = 1 }, ErrUnusedWeights, "memory_attention.layers.1.cross_attn_image.k_proj.bias"},
		"weights that are missing":  {func(c *model.Config) { c.MemoryAttention.Layers = 3 }, checkpoint.ErrMissing, "memory_attention.layers.2"},
		"weights of other shapes":   {func(c *model.Config) { c.MemoryAttention.DimFeedforward = 256 }, checkpoint.ErrShape, "linear1"},
	} {
		t.Run(name, func(t *testing.T) {
			weights, config, err := Load(nano.Name, "")
			if err != nil {
				t.Fatal(err)
			}
			defer weights.Close()
			c.change(&config)
			_, err = Build(config, checkpoint.NewWeights(weights))
			if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}
