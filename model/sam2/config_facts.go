package sam2

import (
	"fmt"
	"strconv"
	"strings"

	"maskstream/model"
	"maskstream/model/checkpoint"
)

// fact is one thing about an architecture that names and shapes of the weights tell, under the key a configuration has for
// it. Heads, windows past the first and global attention leave no trace in the weights.
type fact struct{ key, value string }

// factsOf states what a configuration's weights look like.
func factsOf(c model.Config) []fact {
	t := c.Trunk
	stages := join(t.Stages[:])
	if c.RepViT.Name != "" {
		stages = "0"
	}
	return []fact{
		{"embed_dim", strconv.Itoa(t.EmbedDim)},
		{"stages", stages},
		{"window_pos_embed_bkg_spatial_size", join(t.PosEmbedBkgSize[:])},
		{"window_spec[0]", strconv.Itoa(t.WindowSpec[0])},
		{"d_model", strconv.Itoa(c.EmbedDim)},
		{"backbone_channel_list", join(c.Neck.BackboneChannels)},
		{"memory_attention.num_layers", strconv.Itoa(c.MemoryAttention.Layers)},
		{"dim_feedforward", strconv.Itoa(c.MemoryAttention.DimFeedforward)},
		{"fuser.num_layers", strconv.Itoa(c.MemoryEncoder.FuserLayers)},
		{"num_maskmem", strconv.Itoa(c.NumMaskmem)},
		{"out_dim", strconv.Itoa(c.MemoryDim)},
		{"no_obj_embed_spatial", strconv.FormatBool(c.NoObjEmbedSpatial)},
		{"proj_tpos_enc_in_obj_ptrs", strconv.FormatBool(c.ProjectObjPtrTemporal)},
		{"use_mlp_for_obj_ptr_proj", strconv.FormatBool(c.MLPForObjPtrProj)},
		{"pred_obj_scores", strconv.FormatBool(c.PredObjScores)},
		{"pred_obj_scores_mlp", strconv.FormatBool(c.PredObjScoresMLP)},
		{"use_high_res_features_in_sam", strconv.FormatBool(c.HighResFeaturesInSAM)},
		{"widths of RepViT's stages", join(present(c.RepViT.Widths))},
		{"depths of RepViT's stages", join(present(c.RepViT.Depths))},
		{"spatial_perceiver.depth", strconv.Itoa(c.Perceiver.Layers)},
		{"num_latents", strconv.Itoa(c.Perceiver.Latents)},
		{"num_latents_2d", strconv.Itoa(c.Perceiver.Grid * c.Perceiver.Grid)},
	}
}

// observe reads the same facts off a checkpoint, in the same order. What is missing reads 0 or false.
func observe(c *checkpoint.Checkpoint) []fact {
	dim := func(name string, axis int) int {
		shape, _ := c.Shape(name)
		if axis >= len(shape) {
			return 0
		}
		return shape[axis]
	}
	has := func(name string) string {
		_, ok := c.Shape(name)
		return strconv.FormatBool(ok)
	}
	count := func(pattern string) int {
		n := 0
		for has(fmt.Sprintf(pattern, n)) == "true" {
			n++
		}
		return n
	}
	const trunk = "image_encoder.trunk."
	// The first block of every stage but the first has a projection to the next width.
	stages := []int{0}
	for block := range count(trunk + "blocks.%d.norm1.weight") {
		if block > 0 && has(fmt.Sprintf(trunk+"blocks.%d.proj.weight", block)) == "true" {
			stages = append(stages, 0)
		}
		stages[len(stages)-1]++
	}
	var channels []int
	for level := range count("image_encoder.neck.convs.%d.conv.weight") {
		channels = append(channels, dim(fmt.Sprintf("image_encoder.neck.convs.%d.conv.weight", level), 1))
	}
	var widths, depths []int // of RepViT's stages
	for stage := range 4 {
		const block = trunk + "body.stages_%d.blocks.%%d.channel_mixer.conv2.c.weight"
		if n := count(fmt.Sprintf(block, stage)); n > 0 {
			widths, depths = append(widths, dim(fmt.Sprintf(fmt.Sprintf(block, stage), 0), 0)), append(depths, n)
		}
	}
	return []fact{
		{"embed_dim", strconv.Itoa(dim(trunk+"patch_embed.proj.weight", 0))},
		{"stages", join(stages)},
		{"window_pos_embed_bkg_spatial_size", join([]int{dim(trunk+"pos_embed", 2), dim(trunk+"pos_embed", 3)})},
		{"window_spec[0]", strconv.Itoa(dim(trunk+"pos_embed_window", 2))},
		{"d_model", strconv.Itoa(dim("image_encoder.neck.convs.0.conv.weight", 0))},
		{"backbone_channel_list", join(channels)},
		{"memory_attention.num_layers", strconv.Itoa(count("memory_attention.layers.%d.norm1.weight"))},
		{"dim_feedforward", strconv.Itoa(dim("memory_attention.layers.0.linear1.weight", 0))},
		{"fuser.num_layers", strconv.Itoa(count("memory_encoder.fuser.layers.%d.gamma"))},
		{"num_maskmem", strconv.Itoa(dim("maskmem_tpos_enc", 0))},
		{"out_dim", strconv.Itoa(dim("maskmem_tpos_enc", 3))},
		{"no_obj_embed_spatial", has("no_obj_embed_spatial")},
		{"proj_tpos_enc_in_obj_ptrs", has("obj_ptr_tpos_proj.weight")},
		{"use_mlp_for_obj_ptr_proj", has("obj_ptr_proj.layers.0.weight")},
		{"pred_obj_scores", has("sam_mask_decoder.obj_score_token.weight")},
		{"pred_obj_scores_mlp", has("sam_mask_decoder.pred_obj_score_head.layers.0.weight")},
		{"use_high_res_features_in_sam", has("sam_mask_decoder.conv_s0.weight")},
		{"widths of RepViT's stages", join(widths)},
		{"depths of RepViT's stages", join(depths)},
		{"spatial_perceiver.depth", strconv.Itoa(count("spatial_perceiver.layers.%d.attn.to_q.weight"))},
		{"num_latents", strconv.Itoa(dim("spatial_perceiver.latents", 0))},
		{"num_latents_2d", strconv.Itoa(dim("spatial_perceiver.latents_2d", 0))},
	}
}

// differences lists where two statements of the facts part, as "key: got, not want".
func differences(got, want []fact) []string {
	var list []string
	for i := range got {
		if got[i] != want[i] {
			list = append(list, fmt.Sprintf("%s is %s, not %s", got[i].key, got[i].value, want[i].value))
		}
	}
	return list
}

// present is the stages of a trunk that there is.
func present(stages [4]int) []int {
	if stages == [4]int{} {
		return nil
	}
	return stages[:]
}

func join(numbers []int) string {
	text := make([]string, len(numbers))
	for i, n := range numbers {
		text[i] = strconv.Itoa(n)
	}
	return strings.Join(text, "-")
}
