package sam2

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// checker holds a parsed configuration against what the network can be, and keeps the first fault. Keys are named by their
// path below model.
type checker struct {
	tree *ast.File
	err  error
}

// that records a fault unless ok.
func (c *checker) that(ok bool, key, format string, args ...any) {
	if !ok && c.err == nil {
		c.err = fmt.Errorf("%d: %s: %s", lineOf(c.tree, key), key, fmt.Sprintf(format, args...))
	}
}

// only wants the one value that there is an implementation of.
func only[T comparable](c *checker, key string, got, want T) {
	c.that(got == want, key, "%v is not supported, only %v is", got, want)
}

// same wants a width to be that of another key.
func same(c *checker, key string, got int, other string, want int) {
	c.that(got == want, key, "it is %d, but %s is %d", got, other, want)
}

// required wants a number that has no default upstream.
func required(c *checker, key string, got int) {
	c.that(got > 0, key, "a positive number is required")
}

// stated wants a switch that has no default upstream.
func stated(c *checker, key string, got *bool) {
	c.that(got != nil, key, "true or false is required")
}

// target wants a section to be there and to name its class.
func (c *checker) target(key, got, class string) {
	c.that(got != "", key+"._target_", "it is missing; upstream's form has %q", class)
	c.that(got == class, key+"._target_", "%q is not supported, only %q is", got, class)
}

// maxImageSize is four times the pixels of the published models. Memory grows with the fourth power of the size.
const maxImageSize = 2048

func (c *checker) file(m *yamlBase) {
	c.that(m.Target != "", "_target_", "it is missing; is this a model configuration of upstream's form?")
	only(c, "_target_", m.Target, "sam2.modeling.sam2_base.SAM2Base")
	c.target("image_encoder", m.ImageEncoder.Target, "sam2.modeling.backbones.image_encoder.ImageEncoder")
	c.target("memory_attention", m.MemoryAttention.Target, "sam2.modeling.memory_attention.MemoryAttention")
	c.target("memory_encoder", m.MemoryEncoder.Target, "sam2.modeling.memory_encoder.MemoryEncoder")
	c.that(m.ImageSize > 0 && m.ImageSize%32 == 0, "image_size", "%d is no positive multiple of 32", m.ImageSize)
	c.that(m.ImageSize <= maxImageSize, "image_size", "%d is more than %d; attention over so many cells would take more memory than there is", m.ImageSize, maxImageSize)
	var channels []int // from low to high resolution
	if trunk := &m.ImageEncoder.Trunk; trunk.Target == timmTarget {
		channels = c.timm("image_encoder.trunk.", trunk)
	} else {
		c.trunk("image_encoder.trunk.", trunk, m.ImageSize)
		channels = []int{8 * trunk.EmbedDim, 4 * trunk.EmbedDim, 2 * trunk.EmbedDim, trunk.EmbedDim}
	}
	c.neck("image_encoder.neck.", &m.ImageEncoder.Neck, channels)
	only(c, "image_encoder.scalp", m.ImageEncoder.Scalp, 1)
	c.base(m)
	if m.Perceiver.Target != "" {
		c.perceiver("spatial_perceiver.", &m.Perceiver, m)
	}
	c.memoryAttention("memory_attention.", &m.MemoryAttention, m)
	c.memoryEncoder("memory_encoder.", &m.MemoryEncoder, m.ImageEncoder.Neck.DModel)
}

func (c *checker) base(m *yamlBase) {
	width, memory := m.ImageEncoder.Neck.DModel, m.MemoryEncoder.OutDim
	c.that(width > 0 && width%16 == 0, "image_encoder.neck.d_model", "%d is no positive multiple of 16", width)
	c.that(memory > 0 && memory%4 == 0 && width%memory == 0, "memory_encoder.out_dim",
		"%d is no multiple of 4 that divides d_model, %d", memory, width)
	only(c, "backbone_stride", m.BackboneStride, 16)
	c.that(m.NumMaskmem >= 1, "num_maskmem", "%d is less than 1", m.NumMaskmem)
	c.that(m.MaxObjPtrsInEncoder >= 1, "max_obj_ptrs_in_encoder", "%d is less than 1", m.MaxObjPtrsInEncoder)
	c.that(m.MaxCondFramesInAttn == -1 || m.MaxCondFramesInAttn >= 2, "max_cond_frames_in_attn", "%d is neither -1 (all) nor at least 2", m.MaxCondFramesInAttn)
	c.that(m.MemoryTemporalStride >= 1, "memory_temporal_stride_for_eval", "%d is less than 1", m.MemoryTemporalStride)
	c.that(m.ObjPtrTemporalEncoding || !m.ProjectObjPtrTemporal, "proj_tpos_enc_in_obj_ptrs", "true needs add_tpos_enc_to_obj_ptrs: true")

	// What the four verbs of model.Network take for granted.
	only(c, "use_high_res_features_in_sam", m.HighResFeaturesInSAM, true)
	only(c, "use_mask_input_as_output_without_sam", m.MaskInputAsOutput, true)
	only(c, "directly_add_no_mem_embed", m.DirectlyAddNoMemEmbed, true)
	only(c, "use_obj_ptrs_in_encoder", m.ObjPtrsInEncoder, true)
	only(c, "pred_obj_scores", m.PredObjScores, true)
	only(c, "soft_no_obj_ptr", m.SoftNoObjPtr, false)
	only(c, "binarize_mask_from_pts_for_mem_enc", m.BinarizeMaskFromPts, true)
	only(c, "sam_mask_decoder_extra_args.dynamic_multimask_via_stability", m.SAMMaskDecoder.DynamicMultimask, true)
	only(c, "sam_mask_decoder_extra_args.dynamic_multimask_stability_delta", m.SAMMaskDecoder.StabilityDelta, 0.05)
	only(c, "sam_mask_decoder_extra_args.dynamic_multimask_stability_thresh", m.SAMMaskDecoder.StabilityThresh, 0.98)
}

func (c *checker) trunk(at string, t *yamlTrunk, imageSize int) {
	c.target(strings.TrimSuffix(at, "."), t.Target, "sam2.modeling.backbones.hieradet.Hiera")
	required(c, at+"embed_dim", t.EmbedDim)
	required(c, at+"num_heads", t.NumHeads)
	c.that(t.NumHeads <= 0 || t.EmbedDim%t.NumHeads == 0, at+"num_heads", "%d does not divide embed_dim, %d", t.NumHeads, t.EmbedDim)
	only(c, at+"q_pool", t.QPool, 3)
	c.that(slices.Equal(t.QStride, []int{2, 2}), at+"q_stride", "%v is not supported, only [2 2] is", t.QStride)
	only(c, at+"dim_mul", t.DimMul, 2)
	only(c, at+"head_mul", t.HeadMul, 2)
	only(c, at+"return_interm_layers", t.ReturnInterm, true)
	c.that(t.WeightsPath == nil, at+"weights_path", "it is not supported; weights come from --model")
	positive := func(n int) bool { return n > 0 }
	all := func(list []int, n int, ok func(int) bool) bool {
		return len(list) == n && !slices.ContainsFunc(list, func(i int) bool { return !ok(i) })
	}
	c.that(all(t.Stages, 4, positive), at+"stages", "four positive numbers are required")
	c.that(all(t.WindowSpec, 4, positive), at+"window_spec", "four positive numbers are required")
	c.that(all(t.PosEmbedBkgSize, 2, positive), at+"window_pos_embed_bkg_spatial_size", "two positive numbers are required")
	depth := 0
	for _, n := range t.Stages {
		depth += n
	}
	c.that(all(t.GlobalAttBlocks, len(t.GlobalAttBlocks), func(i int) bool { return i >= 0 && i < depth }),
		at+"global_att_blocks", "the blocks are 0 to %d", depth-1)
	if c.err != nil {
		return
	}
	// The first block of a stage halves the windows of the stage before.
	c.that(!slices.ContainsFunc(t.WindowSpec[:3], func(w int) bool { return w%2 != 0 }),
		at+"window_spec", "the first three are halved and must be even")
	c.that(imageSize/4%t.WindowSpec[0] == 0, at+"window_spec", "the first must divide a quarter of image_size, %d", imageSize/4)
}

func (c *checker) neck(at string, n *yamlNeck, channels []int) {
	c.target(strings.TrimSuffix(at, "."), n.Target, "sam2.modeling.backbones.image_encoder.FpnNeck")
	required(c, at+"d_model", n.DModel)
	c.position(at+"position_encoding", &n.PositionEncoding, at+"d_model", n.DModel)
	c.that(slices.Equal(n.BackboneChannels, channels), at+"backbone_channel_list", "it is %v, but the trunk's are %v", n.BackboneChannels, channels)
	only(c, at+"kernel_size", n.KernelSize, 1)
	only(c, at+"stride", n.Stride, 1)
	only(c, at+"padding", n.Padding, 0)
	only(c, at+"fpn_interp_model", n.InterpModel, "nearest")
	only(c, at+"fuse_type", n.FuseType, "sum")
	for _, level := range n.TopDownLevels {
		c.that(level >= 0 && level <= 3, at+"fpn_top_down_levels", "the levels are 0 to 3")
	}
}

func (c *checker) position(at string, p *yamlPosition, other string, width int) {
	c.target(at, p.Target, "sam2.modeling.position_encoding.PositionEmbeddingSine")
	same(c, at+".num_pos_feats", p.NumPosFeats, other, width)
	only(c, at+".temperature", p.Temperature, 10000)
	only(c, at+".normalize", p.Normalize, true)
	c.that(p.Scale == nil, at+".scale", "only null, which is 2π, is supported")
}

func (c *checker) memoryAttention(at string, a *yamlMemoryAttention, m *yamlBase) {
	width, layer := m.ImageEncoder.Neck.DModel, &a.Layer
	same(c, at+"d_model", a.DModel, "image_encoder.neck.d_model", width)
	stated(c, at+"pos_enc_at_input", a.PosEncAtInput)
	required(c, at+"num_layers", a.NumLayers)
	only(c, at+"batch_first", a.BatchFirst, true)
	at += "layer."
	c.target(strings.TrimSuffix(at, "."), layer.Target, "sam2.modeling.memory_attention.MemoryAttentionLayer")
	only(c, at+"activation", layer.Activation, "relu")
	same(c, at+"d_model", layer.DModel, "image_encoder.neck.d_model", width)
	required(c, at+"dim_feedforward", layer.DimFeedforward)
	stated(c, at+"pos_enc_at_attn", layer.PosEncAtAttn)
	stated(c, at+"pos_enc_at_cross_attn_keys", layer.PosEncAtCrossAttnKeys)
	stated(c, at+"pos_enc_at_cross_attn_queries", layer.PosEncAtCrossAttnQueries)
	c.target(at+"self_attention", layer.SelfAttention.Target, ropeTarget)
	c.attention(at+"self_attention.", &layer.SelfAttention, width, width)
	c.attention(at+"cross_attention.", &layer.CrossAttention, width, m.MemoryEncoder.OutDim)
	if m.Perceiver.Target == "" {
		c.target(at+"cross_attention", layer.CrossAttention.Target, ropeTarget)
		only(c, at+"cross_attention.rope_k_repeat", layer.CrossAttention.RopeKRepeat, true)
	} else {
		c.rotaryV2(at+"cross_attention.", &layer.CrossAttention, m)
	}
	c.that(layer.CrossAttention.RopeTheta == layer.SelfAttention.RopeTheta, at+"cross_attention.rope_theta", "it differs from self_attention's")
}

const ropeTarget = "sam2.modeling.sam.transformer.RoPEAttention"

func (c *checker) attention(at string, a *yamlAttention, width, keys int) {
	c.that(a.RopeTheta > 0, at+"rope_theta", "a positive number is required")
	same(c, at+"embedding_dim", a.EmbeddingDim, "image_encoder.neck.d_model", width)
	only(c, at+"num_heads", a.NumHeads, 1)
	only(c, at+"downsample_rate", a.DownsampleRate, 1)
	got := width
	if a.KVInDim != nil {
		got = *a.KVInDim
	}
	c.that(got == keys, at+"kv_in_dim", "it is %d, but what is attended to is %d wide", got, keys)
}

func (c *checker) memoryEncoder(at string, e *yamlMemoryEncoder, width int) {
	same(c, at+"in_dim", e.InDim, "image_encoder.neck.d_model", width)
	c.position(at+"position_encoding", &e.PositionEncoding, at+"out_dim", e.OutDim)

	down := &e.MaskDownsampler
	c.target(at+"mask_downsampler", down.Target, "sam2.modeling.memory_encoder.MaskDownSampler")
	same(c, at+"mask_downsampler.embed_dim", down.EmbedDim, at+"in_dim", e.InDim)
	only(c, at+"mask_downsampler.kernel_size", down.KernelSize, 3)
	only(c, at+"mask_downsampler.stride", down.Stride, 2)
	only(c, at+"mask_downsampler.padding", down.Padding, 1)
	only(c, at+"mask_downsampler.total_stride", down.TotalStride, 16)

	fuser, block := &e.Fuser, &e.Fuser.Layer
	c.target(at+"fuser", fuser.Target, "sam2.modeling.memory_encoder.Fuser")
	required(c, at+"fuser.num_layers", fuser.NumLayers)
	only(c, at+"fuser.input_projection", fuser.InputProjection, false)
	c.target(at+"fuser.layer", block.Target, "sam2.modeling.memory_encoder.CXBlock")
	same(c, at+"fuser.layer.dim", block.Dim, at+"in_dim", e.InDim)
	only(c, at+"fuser.layer.kernel_size", block.KernelSize, 7)
	only(c, at+"fuser.layer.padding", block.Padding, 3)
	c.that(block.LayerScaleInitValue > 0, at+"fuser.layer.layer_scale_init_value", "a positive number is required: without it there is no gamma")
	only(c, at+"fuser.layer.use_dwconv", block.UseDWConv, true)
}
