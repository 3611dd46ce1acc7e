package sam2

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"maskstream/internal/garbage"
	"maskstream/model"
	"maskstream/model/onnx"
)

// ErrUnusedWeights: the weights are those of another network than the configuration's.
var ErrUnusedWeights = errors.New("weights without a place in the network")

// Graphs is a network as ONNX models. Their inputs and outputs are documented at the functions that build them, below.
type Graphs struct {
	ImageEncoder    []byte // pixels → embedding, high_res_0, high_res_1; see imageEncoder
	MemoryQueries   []byte // embedding → current, queries; see memoryQueries
	MemoryAttention []byte // current, queries, memory, temporal, pointers, distances → conditioned; see memoryAttention
	MaskPrompt      []byte // mask → dense, logits, visible; see maskPrompt
	MaskDecoder     []byte // embedding, high_res_0, high_res_1, prompts → logits, pointers, ious, scores; see maskDecoder
	MemoryEncoder   []byte // embedding, logits, scores, binarize → memory; see memoryEncoder
}

// Build writes the network that c describes with the given weights. Every weight is used once: what is missing, of another
// shape or left over is an error, since then the configuration belongs to other weights. Errors wrap [ErrConfig],
// [ErrUnusedWeights] or the error of weights.Take.
func Build(c model.Config, weights Weights) (*Graphs, error) {
	var graphs Graphs
	i := 0
	err := BuildEach(c, weights, func(part Part) error {
		*graphs.Parts()[i].Model = *part.Model
		i++
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &graphs, nil
}

// BuildEach is Build for who needs one graph at a time, in the order of [Graphs.Parts], and has no memory for all of them: use
// borrows the part, or keeps its model. An error of use ends it.
func BuildEach(c model.Config, weights Weights, use func(Part) error) error {
	if err := supported(c); err != nil {
		return fmt.Errorf("model %s: %w", c.Name, err)
	}
	builders := []func(*onnx.Graph, Weights, model.Config){imageEncoder, memoryQueries, memoryAttention, maskPrompt, maskDecoder, memoryEncoder}
	for i, part := range new(Graphs).Parts() {
		built, err := onnx.Build(part.Name, func(g *onnx.Graph) { builders[i](g, weights, c) })
		if stopped := (*onnx.Error)(nil); errors.As(err, &stopped) && stopped.Op == "" {
			return stopped.Err // of weights.Take, which says all
		} else if err != nil {
			return fmt.Errorf("model %s: %w", c.Name, err)
		}
		size := len(built)
		if err := use(Part{part.Name, &built}); err != nil {
			return err
		}
		built = nil
		garbage.Return(size)
	}
	if left := leftOver(weights); len(left) > 0 {
		return fmt.Errorf("%w, configured as %s: %s; is it another model's configuration?", ErrUnusedWeights, c.Name, someOf(left))
	}
	return nil
}

// Part is one of the graphs, under a name for its file.
type Part struct {
	Name  string
	Model *[]byte // the field of Graphs
}

// Parts lists the graphs in the order in which a frame goes through them.
func (g *Graphs) Parts() []Part {
	return []Part{
		{"image_encoder", &g.ImageEncoder},
		{"memory_queries", &g.MemoryQueries},
		{"memory_attention", &g.MemoryAttention},
		{"mask_prompt", &g.MaskPrompt},
		{"mask_decoder", &g.MaskDecoder},
		{"memory_encoder", &g.MemoryEncoder},
	}
}

// someOf names the first few.
func someOf(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// leftOver lists what nobody took, but for the weights that the reference has and does not use either.
func leftOver(weights Weights) []string {
	var left []string
	for _, name := range weights.Unused() {
		switch {
		case name == "no_mem_pos_enc": // the position of a token that directly_add_no_mem_embed does without
		case strings.HasSuffix(name, ".bn.num_batches_tracked"): // how long a batch normalisation was trained
		default:
			left = append(left, name)
		}
	}
	return left
}

// supported refuses what no published configuration asks for.
func supported(c model.Config) error {
	for _, rule := range []struct {
		holds bool
		what  string
	}{
		{c.ImageSize > 0 && c.ImageSize%32 == 0, fmt.Sprintf("image_size %d is no multiple of 32", c.ImageSize)},
		{c.EmbedDim%16 == 0, fmt.Sprintf("d_model %d is no multiple of 16", c.EmbedDim)},
		{c.MemoryDim > 0 && c.EmbedDim%c.MemoryDim == 0, fmt.Sprintf("d_model %d is no multiple of the memory's out_dim %d", c.EmbedDim, c.MemoryDim)},
		{len(c.Neck.BackboneChannels) == 4, fmt.Sprintf("backbone_channel_list %v for four stages", c.Neck.BackboneChannels)},
		{c.Neck.Scalp == 1, fmt.Sprintf("scalp %d instead of 1", c.Neck.Scalp)},
		{!slices.Contains(c.Neck.TopDownLevels, 0) && !slices.Contains(c.Neck.TopDownLevels, 1), fmt.Sprintf("fpn_top_down_levels %v reach below level 2", c.Neck.TopDownLevels)},
		{c.NumMaskmem > 0, "num_maskmem 0"},
		{c.Perceiver.Layers == 0 || c.Perceiver.Grid > 0 && c.Cells()%c.Perceiver.Grid == 0,
			fmt.Sprintf("a perceiver's grid of %d on %d cells", c.Perceiver.Grid, c.Cells())},
		{c.MaxObjPtrsInEncoder > 1, fmt.Sprintf("max_obj_ptrs_in_encoder %d", c.MaxObjPtrsInEncoder)},
		{c.HighResFeaturesInSAM, "use_high_res_features_in_sam: false"},
		{c.MaskInputAsOutput, "use_mask_input_as_output_without_sam: false"},
		{c.DirectlyAddNoMemEmbed, "directly_add_no_mem_embed: false"},
		{c.ObjPtrsInEncoder, "use_obj_ptrs_in_encoder: false"},
		{c.PredObjScores || !c.FixedNoObjPtr, "fixed_no_obj_ptr without pred_obj_scores"},
		{c.ObjPtrTemporalEncoding || !c.ProjectObjPtrTemporal, "proj_tpos_enc_in_obj_ptrs without add_tpos_enc_to_obj_ptrs"},
	} {
		if !rule.holds {
			return fmt.Errorf("%w: %s", ErrConfig, rule.what)
		}
	}
	return nil
}
