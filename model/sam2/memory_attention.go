package sam2

import (
	"maskstream/model"
	"maskstream/model/onnx"
)

const layerNormEpsilon = 1e-5 // nn.LayerNorm's own

// memoryAttention builds the graph that conditions a frame on n objects' memories (modeling/memory_attention.py, and the
// laying out of tokens in modeling/sam2_base.py, _prepare_memory_conditioned_features).
//
//	embedding 1×C×h×w
//	memory n×K×hw×M bfloat16, temporal n×K rows of the temporal embedding
//	pointers n×P×C, distances n×P in frames
//	→ conditioned n×C×h×w
//
// K and P may be 0, not both. Everything that does not depend on the object, up to the first layer's queries, is computed once.
func memoryAttention(g *onnx.Graph, w Weights, c model.Config) {
	m := module{Graph: g, weights: w}
	side := c.Cells()
	hw := side * side
	n := g.Symbol("n")

	embedding := g.Input("embedding", onnx.Float, 1, c.EmbedDim, side, side)
	tokens := m.memoryTokens(c, n)

	m = m.in("memory_attention")
	x := m.Transpose(m.Reshape(embedding, 1, c.EmbedDim, hw), 0, 2, 1) // 1×hw×C
	position := sinePosition(side, c.EmbedDim)
	at := memoryPlaces{query: m.Const(position, hw, c.EmbedDim), start: m.Ints(0)}
	if c.MemoryAttention.PosEncAtInput {
		x = m.Add(x, m.Const(scale(position, 0.1), hw, c.EmbedDim))
	}
	cos, sin := rotary(side, c.EmbedDim, float64(c.MemoryAttention.RopeTheta))
	half := c.EmbedDim / 2
	at.cos, at.sin = m.Const(cos[:hw*half], hw, half), m.Const(sin[:hw*half], hw, half)
	at.tokenCos = m.Gather(m.Const(cos, hw+1, half), tokens.cells) // T×C/2
	at.tokenSin = m.Gather(m.Const(sin, hw+1, half), tokens.cells)

	for i := range c.MemoryAttention.Layers {
		x = m.in("layers."+itoa(i)).memoryAttentionLayer(c, x, tokens, at)
	}
	x, rest := m.here().normalised("norm", x, layerNormEpsilon)
	x = m.affine(rest, x) // n×hw×C
	g.Output("conditioned", m.Reshape(m.Transpose(x, 0, 2, 1), n, c.EmbedDim, side, side))
}

// memoryTokens are the T = K·hw + P·C/M tokens that a frame attends to.
type memoryTokens struct {
	keys   onnx.Value // n×T×M, with position
	values onnx.Value // n×T×M, without
	cells  onnx.Value // T int64: the cell each stands on, hw for the pointers
}

// memoryPlaces is where queries and tokens stand.
type memoryPlaces struct {
	query              onnx.Value // hw×C sine position
	start              onnx.Value // 0: the rotations below begin with the first cell or token
	cos, sin           onnx.Value // hw×C/2 rotation of the cells
	tokenCos, tokenSin onnx.Value // T×C/2 rotation of the tokens
}

// memoryTokens lays out spatial memories and then pointers, each cut into C/M tokens.
func (m module) memoryTokens(c model.Config, n int) memoryTokens {
	hw, width, pieces := c.Cells()*c.Cells(), c.MemoryDim, c.PointerTokens()
	k, p := m.Symbol("K"), m.Symbol("P")
	memory := m.Input("memory", onnx.BFloat16, n, k, hw, width)
	temporal := m.Input("temporal", onnx.Int64, n, k)
	pointers := m.Input("pointers", onnx.Float, n, p, c.EmbedDim)
	distances := m.Input("distances", onnx.Float, n, p)
	spatial, split, all := m.Symbol("K·hw"), m.Symbol("P·C/M"), m.Symbol("T")

	// Where a memory's cells are in space and in time: all rows of the temporal embedding are added to the sine ahead.
	rows := m.take("maskmem_tpos_enc", c.NumMaskmem, 1, 1, width)
	sine := sinePosition(c.Cells(), width)
	places := make([]float32, 0, c.NumMaskmem*hw*width)
	for row := range c.NumMaskmem {
		for i, v := range sine {
			places = append(places, v+rows[row*width+i%width])
		}
	}
	values := m.Cast(memory, onnx.Float) // n×K×hw×M
	keys := values
	if c.MemoryAttention.PosEncAtCrossAttnKeys {
		keys = m.Add(values, m.Gather(m.Const(places, c.NumMaskmem, hw, width), temporal))
	}

	pointerKeys := m.pointerKeys(c, pointers, distances)
	if !c.MemoryAttention.PosEncAtCrossAttnKeys {
		pointerKeys = pointers
	}
	return memoryTokens{
		keys:   m.ConcatTo(1, all, m.Reshape(keys, n, spatial, width), m.Reshape(pointerKeys, n, split, width)),
		values: m.ConcatTo(1, all, m.Reshape(values, n, spatial, width), m.Reshape(pointers, n, split, width)),
		cells:  m.tokenCells(all, temporal, distances, hw, pieces),
	}
}

// pointerKeys adds to pointers n×P×C what their distance in time says, the same for each piece of a pointer.
func (m module) pointerKeys(c model.Config, pointers, distances onnx.Value) onnx.Value {
	if !c.ObjPtrTemporalEncoding {
		return pointers
	}
	n, p, pieces := pointers.Dim(0), pointers.Dim(1), c.PointerTokens()
	longest := float32(c.MaxObjPtrsInEncoder - 1)
	t := m.Div(m.Reshape(distances, n, p, 1), m.Scalar(longest)) // n×P×1
	var place onnx.Value                                         // n×P×M
	if c.ProjectObjPtrTemporal {
		project := m.linear("obj_ptr_tpos_proj", c.EmbedDim, c.MemoryDim)
		place = m.apply(project, m.sinePosition1D(t, c.EmbedDim))
	} else {
		place = m.sinePosition1D(t, c.MemoryDim)
	}
	split := m.Reshape(pointers, n, p, pieces, c.MemoryDim)
	return m.Add(split, m.Reshape(place, n, p, 1, c.MemoryDim))
}

// tokenCells numbers the tokens by their cell: 0…hw−1 for each of K memories, then hw for every piece of P pointers.
func (m module) tokenCells(size int, temporal, distances onnx.Value, hw, pieces int) onnx.Value {
	cells, none := make([]int, hw), make([]int, pieces)
	for i := range cells {
		cells[i] = i
	}
	for i := range none {
		none[i] = hw
	}
	spread := func(row []int, like onnx.Value) onnx.Value { // like n×R → R·len(row)
		each := m.Transpose(m.Slice(like, 0, 0, 1, 1), 1, 0) // R×1
		all := m.Expand(m.Reshape(m.Ints(row...), 1, len(row)), each)
		return m.Reshape(all, m.Symbol("R·row"))
	}
	return m.ConcatTo(0, size, spread(cells, temporal), spread(none, distances))
}

// memoryAttentionLayer is MemoryAttentionLayer on x, 1×hw×C while it is the same for all objects, then n×hw×C.
func (m module) memoryAttentionLayer(c model.Config, x onnx.Value, tokens memoryTokens, at memoryPlaces) onnx.Value {
	y, rest := m.normalised("norm1", x, layerNormEpsilon)
	x = m.Add(x, m.in("self_attn").rotarySelfAttention(c, y, rest, at))

	y, rest = m.here().normalised("norm2", x, layerNormEpsilon)
	x = m.Add(x, m.in("cross_attn_image").rotaryCrossAttention(c, y, rest, tokens, at))

	y, rest = m.here().normalised("norm3", x, layerNormEpsilon)
	y = m.Relu(m.apply(m.linear("linear1", c.EmbedDim, c.MemoryAttention.DimFeedforward).after(rest), y))
	return m.Add(x, m.apply(m.linear("linear2", c.MemoryAttention.DimFeedforward, c.EmbedDim), y))
}

// rotarySelfAttention is RoPEAttention with x …×hw×C, before the rest of its normalisation, as queries, keys and values. It has
// one head, whose weights sum to one in each row, so the output layer is applied to the values beforehand.
func (m module) rotarySelfAttention(c model.Config, x onnx.Value, rest affine, at memoryPlaces) onnx.Value {
	dim, order := c.EmbedDim, rotaryOrder(c.EmbedDim)
	query := m.linear("q_proj", dim, dim).columns(order).scaled(attentionScale(dim))
	key := m.linear("k_proj", dim, dim).columns(order)
	value := m.linear("v_proj", dim, dim).then(m.linear("out_proj", dim, dim)).after(rest)
	placed := x
	if c.MemoryAttention.PosEncAtAttn {
		placed = m.Add(m.affine(rest, x), at.query)
	} else {
		query, key = query.after(rest), key.after(rest)
	}
	q := m.RotaryEmbedding(m.apply(query, placed), at.start, at.cos, at.sin)
	k := m.RotaryEmbedding(m.apply(key, placed), at.start, at.cos, at.sin)
	return m.attend(q, m.Transpose(k, 0, 2, 1), m.apply(value, x))
}

// rotaryCrossAttention is RoPEAttention from x …×hw×C, before the rest of its normalisation, to the memory tokens. Rows of the
// attention sum to one and there is one head, so softmax(q·kᵀ)·(M·Wv + b)·Wo is softmax(q·kᵀ)·M times Wv·Wo, plus b·Wo: the
// large product stays M wide.
func (m module) rotaryCrossAttention(c model.Config, x onnx.Value, rest affine, tokens memoryTokens, at memoryPlaces) onnx.Value {
	dim, order := c.EmbedDim, rotaryOrder(c.EmbedDim)
	query := m.linear("q_proj", dim, dim).columns(order).scaled(attentionScale(dim))
	if c.MemoryAttention.PosEncAtCrossAttnQueries {
		x = m.Add(m.affine(rest, x), at.query)
	} else {
		query = query.after(rest)
	}
	q := m.RotaryEmbedding(m.apply(query, x), at.start, at.cos, at.sin)
	k := m.apply(m.linear("k_proj", c.MemoryDim, dim).columns(order), tokens.keys) // n×T×C
	k = m.RotaryEmbedding(k, at.start, at.tokenCos, at.tokenSin)
	y := m.attend(q, m.Transpose(k, 0, 2, 1), tokens.values) // n×hw×M
	return m.apply(m.linear("v_proj", c.MemoryDim, dim).then(m.linear("out_proj", dim, dim)), y)
}
