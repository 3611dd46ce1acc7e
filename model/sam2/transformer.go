package sam2

import (
	"fmt"

	"maskstream/model/onnx"
)

// Sizes of the mask decoder's transformer, the same in every configuration (sam2_base.py, _build_sam_heads).
const (
	twoWayDepth     = 2
	twoWayHeads     = 8
	twoWayMLP       = 2048
	twoWayDownscale = 2 // attention between tokens and image is half as wide
)

// twoWayTransformer is TwoWayTransformer (modeling/sam/transformer.py): tokens n×T×C and image n×hw×C look at each other.
// places is hw×C, the image's position.
//
// The tokens are few and the image is large, so nothing is done to the image that can be done to the tokens. Heads are no
// dimension of the image: each token stands once for every head, with the other heads' channels zero, n×8T×C/2 (see
// [module.byHead]); and the image's own projections are applied to the tokens instead, q·(I·W)ᵀ = (q·Wᵀ)·Iᵀ.
func (m module) twoWayTransformer(tokens, image, places onnx.Value) (onnx.Value, onnx.Value) {
	points := tokens // their position is what they were
	for i := range twoWayDepth {
		layer := m.in("layers." + itoa(i))

		// Tokens look at each other; in the first layer they still are their position.
		if i == 0 {
			tokens = layer.in("self_attn").tokenAttention(tokens, tokens)
		} else {
			tokens = m.Add(tokens, layer.in("self_attn").tokenAttention(m.Add(tokens, points), tokens))
		}
		tokens = layer.norm("norm1", tokens, layerNormEpsilon)

		// Tokens look at the image.
		placed := m.Add(image, places) // n×hw×C
		tokens = m.Add(tokens, layer.in("cross_attn_token_to_image").tokensToImage(m.Add(tokens, points), placed, image))
		tokens = layer.norm("norm2", tokens, layerNormEpsilon)

		c := tokens.Dim(-1)
		tokens = m.Add(tokens, layer.in("mlp").mlp(tokens, m.Relu, c, twoWayMLP, c))
		tokens = layer.norm("norm3", tokens, layerNormEpsilon)

		// The image looks at the tokens.
		image = m.Add(image, layer.in("cross_attn_image_to_token").imageToTokens(placed, m.Add(tokens, points), tokens))
		var rest affine
		image, rest = layer.normalised("norm4", image, layerNormEpsilon)
		image = layer.affine(rest, image)
	}
	final := m.in("final_attn_token_to_image")
	tokens = m.Add(tokens, final.tokensToImage(m.Add(tokens, points), m.Add(image, places), image))
	return m.here().norm("norm_final_attn", tokens, layerNormEpsilon), image
}

// byHead lays x n×T×c out as n×8T×c, head by head: the same tokens with the channels of the other heads zero. A product with
// something c wide then is that head's product.
func (m module) byHead(x onnx.Value) onnx.Value {
	n, t, c := x.Dim(0), x.Dim(1), x.Dim(2)
	if c%twoWayHeads != 0 {
		m.Fail(fmt.Errorf("%w: %d heads of %d channels", ErrConfig, twoWayHeads, c))
	}
	each := m.Mul(m.Reshape(x, n, 1, t, c), m.headMask(c)) // n×8×T×c
	return m.Reshape(each, n, m.Symbol("8T"), c)
}

// joinHeads undoes byHead, x n×8T×c → n×T×c: of each head's rows its own channels.
func (m module) joinHeads(x onnx.Value, t int) onnx.Value {
	n, c := x.Dim(0), x.Dim(2)
	each := m.Mul(m.splitHeads(x, t), m.headMask(c))
	return m.Reshape(m.ReduceSum(each, 1), n, t, c)
}

// splitHeads makes n×8×T×c of n×8T×c.
func (m module) splitHeads(x onnx.Value, t int) onnx.Value {
	return m.Reshape(x, x.Dim(0), twoWayHeads, t, x.Dim(2))
}

// headMask is 8×1×c: one on a head's own channels.
func (m module) headMask(c int) onnx.Value {
	mask := make([]float32, twoWayHeads*c)
	for head := range twoWayHeads {
		for i := range c / twoWayHeads {
			mask[head*c+head*c/twoWayHeads+i] = 1
		}
	}
	return m.Const(mask, twoWayHeads, 1, c)
}

// tokenAttention is Attention among tokens n×T×C.
func (m module) tokenAttention(placed, tokens onnx.Value) onnx.Value {
	c, t := tokens.Dim(2), tokens.Dim(1)
	q := m.byHead(m.apply(m.linear("q_proj", c, c).scaled(attentionScale(c/twoWayHeads)), placed)) // n×8T×C
	k := m.apply(m.linear("k_proj", c, c), placed)
	v := m.apply(m.linear("v_proj", c, c), tokens)
	scores := m.MatMul(q, m.Transpose(k, 0, 2, 1)) // n×8T×T
	return m.apply(m.linear("out_proj", c, c), m.joinHeads(m.MatMul(m.Softmax(scores), v), t))
}

// tokensToImage is Attention with tokens as queries. A key's bias adds the same to all scores of a query and goes.
func (m module) tokensToImage(tokens, placed, image onnx.Value) onnx.Value {
	c, t := tokens.Dim(2), tokens.Dim(1)
	inner := c / twoWayDownscale
	q := m.byHead(m.apply(m.linear("q_proj", c, inner).scaled(attentionScale(inner/twoWayHeads)), tokens)) // n×8T×C/2
	key, value := m.linear("k_proj", c, inner), m.linear("v_proj", c, inner)
	q = m.MatMul(q, m.Const(transpose(key.weight, c, inner), inner, c)) // n×8T×C
	scores := m.MatMul(q, m.Transpose(placed, 0, 2, 1))                 // n×8T×hw
	seen := m.MatMul(m.Softmax(scores), image)                          // n×8T×C
	return m.apply(m.linear("out_proj", inner, c), m.joinHeads(m.apply(value, seen), t))
}

// imageToTokens is Attention with the image as queries. The heads' results are summed by the last product, so the output
// layer is applied to the tokens; each of the heads brings its share of the bias.
func (m module) imageToTokens(placed, placedTokens, tokens onnx.Value) onnx.Value {
	n, hw, c, t := placed.Dim(0), placed.Dim(1), placed.Dim(2), tokens.Dim(1)
	inner := c / twoWayDownscale
	query := m.linear("q_proj", c, inner).scaled(attentionScale(inner / twoWayHeads))
	k := m.byHead(m.apply(m.linear("k_proj", c, inner), placedTokens)) // n×8T×C/2
	v := m.byHead(m.apply(m.linear("v_proj", c, inner), tokens))       // n×8T×C/2
	out := m.linear("out_proj", inner, c)
	out.bias = scale(out.bias, 1./twoWayHeads)
	v = m.apply(out, v) // n×8T×C

	all := k.Dim(1)
	kT := m.Transpose(m.MatMul(k, m.Const(transpose(query.weight, c, inner), inner, c)), 0, 2, 1) // n×C×8T
	bias := m.Transpose(m.MatMul(k, m.Const(query.bias, inner, 1)), 0, 2, 1)                      // n×1×8T
	scores := m.Add(m.MatMul(placed, kT), bias)                                                   // n×hw×8T
	weights := m.Reshape(m.Softmax(m.Reshape(scores, n, hw, twoWayHeads, t)), n, hw, all)         // n×hw×8T
	return m.MatMul(weights, m.Assume(v, n, all, c))
}
