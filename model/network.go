package model

import "maskstream/tensor"

// Network is SAM 2 without its memory bank. It is safe for one goroutine at a time; every tensor it returns is the caller's.
// An implementation is model/ort; tests use a small fake.
type Network interface {
	// Config is fixed for the life of the network.
	Config() Config
	// EncodeImage runs the image encoder on one normalised picture, 1×3×S×S float32 (borrowed). Called once a frame.
	EncodeImage(pixels *tensor.Tensor) (*Features, error)
	// AttendMemory conditions the frame's embedding on each object's memories: n×C×h×w. Every attention must name as many
	// memories and as many pointers as the others (a batch is not ragged); at least one memory or pointer.
	AttendMemory(features *Features, attentions []Attention) (*tensor.Tensor, error)
	// DecodeMasks predicts one mask per prompt. embedding is what AttendMemory returned, n×C×h×w for n prompts, or nil on a
	// frame without memory: then the raw embedding plus the learned no-memory embedding is used (borrowed).
	// Every prompt must have as many points as the others.
	DecodeMasks(features *Features, embedding *tensor.Tensor, prompts []Prompt) (*Prediction, error)
	// EncodeMemory turns masks into spatial memories: n×t×M bfloat16 with t = Config.MemoryTokens, one token for each of the
	// hw cells in row-major order, or one for each latent of a perceiver.
	// logits is n×4h×4w float32 (borrowed), scores and binarize have n entries. A mask to be binarised is thresholded at 0,
	// any other goes through a sigmoid; where the score is ≤ 0 the learned no-object embedding is added.
	EncodeMemory(features *Features, logits *tensor.Tensor, scores []float32, binarize []bool) (*tensor.Tensor, error)
	// Close frees the network; nothing may be in flight.
	Close() error
}

// Features is one frame's output of the image encoder (modeling/sam2_base.py, forward_image), shared by all objects.
type Features struct {
	Embedding *tensor.Tensor // 1×C×h×w, stride 16
	HighRes0  *tensor.Tensor // 1×C/8×4h×4w, stride 4, already through the decoder's conv_s0
	HighRes1  *tensor.Tensor // 1×C/4×2h×2w, stride 8, already through conv_s1
}

// Retain adds a reference to each tensor and returns f.
func (f *Features) Retain() *Features {
	f.Embedding.Retain()
	f.HighRes0.Retain()
	f.HighRes1.Retain()
	return f
}

// Release gives one reference of each tensor back. Nil is ignored.
func (f *Features) Release() {
	if f == nil {
		return
	}
	f.Embedding.Release()
	f.HighRes0.Release()
	f.HighRes1.Release()
}

// Attention is what one object attends to on one frame (modeling/sam2_base.py, _prepare_memory_conditioned_features), in the
// order in which the tokens are laid out: conditioning memories, recent memories from far to near, pointers.
type Attention struct {
	Memories []SpatialMemory
	Pointers []Pointer
}

// SpatialMemory is one frame's memory with its place in time.
type SpatialMemory struct {
	Features *tensor.Tensor // t×M bfloat16, borrowed
	Temporal int            // row of the temporal position embedding: 6 for a conditioning frame, else distance − 1
}

// Pointer is one frame's object pointer with its distance in processed frames.
type Pointer struct {
	Vector   *tensor.Tensor // C float32, borrowed
	Distance float32        // frames, not yet divided by the longest distance of 15
}

// Label says what a point means to the prompt encoder.
type Label int32

const (
	Padding        Label = -1
	Negative       Label = 0
	Positive       Label = 1
	BoxTopLeft     Label = 2
	BoxBottomRight Label = 3
)

// Point is a position in pixels of the model's square, 0…S, not yet shifted by half a pixel.
type Point struct {
	X, Y  float32
	Label Label
}

// Prompt is one object's input to the mask decoder. The zero value is that of a tracked frame without a prompt, but for
// Multimask.
type Prompt struct {
	// Points, box corners first. Empty: the network stands in one padding point, as the reference.
	Points []Point
	// Logits is the previous low-resolution prediction, 4h×4w float32, fed back as a dense prompt; nil for none.
	Logits *tensor.Tensor
	// Mask is a drawn mask, S×S float32 of 0 and 1, that is the answer itself: the network only derives the object pointer
	// from it (use_mask_input_as_output_without_sam). It excludes Points and Logits, and the embedding then is the raw one.
	Mask *tensor.Tensor
	// Multimask asks for three candidates of which the one with the best predicted IoU is returned; otherwise token 0, or
	// the best candidate where token 0 is unstable (dynamic_multimask_via_stability, 0.05 and 0.98).
	Multimask bool
	// Alternatives asks for every mask that was proposed beside the answer. All prompts of a batch ask for it or none; it
	// excludes Mask.
	Alternatives bool
}

// Prediction is the mask decoder's answer for n objects, gated: where the object score is ≤ 0 every logit is −1024 and the
// pointer is the learned no-object pointer.
type Prediction struct {
	Logits       *tensor.Tensor // n×4h×4w float32
	Pointers     *tensor.Tensor // n×C float32
	PredictedIoU []float32      // n
	ObjectScores []float32      // n logits
	Alternatives *Candidates    // all Proposals of each prompt, where the prompts asked for them, else nil
}

// Release gives the tensors back. Nil is ignored.
func (p *Prediction) Release() {
	if p == nil {
		return
	}
	p.Logits.Release()
	p.Pointers.Release()
	p.Alternatives.Release()
}

// Proposals is how many masks the mask decoder proposes for each prompt: the single one, then the three among which Multimask chooses.
const Proposals = 4

// NoObjectLogit is every logit of a mask whose object is absent (NO_OBJ_SCORE).
const NoObjectLogit = -1024
