package model

// Config is a network's architecture, under the reference's names (sam2/configs, sam2_base.py). It is recognised from the
// weights or read from upstream's YAML by model/sam2; defaults are the reference's class defaults.
type Config struct {
	Name string // "sam2.1_hiera_tiny", "nano", or the file's stem

	ImageSize int // S
	EmbedDim  int // C, d_model
	MemoryDim int // M

	Trunk           Trunk  // of SAM 2
	RepViT          RepViT // of EdgeTAM, in the trunk's place
	Neck            Neck
	MemoryAttention MemoryAttention
	MemoryEncoder   MemoryEncoder
	Perceiver       Perceiver // EdgeTAM's

	NumMaskmem             int // spatial memories a frame attends to, conditioning ones apart: 7 counts the current frame
	MaxObjPtrsInEncoder    int // 16
	MaxCondFramesInAttn    int // −1: all
	MemoryTemporalStride   int // memory_temporal_stride_for_eval, 1
	SigmoidScaleForMemEnc  float32
	SigmoidBiasForMemEnc   float32
	MultimaskMinPoints     int // multimask_min_pt_num
	MultimaskMaxPoints     int // multimask_max_pt_num
	MultimaskOutputInSAM   bool
	MultimaskForTracking   bool // multimask_output_for_tracking
	MultimaskTokenForPtr   bool // use_multimask_token_for_obj_ptr
	HighResFeaturesInSAM   bool // use_high_res_features_in_sam
	MaskInputAsOutput      bool // use_mask_input_as_output_without_sam
	DirectlyAddNoMemEmbed  bool
	NoObjEmbedSpatial      bool // 2.1
	ObjPtrsInEncoder       bool // use_obj_ptrs_in_encoder
	ObjPtrTemporalEncoding bool // add_tpos_enc_to_obj_ptrs, 2.1
	ProjectObjPtrTemporal  bool // proj_tpos_enc_in_obj_ptrs, 2.1
	SignedObjPtrTemporal   bool // use_signed_tpos_enc_to_obj_ptrs, 2.1
	OnlyPastObjPtrs        bool // only_obj_ptrs_in_the_past_for_eval
	PredObjScores          bool
	PredObjScoresMLP       bool
	FixedNoObjPtr          bool
	SoftNoObjPtr           bool
	MLPForObjPtrProj       bool // use_mlp_for_obj_ptr_proj
	IoUPredictionSigmoid   bool // iou_prediction_use_sigmoid
}

// Cells is h = w, the side of the embedding.
func (c Config) Cells() int { return c.ImageSize / 16 }

// LowRes is 4h = 4w, the side of a low-resolution mask.
func (c Config) LowRes() int { return c.ImageSize / 4 }

// PointerTokens is the number of memory tokens an object pointer is split into.
func (c Config) PointerTokens() int { return c.EmbedDim / c.MemoryDim }

// MemoryTokens is the number of tokens one spatial memory has: one a cell, or one a latent of the perceiver.
func (c Config) MemoryTokens() int {
	if c.Perceiver.Layers > 0 {
		return c.Perceiver.Latents + c.Perceiver.Grid*c.Perceiver.Grid
	}
	return c.Cells() * c.Cells()
}

// Trunk is a Hiera image encoder (Ryali et al. 2023; modeling/backbones/hieradet.py).
type Trunk struct {
	EmbedDim        int // of stage 1, doubles per stage
	NumHeads        int // of stage 1, doubles per stage
	Stages          [4]int
	GlobalAttBlocks []int
	WindowSpec      [4]int
	PosEmbedBkgSize [2]int // window_pos_embed_bkg_spatial_size
	QPool           int    // stages with query pooling, 3
}

// RepViT is EdgeTAM's image encoder (Wang et al. 2023, "RepViT: Revisiting Mobile CNN From ViT Perspective"; timm's
// models/repvit.py). The zero value: the image encoder is a Hiera.
type RepViT struct {
	Name   string // of timm, "repvit_m1.dist_in1k"
	Widths [4]int // channels of a stage
	Depths [4]int // blocks of a stage, its downsampling apart
}

// Neck is the feature pyramid (modeling/backbones/image_encoder.py, FpnNeck).
type Neck struct {
	BackboneChannels []int // from low to high resolution
	TopDownLevels    []int // fpn_top_down_levels
	Scalp            int   // lowest-resolution levels dropped
}

// MemoryAttention is modeling/memory_attention.py with rotary position embedding (transformer.py, RoPEAttention).
type MemoryAttention struct {
	Layers                                                        int
	DimFeedforward                                                int
	RopeTheta                                                     float32
	PosEncAtInput                                                 bool
	PosEncAtAttn, PosEncAtCrossAttnKeys, PosEncAtCrossAttnQueries bool
}

// MemoryEncoder is modeling/memory_encoder.py.
type MemoryEncoder struct {
	FuserLayers int
}

// Perceiver is EdgeTAM's 2-D spatial perceiver (Zhou et al. 2025, "EdgeTAM: On-Device Track Anything Model";
// modeling/perceiver.py), which sums a memory up in few tokens. The zero value: a memory is kept cell by cell.
type Perceiver struct {
	Layers  int
	Latents int // latents that see the whole memory; their tokens come first
	Grid    int // side of the grid of latents of which each sees its own cells
}
