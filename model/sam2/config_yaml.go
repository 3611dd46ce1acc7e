package sam2

// The structs below are upstream's YAML form, one for each class that a configuration names (sam2/configs/sam2.1/*.yaml), with
// the arguments of its constructor as fields. newConfigFile fills in the constructors' own defaults; an argument without one
// is zero there and found missing by the checks.

type configFile struct {
	Model yamlBase `yaml:"model"`
}

// yamlBase is SAM2Base (modeling/sam2_base.py).
type yamlBase struct {
	Target          string              `yaml:"_target_"`
	ImageEncoder    yamlImageEncoder    `yaml:"image_encoder"`
	MemoryAttention yamlMemoryAttention `yaml:"memory_attention"`
	MemoryEncoder   yamlMemoryEncoder   `yaml:"memory_encoder"`
	Perceiver       yamlPerceiver       `yaml:"spatial_perceiver"` // EdgeTAM's alone

	NumMaskmem               int     `yaml:"num_maskmem"`
	ImageSize                int     `yaml:"image_size"`
	BackboneStride           int     `yaml:"backbone_stride"`
	SigmoidScale             float32 `yaml:"sigmoid_scale_for_mem_enc"`
	SigmoidBias              float32 `yaml:"sigmoid_bias_for_mem_enc"`
	BinarizeMaskFromPts      bool    `yaml:"binarize_mask_from_pts_for_mem_enc"`
	MaskInputAsOutput        bool    `yaml:"use_mask_input_as_output_without_sam"`
	MaxCondFramesInAttn      int     `yaml:"max_cond_frames_in_attn"`
	DirectlyAddNoMemEmbed    bool    `yaml:"directly_add_no_mem_embed"`
	HighResFeaturesInSAM     bool    `yaml:"use_high_res_features_in_sam"`
	MultimaskOutputInSAM     bool    `yaml:"multimask_output_in_sam"`
	MultimaskMinPoints       int     `yaml:"multimask_min_pt_num"`
	MultimaskMaxPoints       int     `yaml:"multimask_max_pt_num"`
	MultimaskForTracking     bool    `yaml:"multimask_output_for_tracking"`
	MultimaskTokenForPtr     bool    `yaml:"use_multimask_token_for_obj_ptr"`
	IoUPredictionSigmoid     bool    `yaml:"iou_prediction_use_sigmoid"`
	MemoryTemporalStride     int     `yaml:"memory_temporal_stride_for_eval"`
	NonOverlapMasksForMemEnc bool    `yaml:"non_overlap_masks_for_mem_enc"` // without effect where objects are tracked one by one, as upstream does
	ObjPtrsInEncoder         bool    `yaml:"use_obj_ptrs_in_encoder"`
	MaxObjPtrsInEncoder      int     `yaml:"max_obj_ptrs_in_encoder"`
	ObjPtrTemporalEncoding   bool    `yaml:"add_tpos_enc_to_obj_ptrs"`
	ProjectObjPtrTemporal    bool    `yaml:"proj_tpos_enc_in_obj_ptrs"`
	SignedObjPtrTemporal     bool    `yaml:"use_signed_tpos_enc_to_obj_ptrs"`
	OnlyPastObjPtrs          bool    `yaml:"only_obj_ptrs_in_the_past_for_eval"`
	PredObjScores            bool    `yaml:"pred_obj_scores"`
	PredObjScoresMLP         bool    `yaml:"pred_obj_scores_mlp"`
	FixedNoObjPtr            bool    `yaml:"fixed_no_obj_ptr"`
	SoftNoObjPtr             bool    `yaml:"soft_no_obj_ptr"`
	MLPForObjPtrProj         bool    `yaml:"use_mlp_for_obj_ptr_proj"`
	NoObjEmbedSpatial        bool    `yaml:"no_obj_embed_spatial"`
	SAMMaskDecoder           yamlSAM `yaml:"sam_mask_decoder_extra_args"`
	CompileImageEncoder      bool    `yaml:"compile_image_encoder"` // says how PyTorch runs it
}

// yamlSAM is what may be handed through to MaskDecoder (modeling/sam/mask_decoder.py).
type yamlSAM struct {
	DynamicMultimask bool    `yaml:"dynamic_multimask_via_stability"`
	StabilityDelta   float64 `yaml:"dynamic_multimask_stability_delta"`
	StabilityThresh  float64 `yaml:"dynamic_multimask_stability_thresh"`
}

// yamlImageEncoder is ImageEncoder (modeling/backbones/image_encoder.py).
type yamlImageEncoder struct {
	Target string    `yaml:"_target_"`
	Trunk  yamlTrunk `yaml:"trunk"`
	Neck   yamlNeck  `yaml:"neck"`
	Scalp  int       `yaml:"scalp"`
}

// yamlTrunk is Hiera (modeling/backbones/hieradet.py), or TimmBackbone (EdgeTAM, modeling/backbones/timm.py), which has the last
// two keys alone.
type yamlTrunk struct {
	Target          string  `yaml:"_target_"`
	EmbedDim        int     `yaml:"embed_dim"`
	NumHeads        int     `yaml:"num_heads"`
	DropPathRate    float64 `yaml:"drop_path_rate"` // training only
	QPool           int     `yaml:"q_pool"`
	QStride         []int   `yaml:"q_stride"`
	Stages          []int   `yaml:"stages"`
	DimMul          float64 `yaml:"dim_mul"`
	HeadMul         float64 `yaml:"head_mul"`
	PosEmbedBkgSize []int   `yaml:"window_pos_embed_bkg_spatial_size"`
	WindowSpec      []int   `yaml:"window_spec"`
	GlobalAttBlocks []int   `yaml:"global_att_blocks"`
	WeightsPath     *string `yaml:"weights_path"`
	ReturnInterm    bool    `yaml:"return_interm_layers"`

	Name     string   `yaml:"name"`
	Features []string `yaml:"features"`
}

// yamlNeck is FpnNeck (modeling/backbones/image_encoder.py).
type yamlNeck struct {
	Target           string       `yaml:"_target_"`
	PositionEncoding yamlPosition `yaml:"position_encoding"`
	DModel           int          `yaml:"d_model"`
	BackboneChannels []int        `yaml:"backbone_channel_list"`
	KernelSize       int          `yaml:"kernel_size"`
	Stride           int          `yaml:"stride"`
	Padding          int          `yaml:"padding"`
	InterpModel      string       `yaml:"fpn_interp_model"`
	FuseType         string       `yaml:"fuse_type"`
	TopDownLevels    []int        `yaml:"fpn_top_down_levels"`
}

// yamlPosition is PositionEmbeddingSine (modeling/position_encoding.py); what only warms its cache has no effect.
type yamlPosition struct {
	Target      string   `yaml:"_target_"`
	NumPosFeats int      `yaml:"num_pos_feats"`
	Temperature float64  `yaml:"temperature"`
	Normalize   bool     `yaml:"normalize"`
	Scale       *float64 `yaml:"scale"`
	WarmupCache bool     `yaml:"warmup_cache"`
	ImageSize   int      `yaml:"image_size"`
	Strides     []int    `yaml:"strides"`
}

// yamlMemoryAttention is MemoryAttention (modeling/memory_attention.py).
type yamlMemoryAttention struct {
	Target        string             `yaml:"_target_"`
	DModel        int                `yaml:"d_model"`
	PosEncAtInput *bool              `yaml:"pos_enc_at_input"`
	Layer         yamlAttentionLayer `yaml:"layer"`
	NumLayers     int                `yaml:"num_layers"`
	BatchFirst    bool               `yaml:"batch_first"`
}

// yamlAttentionLayer is MemoryAttentionLayer (modeling/memory_attention.py).
type yamlAttentionLayer struct {
	Target                   string        `yaml:"_target_"`
	Activation               string        `yaml:"activation"`
	CrossAttention           yamlAttention `yaml:"cross_attention"`
	DModel                   int           `yaml:"d_model"`
	DimFeedforward           int           `yaml:"dim_feedforward"`
	Dropout                  float64       `yaml:"dropout"` // training only
	PosEncAtAttn             *bool         `yaml:"pos_enc_at_attn"`
	PosEncAtCrossAttnKeys    *bool         `yaml:"pos_enc_at_cross_attn_keys"`
	PosEncAtCrossAttnQueries *bool         `yaml:"pos_enc_at_cross_attn_queries"`
	SelfAttention            yamlAttention `yaml:"self_attention"`
}

// yamlAttention is RoPEAttention (modeling/sam/transformer.py), whose feat_sizes say for which size its table is made ahead (it
// is made again for the real size), or EdgeTAM's RoPEAttentionv2, which has sizes of queries and of keys that hold.
type yamlAttention struct {
	Target         string  `yaml:"_target_"`
	RopeTheta      float32 `yaml:"rope_theta"`
	RopeKRepeat    bool    `yaml:"rope_k_repeat"`
	FeatSizes      []int   `yaml:"feat_sizes"`
	QSizes         []int   `yaml:"q_sizes"`
	KSizes         []int   `yaml:"k_sizes"`
	EmbeddingDim   int     `yaml:"embedding_dim"`
	NumHeads       int     `yaml:"num_heads"`
	DownsampleRate int     `yaml:"downsample_rate"`
	Dropout        float64 `yaml:"dropout"` // training only
	KVInDim        *int    `yaml:"kv_in_dim"`
}

// yamlMemoryEncoder is MemoryEncoder (modeling/memory_encoder.py).
type yamlMemoryEncoder struct {
	Target           string          `yaml:"_target_"`
	OutDim           int             `yaml:"out_dim"`
	MaskDownsampler  yamlDownsampler `yaml:"mask_downsampler"`
	Fuser            yamlFuser       `yaml:"fuser"`
	PositionEncoding yamlPosition    `yaml:"position_encoding"`
	InDim            int             `yaml:"in_dim"`
}

// yamlDownsampler is MaskDownSampler (modeling/memory_encoder.py).
type yamlDownsampler struct {
	Target      string `yaml:"_target_"`
	EmbedDim    int    `yaml:"embed_dim"`
	KernelSize  int    `yaml:"kernel_size"`
	Stride      int    `yaml:"stride"`
	Padding     int    `yaml:"padding"`
	TotalStride int    `yaml:"total_stride"`
}

// yamlFuser is Fuser (modeling/memory_encoder.py).
type yamlFuser struct {
	Target          string    `yaml:"_target_"`
	Layer           yamlBlock `yaml:"layer"`
	NumLayers       int       `yaml:"num_layers"`
	Dim             *int      `yaml:"dim"`
	InputProjection bool      `yaml:"input_projection"`
}

// yamlBlock is CXBlock (modeling/memory_encoder.py).
type yamlBlock struct {
	Target              string  `yaml:"_target_"`
	Dim                 int     `yaml:"dim"`
	KernelSize          int     `yaml:"kernel_size"`
	Padding             int     `yaml:"padding"`
	DropPath            float64 `yaml:"drop_path"` // training only
	LayerScaleInitValue float64 `yaml:"layer_scale_init_value"`
	UseDWConv           bool    `yaml:"use_dwconv"`
}

// yamlPerceiver is PerceiverResampler (EdgeTAM, modeling/perceiver.py).
type yamlPerceiver struct {
	Target           string       `yaml:"_target_"`
	Depth            int          `yaml:"depth"`
	Dim              int          `yaml:"dim"`
	DimHead          int          `yaml:"dim_head"`
	Heads            int          `yaml:"heads"`
	FFMult           int          `yaml:"ff_mult"`
	HiddenDropout    float64      `yaml:"hidden_dropout_p"`     // training only
	AttentionDropout float64      `yaml:"attention_dropout_p"`  // training only
	PosEncAtKeyValue bool         `yaml:"pos_enc_at_key_value"` // without effect where positions are handed in, as SAM2Base does
	ConcatKVLatents  bool         `yaml:"concat_kv_latents"`
	NumLatents       int          `yaml:"num_latents"`
	NumLatents2D     int          `yaml:"num_latents_2d"`
	PositionEncoding yamlPosition `yaml:"position_encoding"`
	UseSelfAttn      bool         `yaml:"use_self_attn"`
}

// newConfigFile returns the constructors' defaults. Two are this product's: masks drawn by points are always binarised and
// multimask by stability is always on, as upstream's predictors set them when they load a model.
func newConfigFile() configFile {
	position := yamlPosition{Temperature: 10000, Normalize: true, WarmupCache: true, ImageSize: 1024, Strides: []int{4, 8, 16, 32}}
	attention := yamlAttention{RopeTheta: 10000, DownsampleRate: 1}
	return configFile{Model: yamlBase{
		ImageEncoder: yamlImageEncoder{
			Trunk: yamlTrunk{
				EmbedDim: 96, NumHeads: 1, QPool: 3, QStride: []int{2, 2}, Stages: []int{2, 3, 16, 3}, DimMul: 2, HeadMul: 2,
				PosEmbedBkgSize: []int{14, 14}, WindowSpec: []int{8, 4, 14, 7}, GlobalAttBlocks: []int{12, 16, 20}, ReturnInterm: true,
			},
			Neck: yamlNeck{PositionEncoding: position, KernelSize: 1, Stride: 1, InterpModel: "bilinear", FuseType: "sum"},
		},
		MemoryAttention: yamlMemoryAttention{
			Layer:      yamlAttentionLayer{CrossAttention: attention, SelfAttention: attention},
			BatchFirst: true,
		},
		MemoryEncoder: yamlMemoryEncoder{
			MaskDownsampler:  yamlDownsampler{EmbedDim: 256, KernelSize: 4, Stride: 4, TotalStride: 16},
			Fuser:            yamlFuser{Layer: yamlBlock{KernelSize: 7, Padding: 3, LayerScaleInitValue: 1e-6, UseDWConv: true}},
			PositionEncoding: position,
			InDim:            256,
		},
		Perceiver:  yamlPerceiver{DimHead: 64, Heads: 1, FFMult: 4, NumLatents: -1, NumLatents2D: -1, PositionEncoding: position},
		NumMaskmem: 7, ImageSize: 512, BackboneStride: 16, SigmoidScale: 1, BinarizeMaskFromPts: true,
		MaxCondFramesInAttn: -1, MultimaskMinPoints: 1, MultimaskMaxPoints: 1, MemoryTemporalStride: 1,
		MaxObjPtrsInEncoder: 16, ObjPtrTemporalEncoding: true,
		SAMMaskDecoder: yamlSAM{DynamicMultimask: true, StabilityDelta: 0.05, StabilityThresh: 0.98},
	}}
}
