package sam2

import (
	"slices"

	"maskstream/model"
	"maskstream/model/onnx"
)

// imageEncoder builds the graph of forward_image (modeling/sam2_base.py): the trunk, the feature pyramid
// (modeling/backbones/image_encoder.py, FpnNeck) and the mask decoder's convolutions of the two finer levels, which do not
// depend on the prompt.
//
//	pixels 1×3×S×S → embedding 1×C×h×w, high_res_0 1×C/8×4h×4w, high_res_1 1×C/4×2h×2w
func imageEncoder(g *onnx.Graph, w Weights, c model.Config) {
	m := module{Graph: g, weights: w}
	pixels := g.Input("pixels", onnx.Float, 1, 3, c.ImageSize, c.ImageSize)
	trunk := m.in("image_encoder.trunk")
	var maps []onnx.Value // side×side×channels, fine to coarse
	if c.RepViT.Name != "" {
		maps = trunk.repvit(c.RepViT, pixels)
	} else {
		maps = trunk.hiera(c.Trunk, pixels)
	}

	neck := m.in("image_encoder.neck")
	lateral := func(level int) linear { // weights are numbered from coarse to fine
		i := len(maps) - 1 - level
		return neck.pointwise("convs."+itoa(i)+".conv", c.Neck.BackboneChannels[i], c.EmbedDim)
	}
	coarsest := neck.apply(lateral(3), maps[3]) // h/2×w/2×C, dropped in the end (scalp)
	embedding := neck.apply(lateral(2), maps[2])
	if slices.Contains(c.Neck.TopDownLevels, 2) {
		embedding = neck.addEnlarged(embedding, coarsest)
	}
	g.Output("embedding", neck.channelsFirst(embedding))

	decoder := m.in("sam_mask_decoder")
	for level := range 2 { // these see nothing of the coarser levels, so each is two linear layers without anything between
		narrow := decoder.pointwise("conv_s"+itoa(level), c.EmbedDim, c.EmbedDim>>(3-level))
		x := decoder.apply(lateral(level).then(narrow), maps[level])
		g.Output("high_res_"+itoa(level), decoder.channelsFirst(x))
	}
}

// addEnlarged adds to x 2s×2s×c every pixel of coarse s×s×c four times (nearest neighbour).
func (m module) addEnlarged(x, coarse onnx.Value) onnx.Value {
	side, c := coarse.Dim(0), coarse.Dim(2)
	sum := m.Add(m.Reshape(x, side, 2, side, 2, c), m.Reshape(coarse, side, 1, side, 1, c))
	return m.Reshape(sum, 2*side, 2*side, c)
}

// channelsFirst makes 1×c×side×side of side×side×c.
func (m module) channelsFirst(x onnx.Value) onnx.Value {
	return m.Reshape(m.Transpose(x, 2, 0, 1), 1, x.Dim(2), x.Dim(0), x.Dim(1))
}
