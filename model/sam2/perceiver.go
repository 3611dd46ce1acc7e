package sam2

import (
	"maskstream/model"
	"maskstream/model/onnx"
)

// perceive is PerceiverResampler (EdgeTAM, modeling/perceiver.py): memories n×hw×M become n×t×M, first the latents that see the
// whole memory, then those of the grid, each of which sees the cells of its own window. Both go through the same layers.
//
// What is seen is the same in every layer but for the scale and shift of its normalisation, so it is normalised once.
func (m module) perceive(c model.Config, x onnx.Value) onnx.Value {
	p, dim := c.Perceiver, c.MemoryDim
	hw, window := c.Cells()*c.Cells(), c.Cells()/c.Perceiver.Grid
	places := m.Const(sinePosition(c.Cells(), dim), hw, dim)
	global := m.Const(m.take("latents", p.Latents, dim), 1, p.Latents, dim)          // 1×L×M, then n×L×M
	grid := m.Const(m.take("latents_2d", p.Grid*p.Grid, dim), 1, p.Grid*p.Grid, dim) // 1×G²×M, then n×G²×M
	seen := m.standardised(x, layerNormEpsilon)                                      // n×hw×M
	windows := m.windows(seen, c.Cells(), p.Grid, window)                            // n×G²×cells×M
	for i := range p.Layers {
		layer := m.in("layers." + itoa(i)).perceiverLayer(dim)
		global = layer.feed(m, layer.ff, layer.seeAll(m, global, seen, places))
		global = layer.feed(m, layer.selfFF, layer.seeEachOther(m, global))
		grid = layer.feed(m, layer.ff, layer.seeWindows(m, grid, windows))
		grid = layer.feed(m, layer.selfFF, layer.seeItself(m, grid))
	}
	m.here()
	rest := m.affineOf("norm", dim)
	all := m.Concat(1, global, grid) // n×t×M
	return m.affine(rest, m.standardised(all, layerNormEpsilon))
}

// windows cuts x n×side²×c into n×grid²×window²×c.
func (m module) windows(x onnx.Value, side, grid, window int) onnx.Value {
	n, c := x.Dim(0), x.Dim(2)
	x = m.Transpose(m.Reshape(x, n, grid, window, grid, window, c), 0, 1, 3, 2, 4, 5)
	return m.Reshape(x, n, grid*grid, window*window, c)
}

// perceiverLayer is PerceiverEncoderLayer with self-attention and one head. Its linear layers have no bias of their own; what
// there is comes from the normalisation before them.
type perceiverLayer struct {
	query, key, value, out      linear // of the latents; of what is seen
	selfQuery, selfKey, selfVal linear
	selfOut                     linear
	ff, selfFF                  feedForward
}

// feedForward is a normalisation and two layers with a GELU between them.
type feedForward struct{ up, down linear }

func (m module) perceiverLayer(dim int) perceiverLayer {
	attn, self := m.in("attn"), m.in("self_attn")
	seen, latents, own := attn.affineOf("norm_x", dim), attn.affineOf("norm_latents", dim), self.affineOf("norm", dim)
	both, selfBoth := attn.unbiased("to_kv", dim, 2*dim).after(seen), self.unbiased("to_kv", dim, 2*dim).after(own)
	return perceiverLayer{
		query:     attn.unbiased("to_q", dim, dim).after(latents).scaled(attentionScale(dim)),
		key:       both.part(0, dim),
		value:     both.part(dim, dim),
		out:       attn.unbiased("to_out", dim, dim),
		selfQuery: self.unbiased("to_q", dim, dim).after(own).scaled(attentionScale(dim)),
		selfKey:   selfBoth.part(0, dim),
		selfVal:   selfBoth.part(dim, dim),
		selfOut:   self.unbiased("to_out", dim, dim),
		ff:        m.in("ff").feedForward(dim),
		selfFF:    m.in("self_ff").feedForward(dim),
	}
}

func (m module) feedForward(dim int) feedForward {
	const wider = 4
	norm := m.affineOf("0", dim)
	return feedForward{m.unbiased("1", dim, wider*dim).after(norm), m.unbiased("3", wider*dim, dim)}
}

// unbiased reads nn.Linear without a bias.
func (m module) unbiased(name string, in, out int) linear {
	return linear{transpose(m.take(name+".weight", out, in), out, in), make([]float32, out), in, out}
}

func (l perceiverLayer) feed(m module, f feedForward, x onnx.Value) onnx.Value {
	y := m.standardised(x, layerNormEpsilon)
	return m.Add(x, m.apply(f.down, m.Gelu(m.apply(f.up, y))))
}

// seeAll is PerceiverAttention of latents …×L×M to what is seen, n×hw×M, whose places are added to keys and values.
func (l perceiverLayer) seeAll(m module, latents, seen, places onnx.Value) onnx.Value {
	q := m.apply(l.query, m.standardised(latents, layerNormEpsilon))
	k, v := m.Add(m.apply(l.key, seen), places), m.Add(m.apply(l.value, seen), places)
	y := m.attend(q, m.Transpose(k, 0, 2, 1), v) // n×L×M
	return m.Add(latents, m.apply(l.out, y))
}

// seeWindows is PerceiverAttention of latents …×G²×M, each to its window's cells, n×G²×cells×M, without places.
func (l perceiverLayer) seeWindows(m module, latents, windows onnx.Value) onnx.Value {
	n, grid, dim := windows.Dim(0), latents.Dim(1), latents.Dim(2)
	q := m.apply(l.query, m.standardised(latents, layerNormEpsilon))
	q = m.Reshape(q, q.Dim(0), grid, 1, dim)
	k, v := m.apply(l.key, windows), m.apply(l.value, windows)
	y := m.attend(q, m.Transpose(k, 0, 1, 3, 2), v) // n×G²×1×M
	return m.Add(latents, m.apply(l.out, m.Reshape(y, n, grid, dim)))
}

// seeEachOther is Attention among latents n×L×M.
func (l perceiverLayer) seeEachOther(m module, latents onnx.Value) onnx.Value {
	x := m.standardised(latents, layerNormEpsilon)
	q, k, v := m.apply(l.selfQuery, x), m.apply(l.selfKey, x), m.apply(l.selfVal, x)
	return m.Add(latents, m.apply(l.selfOut, m.attend(q, m.Transpose(k, 0, 2, 1), v)))
}

// seeItself is Attention of a latent that is alone in its window: it gets its own value, whatever its weight.
func (l perceiverLayer) seeItself(m module, latents onnx.Value) onnx.Value {
	return m.Add(latents, m.apply(l.selfVal.then(l.selfOut), m.standardised(latents, layerNormEpsilon)))
}
