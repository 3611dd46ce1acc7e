package sam2

import (
	"maskstream/model"
	"maskstream/model/onnx"
)

// memoryEncoder builds the graph that turns n masks on a frame into memories (modeling/memory_encoder.py, and sam2_base.py,
// _encode_new_memory).
//
//	embedding 1×C×h×w, logits n×4h×4w, scores n, binarize n of 0 or 1
//	→ memory n×t×M bfloat16, t = hw without a perceiver
func memoryEncoder(g *onnx.Graph, w Weights, c model.Config) {
	m := module{Graph: g, weights: w}
	n, side, dim, low := g.Symbol("n"), c.Cells(), c.EmbedDim, c.LowRes()
	hw := side * side
	embedding := g.Input("embedding", onnx.Float, 1, dim, side, side)
	logits := g.Input("logits", onnx.Float, n, low, low)
	scores := g.Input("scores", onnx.Float, n)
	binarize := g.Input("binarize", onnx.Float, n)

	m.Module("mask")
	mask := m.ResizeLinear(m.Reshape(logits, n, 1, low, low), 4) // n×1×S×S
	hard := m.Cast(m.Greater(mask, m.Scalar(0)), onnx.Float)
	mask = m.Where(m.Greater(m.Reshape(binarize, n, 1, 1, 1), m.Scalar(0)), hard, m.Sigmoid(mask))
	mask = m.Add(m.Mul(mask, m.Scalar(c.SigmoidScaleForMemEnc)), m.Scalar(c.SigmoidBiasForMemEnc))

	encoder := m.in("memory_encoder")
	x := encoder.in("mask_downsampler").downsample(c, mask) // n×hw×C
	image := m.Transpose(m.Reshape(embedding, 1, dim, hw), 0, 2, 1)
	x = m.Add(x, encoder.apply(encoder.here().pointwise("pix_feat_proj", dim, dim), image))
	for i := range c.MemoryEncoder.FuserLayers {
		x = encoder.in("fuser.layers."+itoa(i)).convNeXt(c, x)
	}
	if c.MemoryDim != dim {
		x = encoder.apply(encoder.here().pointwise("out_proj", dim, c.MemoryDim), x) // n×hw×M
	}
	if c.NoObjEmbedSpatial {
		m.here()
		present := m.Reshape(m.Greater(scores, m.Scalar(0)), n, 1, 1)
		x = m.Add(x, m.Where(present, m.Scalar(0), m.weight("no_obj_embed_spatial", 1, c.MemoryDim)))
	}
	if c.Perceiver.Layers > 0 {
		x = m.in("spatial_perceiver").perceive(c, x) // n×t×M
	}
	g.Output("memory", m.Cast(x, onnx.BFloat16))
}

// downsample is MaskDownSampler: n×1×S×S to n×hw×C in four halvings, each with four times the channels.
func (m module) downsample(c model.Config, x onnx.Value) onnx.Value {
	m = m.in("encoder")
	channels, layer := 1, 0
	for x.Dim(2) > c.Cells() {
		channels *= 4
		x = m.conv(itoa(layer), x, channels, onnx.Window{Kernel: 3, Stride: 2, Pad: 1}, 1)
		x = m.Transpose(x, 0, 2, 3, 1)
		side := x.Dim(1)
		y, rest := m.normalised(itoa(layer+1), x, norm2dEpsilon) // n×H×W×channels
		// A row of pixels at once: over a few channels at a time this takes longer than the convolution.
		y = m.Gelu(m.affine(rest.repeated(side), m.Reshape(y, y.Dim(0), side, side*channels)))
		x = m.Reshape(y, y.Dim(0), side, side, channels)
		if layer += 3; x.Dim(1) > c.Cells() {
			x = m.Transpose(x, 0, 3, 1, 2)
			continue
		}
		x = m.Reshape(x, x.Dim(0), c.Cells()*c.Cells(), channels)
		return m.apply(m.pointwise(itoa(layer), channels, c.EmbedDim), x)
	}
	return x
}

// convNeXt is CXBlock on x n×hw×C; the layer scale is part of the last linear layer.
func (m module) convNeXt(c model.Config, x onnx.Value) onnx.Value {
	n, side, dim := x.Dim(0), c.Cells(), c.EmbedDim
	y := m.Reshape(m.Transpose(x, 0, 2, 1), n, dim, side, side)
	y = m.conv("dwconv", y, dim, onnx.Window{Kernel: 7, Stride: 1, Pad: 3}, dim)
	y, rest := m.normalised("norm", m.Transpose(m.Reshape(y, n, dim, side*side), 0, 2, 1), norm2dEpsilon) // n×hw×C
	y = m.Gelu(m.apply(m.linear("pwconv1", dim, 4*dim).after(rest), y))
	out, gamma := m.linear("pwconv2", 4*dim, dim), m.take("gamma", dim)
	for i := range out.weight {
		out.weight[i] *= gamma[i%dim]
	}
	for i := range out.bias {
		out.bias[i] *= gamma[i]
	}
	return m.Add(x, m.apply(out, y))
}
