package sam2

import (
	"math"
	"slices"
	"strings"

	"maskstream/model"
)

// timmTarget is the class of a trunk that timm's name tells.
const timmTarget = "sam2.modeling.backbones.timm.TimmBackbone"

// repvitM1 is the only trunk of timm's that a published model has (timm's models/repvit.py, repvit_m1).
func repvitM1() model.RepViT {
	return model.RepViT{Name: "repvit_m1.dist_in1k", Widths: [4]int{48, 96, 192, 384}, Depths: [4]int{2, 2, 14, 2}}
}

// edgeTAM is the published model (EdgeTAM, sam2/configs/edgetam.yaml): SAM 2.0 but for its trunk, its perceiver and two layers
// of memory attention instead of four.
func edgeTAM() model.Config {
	c := published("sam2", size{})
	c.Name = "edgetam"
	c.Trunk, c.RepViT = model.Trunk{}, repvitM1()
	c.Neck.BackboneChannels = coarseFirst(c.RepViT)
	c.MemoryAttention.Layers = 2
	c.Perceiver = model.Perceiver{Layers: 2, Latents: 256, Grid: 16}
	return c
}

// coarseFirst is the stages' widths in the order of backbone_channel_list.
func coarseFirst(r model.RepViT) []int {
	widths := slices.Clone(r.Widths[:])
	slices.Reverse(widths)
	return widths
}

// timm checks the trunk and returns its channels from low to high resolution.
func (c *checker) timm(at string, t *yamlTrunk) []int {
	r := repvitM1()
	only(c, at+"name", t.Name, r.Name)
	levels := []string{"layer0", "layer1", "layer2", "layer3"}
	c.that(slices.Equal(t.Features, levels), at+"features", "%v is not supported, only %v is", t.Features, levels)
	return coarseFirst(r)
}

// rotaryV2 checks cross-attention to a perceiver's memories.
func (c *checker) rotaryV2(at string, a *yamlAttention, m *yamlBase) {
	c.target(strings.TrimSuffix(at, "."), a.Target, "sam2.modeling.sam.transformer.RoPEAttentionv2")
	only(c, at+"rope_k_repeat", a.RopeKRepeat, false) // it has no such argument: the number of memories says it
	queries, keys := m.ImageSize/16, squareRoot(m.Perceiver.NumLatents2D)
	c.that(slices.Equal(a.QSizes, []int{queries, queries}), at+"q_sizes", "it is %v, but the embedding is %d×%d", a.QSizes, queries, queries)
	c.that(slices.Equal(a.KSizes, []int{keys, keys}), at+"k_sizes", "it is %v, but the perceiver's grid is %d×%d", a.KSizes, keys, keys)
}

func (c *checker) perceiver(at string, p *yamlPerceiver, m *yamlBase) {
	c.target(strings.TrimSuffix(at, "."), p.Target, "sam2.modeling.perceiver.PerceiverResampler")
	required(c, at+"depth", p.Depth)
	same(c, at+"dim", p.Dim, "memory_encoder.out_dim", m.MemoryEncoder.OutDim)
	only(c, at+"heads", p.Heads, 1)
	same(c, at+"dim_head", p.DimHead, at+"dim", p.Dim)
	only(c, at+"ff_mult", p.FFMult, 4)
	only(c, at+"concat_kv_latents", p.ConcatKVLatents, false)
	only(c, at+"use_self_attn", p.UseSelfAttn, true)
	required(c, at+"num_latents", p.NumLatents)
	grid, cells := squareRoot(p.NumLatents2D), m.ImageSize/16
	c.that(grid > 0 && grid*grid == p.NumLatents2D, at+"num_latents_2d", "%d is no positive square number", p.NumLatents2D)
	c.that(grid <= 0 || cells%grid == 0, at+"num_latents_2d", "a grid of %d×%d does not divide the embedding, %d×%d", grid, grid, cells, cells)
	c.position(at+"position_encoding", &p.PositionEncoding, at+"dim", p.Dim)
}

// squareRoot is the greatest integer whose square is no more than n; 0 where n is negative.
func squareRoot(n int) int {
	return int(math.Sqrt(float64(max(n, 0))))
}
