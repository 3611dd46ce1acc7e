package sam2

import (
	"maskstream/model"
	"maskstream/model/onnx"
)

const (
	maskTokens = 4   // one for a single mask, three for candidates
	iouHidden  = 256 // iou_head_hidden_dim
)

// decoded is what MaskDecoder.predict_masks returns, before a mask is chosen.
type decoded struct {
	masks  onnx.Value // n×4×4h×4w logits
	ious   onnx.Value // n×4
	tokens onnx.Value // n×4×C, one a mask
	score  onnx.Value // n×1 logit that there is an object
}

// predictMasks is MaskDecoder.predict_masks (modeling/sam/mask_decoder.py): image n×hw×C with its position hw×C, prompts n×P×C,
// and the finer levels of the feature pyramid, 1×C/8×4h×4w and 1×C/4×2h×2w.
func (m module) predictMasks(c model.Config, image, places, prompts, highRes0, highRes1 onnx.Value) decoded {
	n, dim := image.Dim(0), c.EmbedDim
	var own []float32 // the tokens that ask: is there an object, how good are the masks, the masks
	first := 0
	if c.PredObjScores {
		own, first = m.take("obj_score_token.weight", 1, dim), 1
	}
	own = append(own, m.take("iou_token.weight", 1, dim)...)
	own = append(own, m.take("mask_tokens.weight", maskTokens, dim)...)
	count := len(own) / dim
	each := m.Slice(m.Slice(prompts, 1, 0, 1), 2, 0, 1) // n×1×1, for its n
	tokens := m.ConcatTo(1, m.Symbol("T"), m.Expand(m.Const(own, 1, count, dim), each), prompts)

	tokens, image = m.in("transformer").twoWayTransformer(tokens, image, places)

	out := decoded{tokens: m.Slice(tokens, 1, first+1, first+1+maskTokens)}
	token := func(i int) onnx.Value { return m.Reshape(m.Slice(tokens, 1, i, i+1), n, dim) }
	var kernels []onnx.Value
	for i := range maskTokens {
		kernel := m.in("output_hypernetworks_mlps."+itoa(i)).mlp(token(first+1+i), m.Relu, dim, dim, dim, dim/8)
		kernels = append(kernels, m.Reshape(kernel, n, 1, dim/8))
	}
	out.masks = m.in("output_upscaling").upscale(c, image, m.Concat(1, kernels...), highRes0, highRes1)

	out.ious = m.in("iou_prediction_head").mlp(token(first), m.Relu, dim, iouHidden, iouHidden, maskTokens)
	if c.IoUPredictionSigmoid {
		out.ious = m.Sigmoid(out.ious)
	}
	switch {
	case !c.PredObjScores: // taken to be there
		out.score = m.Expand(m.Const([]float32{10}, 1, 1), m.Slice(out.ious, 1, 0, 1))
	case c.PredObjScoresMLP:
		out.score = m.in("pred_obj_score_head").mlp(token(0), m.Relu, dim, dim, dim, 1)
	default:
		out.score = m.apply(m.linear("pred_obj_score_head", dim, 1), token(0))
	}
	return out
}

// upscale is output_upscaling with the finer levels added, and the product with one kernel a mask, n×4×C/8: n×4×4h×4w.
//
// A transposed convolution that steps as far as it reaches is a linear layer from one pixel to four. What follows acts on
// each pixel by itself, so pixels stay in the order in which they arise, cell,half×quarter, and only the masks are laid out.
func (m module) upscale(c model.Config, image, kernels, highRes0, highRes1 onnx.Value) onnx.Value {
	n, side, dim := image.Dim(0), c.Cells(), c.EmbedDim
	hw, mid, fine := side*side, dim/4, dim/8
	// Channels go last first, so that the pixels are then moved whole.
	level1 := m.Reshape(m.Transpose(m.Reshape(highRes1, mid, hw*4), 1, 0), side, 2, side, 2, mid)
	level1 = m.Reshape(m.Transpose(level1, 0, 2, 1, 3, 4), hw*4, mid)
	level0 := m.Reshape(m.Transpose(m.Reshape(highRes0, fine, hw*16), 1, 0), side, 2, 2, side, 2, 2, fine)
	level0 = m.Reshape(m.Transpose(level0, 0, 3, 1, 4, 2, 5, 6), hw*16, fine)

	x := m.Reshape(m.apply(m.spread("0", dim, mid), image), n, hw*4, mid)
	x, rest := m.normalised("1", m.Add(x, level1), norm2dEpsilon)
	x = m.Gelu(m.affine(rest, x))
	x = m.Reshape(m.apply(m.spread("3", mid, fine), x), n, hw*16, fine)
	x = m.Gelu(m.Add(x, level0)) // n×16hw×C/8

	masks := m.MatMul(kernels, m.Transpose(x, 0, 2, 1)) // n×4×16hw
	masks = m.Reshape(masks, n, maskTokens, side, side, 2, 2, 2, 2)
	masks = m.Transpose(masks, 0, 1, 2, 4, 6, 3, 5, 7)
	return m.Reshape(masks, n, maskTokens, 4*side, 4*side)
}

// spread reads a 2×2 nn.ConvTranspose2d of stride 2 as a linear layer to four pixels, row by row, with their channels.
func (m module) spread(name string, in, out int) linear {
	const pixels = 4
	w := m.take(name+".weight", in, out, 2, 2)
	bias := m.take(name+".bias", out)
	l := linear{weight: make([]float32, in*pixels*out), in: in, out: pixels * out}
	for i := range in {
		for o := range out {
			for p := range pixels {
				l.weight[(i*pixels+p)*out+o] = w[(i*out+o)*pixels+p]
			}
		}
	}
	for range pixels {
		l.bias = append(l.bias, bias...)
	}
	return l
}
