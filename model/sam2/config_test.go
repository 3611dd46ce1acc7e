package sam2

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"maskstream/model"
	"maskstream/model/nano"
)

const random64 = "../../integration/testdata/random64/"

func TestAConfigurationInUpstreamsFormIsRead(t *testing.T) {
	got, err := ReadConfig(random64 + "model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := published("sam2.1", size{
		name: "", embedDim: 16, heads: 1, stages: [4]int{1, 2, 4, 2}, global: []int{4, 6, 8}, window: [4]int{8, 4, 14, 7}, background: [2]int{7, 7},
	})
	want.Name, want.ImageSize, want.EmbedDim, want.MemoryDim = "model", 256, 64, 32
	want.MemoryAttention.Layers, want.MemoryAttention.DimFeedforward = 2, 128
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestEdgeTAMsConfigurationIsThatOfItsWeights(t *testing.T) {
	got, err := ReadConfig("testdata/edgetam.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := edgeTAM(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	small, err := ReadConfig("../../integration/testdata/seeded/edgetam_small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := small.Perceiver, (model.Perceiver{Layers: 2, Latents: 12, Grid: 4}); got != want || small.MemoryTokens() != 12+4*4 {
		t.Errorf("got %+v and %d tokens, want %+v", got, small.MemoryTokens(), want)
	}
}

// edgeFaults are edits of EdgeTAM's configuration that must be refused.
var edgeFaults = []struct{ from, to, says string }{
	{"name: repvit_m1.dist_in1k", "name: repvit_m2.dist_in1k", "image_encoder.trunk.name: repvit_m2.dist_in1k is not supported, only repvit_m1.dist_in1k is"},
	{"[layer0, layer1, layer2, layer3]", "[layer1, layer2, layer3]", "image_encoder.trunk.features"},
	{"[384, 192, 96, 48]", "[768, 384, 192, 96]", "trunk's are [384 192 96 48]"},
	{"k_sizes: [16, 16]", "k_sizes: [8, 8]", "k_sizes: it is [8 8], but the perceiver's grid is 16×16"},
	{"q_sizes: [64, 64]", "q_sizes: [32, 32]", "q_sizes: it is [32 32], but the embedding is 64×64"},
	{"RoPEAttentionv2", "RoPEAttention", "cross_attention._target_"},
	{"num_latents_2d: 256", "num_latents_2d: 250", "250 is no positive square number"},
	{"num_latents_2d: 256", "num_latents_2d: 9", "a grid of 3×3 does not divide the embedding, 64×64"},
	{"num_latents_2d: 256", "num_latents_2d: -9223372036854775808", "no positive square number"},
	{"num_latents: 256", "num_latents: 0", "num_latents: a positive number is required"},
	{"heads: 1\n    hidden", "heads: 2\n    hidden", "spatial_perceiver.heads: 2 is not supported"},
	{"use_self_attn: true", "use_self_attn: false", "use_self_attn"},
	{"depth: 2", "depth: 0", "spatial_perceiver.depth"},
	{"dim: 64\n    dim_head", "dim: 32\n    dim_head", "spatial_perceiver.dim: it is 32, but memory_encoder.out_dim is 64"},
	{"PerceiverResampler", "Perceiver", "spatial_perceiver._target_"},
}

func TestAFaultyConfigurationOfEdgeTAMIsNamed(t *testing.T) {
	text, err := os.ReadFile("testdata/edgetam.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range edgeFaults {
		_, err := ParseConfig("test", replaced(t, text, c.from, c.to))
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v; want %q", c.to, err, c.says)
		}
	}
}

// edited is the built-in model's configuration with one line changed.
func edited(t testing.TB, from, to string) []byte {
	t.Helper()
	return replaced(t, nano.Config(), from, to)
}

// replaced is a configuration with the first of what it must hold replaced.
func replaced(t testing.TB, config []byte, from, to string) []byte {
	t.Helper()
	text := string(config)
	if !strings.Contains(text, from) {
		t.Fatalf("no %q in the configuration", from)
	}
	return []byte(strings.Replace(text, from, to, 1))
}

func TestKeysLeftOutTakeTheClassesDefaults(t *testing.T) {
	for _, c := range []struct {
		from string
		get  func(model.Config) any
		want any
	}{
		{"num_maskmem: 7\n", func(c model.Config) any { return c.NumMaskmem }, 7},
		{"image_size: 256\n", func(c model.Config) any { return c.ImageSize }, 512},
		{"sigmoid_scale_for_mem_enc: 20.0\n", func(c model.Config) any { return c.SigmoidScaleForMemEnc }, float32(1)},
		{"sigmoid_bias_for_mem_enc: -10.0\n", func(c model.Config) any { return c.SigmoidBiasForMemEnc }, float32(0)},
		{"no_obj_embed_spatial: true\n", func(c model.Config) any { return c.NoObjEmbedSpatial }, false},
		{"multimask_output_in_sam: true\n", func(c model.Config) any { return c.MultimaskOutputInSAM }, false},
		{"multimask_min_pt_num: 0\n", func(c model.Config) any { return c.MultimaskMinPoints }, 1},
		{"add_tpos_enc_to_obj_ptrs: true\n", func(c model.Config) any { return c.ObjPtrTemporalEncoding }, true},
		{"use_signed_tpos_enc_to_obj_ptrs: true\n", func(c model.Config) any { return c.SignedObjPtrTemporal }, false},
		{"only_obj_ptrs_in_the_past_for_eval: true\n", func(c model.Config) any { return c.OnlyPastObjPtrs }, false},
		{"window_spec: [8, 8, 8, 4]\n", func(c model.Config) any { return c.Trunk.WindowSpec }, [4]int{8, 4, 14, 7}},
		{"window_pos_embed_bkg_spatial_size: [7, 7]\n", func(c model.Config) any { return c.Trunk.PosEmbedBkgSize }, [2]int{14, 14}},
		{"fpn_top_down_levels: [2, 3]", func(c model.Config) any { return c.Neck.TopDownLevels }, []int{0, 1, 2, 3}},
		{"layer_scale_init_value: 0.1\n", func(c model.Config) any { return c.MaxObjPtrsInEncoder }, 16},
		{"compile_image_encoder: False\n", func(c model.Config) any { return c.MaxCondFramesInAttn }, -1},
	} {
		config, err := ParseConfig("test", edited(t, c.from, "\n"))
		if err != nil {
			t.Errorf("without %q: %v", c.from, err)
		} else if got := c.get(config); !reflect.DeepEqual(got, c.want) {
			t.Errorf("without %q: %v, want %v", c.from, got, c.want)
		}
	}
}

// faults are configurations that must be refused, made from the built-in one by one edit.
var faults = []struct{ from, to, says string }{
	{"embed_dim: 32", "embed_dimm: 32", `11: unknown key "embed_dimm"; did you mean "embed_dim"?`},
	{"num_maskmem: 7", "num_maskmen: 7", `did you mean "num_maskmem"?`},
	{"num_maskmem: 7", "colour: red", `unknown key "colour"`},
	{"scalp: 1", "num_heads: 1", `8: key "num_heads" does not belong here`},
	{"embed_dim: 32", "embed_dim: wide", "11: "},
	{"embed_dim: 32", "embed_dim: [32]", "11: "},
	{"embed_dim: 32", "embed_dim: 32\n      embed_dim: 64", "12: "},
	{"embed_dim: 32", "embed_dim: 0", "11: image_encoder.trunk.embed_dim: a positive number is required"},
	{"stages: [1, 2, 4, 1]", "stages: [1, 2, 4", ""},
	{"stages: [1, 2, 4, 1]", "stages: [1, 2, 4]", "13: image_encoder.trunk.stages: four"},
	{"stages: [1, 2, 4, 1]", "stages: [1, 2, 0, 1]", "image_encoder.trunk.stages: four"},
	{"global_att_blocks: [4, 5, 6]", "global_att_blocks: [4, 5, 8]", "14: image_encoder.trunk.global_att_blocks: the blocks are 0 to 7"},
	{"window_spec: [8, 8, 8, 4]", "window_spec: [8, 7, 8, 4]", "even"},
	{"window_spec: [8, 8, 8, 4]", "window_spec: [10, 8, 8, 4]", "quarter of image_size"},
	{"backbone_channel_list: [256, 128, 64, 32]", "backbone_channel_list: [256, 128, 64]", "trunk's are [256 128 64 32]"},
	{"fpn_interp_model: nearest", "fpn_interp_model: bicubic", "28: image_encoder.neck.fpn_interp_model: bicubic is not supported, only nearest is"},
	{"      fpn_interp_model: nearest\n", "", "image_encoder.neck.fpn_interp_model: bilinear is not supported"},
	{"num_pos_feats: 128", "num_pos_feats: 256", "image_encoder.neck.d_model is 128"},
	{"scale: null", "scale: 1.0", "image_encoder.neck.position_encoding.scale"},
	{"temperature: 10000", "temperature: 20", "20 is not supported, only 10000 is"},
	{"normalize: true", "normalize: false", "position_encoding.normalize"},
	{"scalp: 1", "scalp: 0", "image_encoder.scalp: 0 is not supported, only 1 is"},
	{"backbones.hieradet.Hiera", "backbones.timm.RepViT", "image_encoder.trunk._target_: \"sam2.modeling.backbones.timm.RepViT\" is not supported"},
	{"activation: relu", "activation: gelu", "gelu is not supported"},
	{"kv_in_dim: 64", "kv_in_dim: 32", "kv_in_dim: it is 32"},
	{"rope_k_repeat: True", "rope_k_repeat: False", "rope_k_repeat"},
	{"pos_enc_at_input: true", "pos_enc_at_input: null", "pos_enc_at_input: true or false is required"},
	{"out_dim: 64", "out_dim: 48", "memory_encoder.out_dim: 48 is no multiple of 4 that divides d_model, 128"},
	{"image_size: 256", "image_size: 250", "250 is no positive multiple of 32"},
	{"image_size: 256", "image_size: 1048576", "image_size: 1048576 is more than 2048"},
	{"image_size: 256", "image_size: 256\n  max_cond_frames_in_attn: 1", "max_cond_frames_in_attn: 1"},
	{"image_size: 256", "image_size: 256\n  soft_no_obj_ptr: true", "soft_no_obj_ptr: true is not supported"},
	{"image_size: 256", "image_size: 256\n  sam_mask_decoder_extra_args: {dynamic_multimask_via_stability: false}", "dynamic_multimask_via_stability: false is not supported"},
	{"  add_tpos_enc_to_obj_ptrs: true", "  add_tpos_enc_to_obj_ptrs: false", "needs add_tpos_enc_to_obj_ptrs"},
	{"use_high_res_features_in_sam: true", "use_high_res_features_in_sam: false", "use_high_res_features_in_sam: false is not supported"},
	{"  _target_: sam2.modeling.sam2_base.SAM2Base\n", "", "_target_: it is missing"},
}

func TestAFaultyConfigurationIsNamedWithItsLine(t *testing.T) {
	for _, c := range faults {
		_, err := ParseConfig("test", edited(t, c.from, c.to))
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v; want %q", c.to, err, c.says)
		}
	}
	for _, text := range []string{"", "model:", "- 1", "nats: {url: x}", "model: &a {image_encoder: *a}"} {
		if _, err := ParseConfig("test", []byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	path := t.TempDir() + "/wrong.yaml"
	if err := os.WriteFile(path, edited(t, "embed_dim: 32", "embed_dimm: 32"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadConfig(path); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), path+":11: ") {
		t.Errorf("%v", err)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add(nano.Config())
	edge, err := os.ReadFile("testdata/edgetam.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(edge)
	for _, c := range faults {
		f.Add(edited(f, c.from, c.to))
	}
	for _, c := range edgeFaults {
		f.Add(replaced(f, edge, c.from, c.to))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		config, err := ParseConfig("fuzz", text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !utf8.ValidString(err.Error()) {
				t.Errorf("%q", err)
			}
			return
		}
		if config.PointerTokens() < 1 {
			t.Errorf("accepted: %+v", config)
		}
		if err := supported(config); err != nil {
			t.Errorf("accepted, and then %v", err)
		}
	})
}

func TestADeepConfigurationIsRefusedWithItsPlace(t *testing.T) {
	if _, err := ParseConfig("deep", []byte(strings.Repeat("[", 200_000))); err == nil || !strings.Contains(err.Error(), "levels deep") {
		t.Errorf("got %v", err)
	}
}
