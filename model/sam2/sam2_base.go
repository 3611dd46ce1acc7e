package sam2

import (
	"maskstream/model"
	"maskstream/model/onnx"
)

// What the reference's predictors switch on for every video (sam2_base.py; mask_decoder.py, dynamic_multimask_via_stability).
const (
	stabilityDelta     = 0.05
	stabilityThreshold = 0.98
)

// A drawn mask becomes logits of ±10 (sam2_base.py, _use_mask_as_output).
const (
	maskScale = 20
	maskBias  = -10
)

// maskDecoder builds the graph of _forward_sam_heads (modeling/sam2_base.py): prompt encoder, mask decoder, choice of the mask,
// and what becomes of an absent object.
//
//	embedding e×C×h×w with e = n or 1 for all; no_memory 1, 1 where the no-memory embedding is to be added, else 0
//	high_res_0 1×C/8×4h×4w, high_res_1 1×C/4×2h×2w
//	points n×P×2 in pixels, labels n×P, P ≥ 1
//	dense d×4h×4w logits, dense_row n: 0 for no dense prompt, else 1 + its place in dense
//	multimask n, 1 where the best of three candidates is wanted
//	visible n, 0 where a drawn mask is empty, else 1
//	→ logits n×4h×4w and pointers n×C, gated; ious n, scores n; all_logits n×4×4h×4w and all_ious n×4, as they were predicted;
//	  all_pointers n×4×C, gated
func maskDecoder(g *onnx.Graph, w Weights, c model.Config) {
	m := module{Graph: g, weights: w}
	n, side, dim, low := g.Symbol("n"), c.Cells(), c.EmbedDim, c.LowRes()
	hw, p := side*side, g.Symbol("P")
	embedding := g.Input("embedding", onnx.Float, g.Symbol("e"), dim, side, side)
	noMemory := g.Input("no_memory", onnx.Float, 1)
	highRes0 := g.Input("high_res_0", onnx.Float, 1, dim/8, 4*side, 4*side)
	highRes1 := g.Input("high_res_1", onnx.Float, 1, dim/4, 2*side, 2*side)
	points := g.Input("points", onnx.Float, n, p, 2)
	labels := g.Input("labels", onnx.Int64, n, p)
	dense := g.Input("dense", onnx.Float, g.Symbol("d"), low, low)
	denseRow := g.Input("dense_row", onnx.Int64, n)
	multimask := g.Input("multimask", onnx.Float, n)
	visible := g.Input("visible", onnx.Float, n)

	prompt := m.in("sam_prompt_encoder")
	frequencies := prompt.take("pe_layer.positional_encoding_gaussian_matrix", 2, dim/2)
	sparse := prompt.embedPoints(c, frequencies, points, labels) // n×(P+1)×C
	ground := prompt.embedMasks(c, dense)                        // (1+d)×hw×C
	ground = m.Add(ground, m.Mul(noMemory, m.here().weight("no_mem_embed", 1, 1, dim)))
	ground = m.Gather(ground, denseRow) // n×hw×C
	image := m.Transpose(m.Reshape(embedding, embedding.Dim(0), dim, hw), 0, 2, 1)
	image = m.Add(ground, m.Assume(image, 1, hw, dim)) // n×hw×C

	places := m.Const(randomPosition(frequencies, side), hw, dim)
	d := m.in("sam_mask_decoder").predictMasks(c, image, places, sparse, highRes0, highRes1)

	m.Module("choice")
	wanted := m.Greater(m.Reshape(multimask, n, 1), m.Scalar(0)) // n×1
	chosen := m.chooseMask(d, wanted)                            // n×1
	logits, iou := m.Pick(d.masks, chosen), m.Pick(d.ious, chosen)
	token, tokens := m.Ints(0), d.tokens
	if c.MultimaskTokenForPtr {
		token = m.Where(wanted, chosen, token) // an unstable single mask is replaced, but not its token
	} else {
		token = m.Expand(m.Reshape(token, 1, 1), wanted)
		tokens = m.Expand(m.Slice(tokens, 1, 0, 1), tokens)
	}

	head := m.pointerHead(c)
	pointer, pointers := head(m.Pick(d.tokens, token)), head(tokens) // n×C, n×4×C
	m.Module("gate")
	if c.PredObjScores {
		present := m.Greater(d.score, m.Scalar(0)) // n×1
		logits = m.Where(m.Reshape(present, n, 1, 1), logits, m.Scalar(model.NoObjectLogit))
		absent := m.weight("no_obj_ptr", 1, dim)
		amount := m.Cast(present, onnx.Float)
		if c.SoftNoObjPtr {
			amount = m.Sigmoid(d.score)
		}
		pointer = m.gatePointer(c, pointer, absent, amount)
		pointer = m.gatePointer(c, pointer, absent, m.Reshape(visible, n, 1))
		pointers = m.gatePointer(c, pointers, absent, m.Reshape(amount, n, 1, 1))
		pointers = m.gatePointer(c, pointers, absent, m.Reshape(visible, n, 1, 1))
	}
	g.Output("logits", logits)
	g.Output("ious", iou)
	g.Output("scores", m.Reshape(d.score, n))
	g.Output("pointers", pointer)
	g.Output("all_logits", d.masks)
	g.Output("all_ious", d.ious)
	g.Output("all_pointers", pointers)
}

// chooseMask is the place of the wanted mask, n×1: the best of masks 1 to 3 by predicted IoU where several are wanted or where
// mask 0 is not stable, else mask 0. A mask is stable when nearly as much of it lies above +delta as above −delta.
func (m module) chooseMask(d decoded, several onnx.Value) onnx.Value {
	n := d.masks.Dim(0)
	best := m.Add(m.ArgMax(m.Slice(d.ious, 1, 1, maskTokens), 1), m.Ints(1)) // n×1

	pixels := d.masks.Dim(2) * d.masks.Dim(3)
	single := m.Reshape(m.Slice(d.masks, 1, 0, 1), n, pixels)
	area := func(threshold float32) onnx.Value { // n×1
		return m.ReduceSum(m.Cast(m.Greater(single, m.Scalar(threshold)), onnx.Float), 1)
	}
	inner, outer := area(stabilityDelta), area(-stabilityDelta)
	one := m.Scalar(1)
	something := m.Greater(outer, m.Scalar(0))
	stability := m.Where(something, m.Div(inner, m.Where(something, outer, one)), one)
	stable := m.GreaterOrEqual(stability, m.Scalar(stabilityThreshold))
	return m.Where(several, best, m.Where(stable, m.Ints(0), best))
}

// pointerHead is obj_ptr_proj, for any number of tokens …×C.
func (m module) pointerHead(c model.Config) func(tokens onnx.Value) onnx.Value {
	if c.MLPForObjPtrProj {
		m = m.in("obj_ptr_proj")
		layers := m.layers(c.EmbedDim, c.EmbedDim, c.EmbedDim, c.EmbedDim)
		return func(tokens onnx.Value) onnx.Value { return m.perceptron(layers, m.Relu, tokens) }
	}
	only := m.linear("obj_ptr_proj", c.EmbedDim, c.EmbedDim)
	return func(tokens onnx.Value) onnx.Value { return m.apply(only, tokens) }
}

// gatePointer moves pointers …×C to the learned one of an absent object by 1 − amount, …×1.
func (m module) gatePointer(c model.Config, pointer, absent, amount onnx.Value) onnx.Value {
	if c.FixedNoObjPtr {
		pointer = m.Mul(amount, pointer)
	}
	return m.Add(pointer, m.Mul(m.Sub(m.Scalar(1), amount), absent))
}

// maskPrompt builds the graph of what _use_mask_as_output (modeling/sam2_base.py) does beside the mask decoder.
//
//	mask n×S×S of 0 and 1
//	→ dense n×4h×4w, the dense prompt from which the decoder makes a pointer; logits n×4h×4w; visible n, 0 for an empty mask
func maskPrompt(g *onnx.Graph, w Weights, c model.Config) {
	m := module{Graph: g, weights: w}
	n, size, low := g.Symbol("n"), c.ImageSize, c.LowRes()
	mask := g.Input("mask", onnx.Float, n, size, size)

	m.Module("mask")
	dense := m.conv("mask_downsample", m.Reshape(mask, n, 1, size, size), 1, onnx.Window{Kernel: 4, Stride: 4}, 1)
	g.Output("dense", m.Reshape(dense, n, low, low))

	shrink := shrinkBy4(low)
	small := m.MatMul(m.MatMul(m.Const(shrink, low, size), mask), m.Const(transpose(shrink, low, size), size, low))
	g.Output("logits", m.Add(m.Mul(small, m.Scalar(maskScale)), m.Scalar(maskBias)))

	some := m.Greater(m.ReduceMax(m.Reshape(mask, n, size*size), 1), m.Scalar(0))
	g.Output("visible", m.Reshape(m.Cast(some, onnx.Float), n))
}
