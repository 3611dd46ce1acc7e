package sam2

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"maskstream/model"
	"maskstream/model/checkpoint"
)

// Summary is what "tracker model inspect" says about a checkpoint. Which tensors a network leaves unused shows when its graphs
// are built (checkpoint.Weights).
type Summary struct {
	File       string            `json:"file"`
	Format     checkpoint.Format `json:"format"` // "pytorch" or "safetensors"
	Tensors    int               `json:"tensors"`
	Parameters int64             `json:"parameters"` // elements of all tensors
	DTypes     map[string]int    `json:"dtypes"`     // tensors by type: "F32", "F16", "BF16" …
	Model      string            `json:"model"`      // "" where it is not recognised
	Network    *NetworkSummary   `json:"network,omitempty"`
	Problem    string            `json:"problem,omitempty"` // why it is not recognised
}

// NetworkSummary is the part of a configuration that people tell models apart by, under upstream's names.
type NetworkSummary struct {
	ImageSize             int    `json:"image_size"`
	Trunk                 string `json:"trunk"` // "Hiera", or timm's name of a RepViT, which then has no fields of Hiera
	DModel                int    `json:"d_model"`
	MemoryDim             int    `json:"out_dim"` // of the memory encoder
	EmbedDim              int    `json:"embed_dim,omitempty"`
	NumHeads              int    `json:"num_heads,omitempty"`
	Stages                []int  `json:"stages,omitempty"`
	GlobalAttBlocks       []int  `json:"global_att_blocks,omitempty"`
	WindowSpec            []int  `json:"window_spec,omitempty"`
	MemoryAttentionLayers int    `json:"memory_attention_layers"`
	MemoryTokens          int    `json:"memory_tokens"` // of one memory
	NumMaskmem            int    `json:"num_maskmem"`
	MaxObjPtrsInEncoder   int    `json:"max_obj_ptrs_in_encoder"`
	NoObjEmbedSpatial     bool   `json:"no_obj_embed_spatial"`
	ProjectObjPtrTemporal bool   `json:"proj_tpos_enc_in_obj_ptrs"`
}

// Inspect summarises a checkpoint without reading its values. config is the one that was given with it; nil: the model is
// recognised. Where it is not, or the two do not fit, Problem says why.
func Inspect(c *checkpoint.Checkpoint, config *model.Config) Summary {
	s := Summary{File: c.Name(), Format: c.Format(), Tensors: len(c.Names()), DTypes: map[string]int{}}
	for _, name := range c.Names() {
		shape, _ := c.Shape(name)
		count := int64(1)
		for _, n := range shape {
			count *= int64(n)
		}
		s.Parameters += count
		s.DTypes[c.DType(name)]++
	}
	if config == nil {
		recognised, err := Recognise(c)
		if err != nil {
			s.Problem = err.Error()
			return s
		}
		config = &recognised
	} else if differing := differences(observe(c), factsOf(*config)); len(differing) > 0 {
		s.Problem = fmt.Sprintf("the configuration is of another model: in the weights %s (%d differences)", differing[0], len(differing))
		return s
	}
	s.Model = config.Name
	s.Network = &NetworkSummary{
		ImageSize:             config.ImageSize,
		Trunk:                 config.RepViT.Name,
		DModel:                config.EmbedDim,
		MemoryDim:             config.MemoryDim,
		MemoryTokens:          config.MemoryTokens(),
		MemoryAttentionLayers: config.MemoryAttention.Layers,
		NumMaskmem:            config.NumMaskmem,
		MaxObjPtrsInEncoder:   config.MaxObjPtrsInEncoder,
		NoObjEmbedSpatial:     config.NoObjEmbedSpatial,
		ProjectObjPtrTemporal: config.ProjectObjPtrTemporal,
	}
	if n := s.Network; n.Trunk == "" {
		n.Trunk, n.EmbedDim, n.NumHeads = "Hiera", config.Trunk.EmbedDim, config.Trunk.NumHeads
		n.Stages, n.GlobalAttBlocks, n.WindowSpec = config.Trunk.Stages[:], config.Trunk.GlobalAttBlocks, config.Trunk.WindowSpec[:]
	}
	return s
}

// String is the summary for people, a line per noun, with a line feed after each.
func (s Summary) String() string {
	var b strings.Builder
	line := func(noun, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s"+format+"\n", append([]any{noun}, args...)...)
	}
	line("file", "%s", s.File)
	line("format", "%s", s.Format)
	var types []string
	for _, dtype := range slices.Sorted(maps.Keys(s.DTypes)) {
		types = append(types, fmt.Sprintf("%d %s", s.DTypes[dtype], dtype))
	}
	line("tensors", "%d (%s)", s.Tensors, strings.Join(types, ", "))
	line("parameters", "%.2f million", float64(s.Parameters)/1e6)
	if s.Network == nil {
		line("model", "not recognised: %s", strings.TrimPrefix(s.Problem, fmt.Sprintf("%v: %s: ", ErrUnknownModel, s.File)))
		return b.String()
	}
	n := s.Network
	line("model", "%s", s.Model)
	line("image", "%d×%d", n.ImageSize, n.ImageSize)
	if len(n.Stages) > 0 {
		line("encoder", "%s, width %d, stages %s, heads %d, windows %s, global attention in blocks %s",
			n.Trunk, n.EmbedDim, join(n.Stages), n.NumHeads, join(n.WindowSpec), join(n.GlobalAttBlocks))
	} else {
		line("encoder", "%s", n.Trunk)
	}
	line("memory", "width %d of %d, %d attention layers, %d memories of %d tokens, %d pointers",
		n.MemoryDim, n.DModel, n.MemoryAttentionLayers, n.NumMaskmem, n.MemoryTokens, n.MaxObjPtrsInEncoder)
	line("SAM 2.1", "no-object embedding %s, pointer positions %s", yes(n.NoObjEmbedSpatial), yes(n.ProjectObjPtrTemporal))
	return b.String()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
