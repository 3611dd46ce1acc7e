package sam2

import (
	"slices"

	"maskstream/model"
	"maskstream/model/onnx"
)

const layerNormEpsilon = 1e-5 // nn.LayerNorm's own

// memoryQueries builds the graph of what memory attention (modeling/memory_attention.py) does before an object's memories come
// in: the first layer's self-attention and its queries, once a frame for all objects.
//
//	embedding 1×C×h×w → current 1×hw×C, queries 1×hw×C
func memoryQueries(g *onnx.Graph, w Weights, c model.Config) {
	m := module{Graph: g, weights: w}.in("memory_attention")
	side, hw := c.Cells(), c.Cells()*c.Cells()
	embedding := g.Input("embedding", onnx.Float, 1, c.EmbedDim, side, side)
	x := m.Transpose(m.Reshape(embedding, 1, c.EmbedDim, hw), 0, 2, 1) // 1×hw×C
	if c.MemoryAttention.PosEncAtInput {
		x = m.Add(x, m.Const(scale(sinePosition(side, c.EmbedDim), 0.1), hw, c.EmbedDim))
	}
	x, queries := m.in("layers.0").queries(c, x, m.cells(c))
	g.Output("current", x)
	g.Output("queries", queries)
}

// memoryAttention builds the graph that conditions a frame on n objects' memories (modeling/memory_attention.py, and the
// laying out of tokens in modeling/sam2_base.py, _prepare_memory_conditioned_features).
//
//	current 1×hw×C, queries 1×hw×C, of memoryQueries
//	memory n×K×t×M bfloat16, temporal n×K rows of the temporal embedding
//	pointers n×P×C, distances n×P in frames
//	→ conditioned n×C×h×w
//
// K and P may be 0, not both.
func memoryAttention(g *onnx.Graph, w Weights, c model.Config) {
	m := module{Graph: g, weights: w}
	n, side, hw := g.Symbol("n"), c.Cells(), c.Cells()*c.Cells()
	x := g.Input("current", onnx.Float, 1, hw, c.EmbedDim)
	queries := g.Input("queries", onnx.Float, 1, hw, c.EmbedDim)
	tokens := m.memoryTokens(c, n)
	at := m.cells(c)

	m = m.in("memory_attention")
	for i := range c.MemoryAttention.Layers {
		layer := m.in("layers." + itoa(i))
		if i > 0 {
			x, queries = layer.queries(c, x, at)
		}
		x = layer.answers(c, x, queries, tokens)
	}
	x, rest := m.here().normalised("norm", x, layerNormEpsilon)
	x = m.affine(rest, x) // n×hw×C
	g.Output("conditioned", m.Reshape(m.Transpose(x, 0, 2, 1), n, c.EmbedDim, side, side))
}

// memoryCells is where the cells of the current frame stand.
type memoryCells struct {
	position onnx.Value // hw×C sine position
	turn     rotation   // of hw cells
}

func (m module) cells(c model.Config) memoryCells {
	hw, half := c.Cells()*c.Cells(), c.EmbedDim/2
	cos, sin := rotary(c.Cells(), c.EmbedDim, float64(c.MemoryAttention.RopeTheta))
	return memoryCells{
		position: m.Const(sinePosition(c.Cells(), c.EmbedDim), hw, c.EmbedDim),
		turn:     rotation{m.Const(cos[:hw*half], hw, half), m.Const(sin[:hw*half], hw, half)},
	}
}

// rotation is rotary position embedding for t tokens in order: cosines and sines, t×C/2.
type rotation struct{ cos, sin onnx.Value }

// rotate turns x …×t×C, whose channels are in rotaryOrder.
func (m module) rotate(x onnx.Value, r rotation) onnx.Value {
	return m.RotaryEmbedding(x, r.cos, r.sin)
}

// memoryTokens are the T = K·t + P·C/M tokens that a frame attends to.
type memoryTokens struct {
	keys   onnx.Value // n×T×M, with position
	values onnx.Value // n×T×M, without
	turn   rotation   // of T tokens; pointers are not turned
}

// memoryTokens lays out spatial memories and then pointers, each cut into C/M tokens.
func (m module) memoryTokens(c model.Config, n int) memoryTokens {
	each, width, pieces := c.MemoryTokens(), c.MemoryDim, c.PointerTokens()
	k, p := m.Symbol("K"), m.Symbol("P")
	memory := m.Input("memory", onnx.BFloat16, n, k, each, width)
	temporal := m.Input("temporal", onnx.Int64, n, k)
	pointers := m.Input("pointers", onnx.Float, n, p, c.EmbedDim)
	distances := m.Input("distances", onnx.Float, n, p)
	spatial, split, all := m.Symbol("K·t"), m.Symbol("P·C/M"), m.Symbol("T")

	// Where a memory's tokens are in space and in time: all rows of the temporal embedding are added to the sine ahead.
	rows := m.take("maskmem_tpos_enc", c.NumMaskmem, 1, 1, width)
	layout := layoutOf(c)
	places := make([]float32, 0, c.NumMaskmem*each*width)
	for row := range c.NumMaskmem {
		for i, v := range layout.sine {
			places = append(places, v+rows[row*width+i%width])
		}
	}
	values := m.Cast(memory, onnx.Float) // n×K×t×M
	keys := values
	if c.MemoryAttention.PosEncAtCrossAttnKeys {
		keys = m.Add(values, m.Gather(m.Const(places, c.NumMaskmem, each, width), temporal))
	}

	pointerKeys := m.pointerKeys(c, pointers, distances)
	if !c.MemoryAttention.PosEncAtCrossAttnKeys {
		pointerKeys = pointers
	}
	cos, sin := rotary(layout.side, c.EmbedDim, float64(c.MemoryAttention.RopeTheta))
	angles := layout.side*layout.side + 1
	cells := m.tokenCells(all, temporal, distances, layout, pieces)
	return memoryTokens{
		keys:   m.ConcatTo(1, all, m.Reshape(keys, n, spatial, width), m.Reshape(pointerKeys, n, split, width)),
		values: m.ConcatTo(1, all, m.Reshape(values, n, spatial, width), m.Reshape(pointers, n, split, width)),
		turn:   rotation{m.Gather(m.Const(cos, angles, c.EmbedDim/2), cells), m.Gather(m.Const(sin, angles, c.EmbedDim/2), cells)},
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

// memoryLayout is where the t tokens of one memory stand: on a grid, or nowhere.
type memoryLayout struct {
	side  int       // of the grid
	cells []int     // cell of each token, side² for one that stands nowhere
	sine  []float32 // t×M sine position
}

// layoutOf is every cell in its place, or, with a perceiver, the latents that see all and then those of its grid. The grid
// counts its own cells, one step apart (RoPEAttentionv2, EdgeTAM's modeling/sam/transformer.py).
func layoutOf(c model.Config) memoryLayout {
	l := memoryLayout{side: c.Cells()}
	if p := c.Perceiver; p.Layers > 0 {
		l.side = p.Grid
		l.cells = slices.Repeat([]int{p.Grid * p.Grid}, p.Latents)
		l.sine = make([]float32, p.Latents*c.MemoryDim)
	}
	for cell := range l.side * l.side {
		l.cells = append(l.cells, cell)
	}
	l.sine = append(l.sine, sinePosition(l.side, c.MemoryDim)...)
	return l
}

// tokenCells numbers the tokens by their cell: those of the layout for each of K memories, then nowhere for every piece of P
// pointers.
func (m module) tokenCells(size int, temporal, distances onnx.Value, layout memoryLayout, pieces int) onnx.Value {
	none := slices.Repeat([]int{layout.side * layout.side}, pieces)
	spread := func(row []int, like onnx.Value) onnx.Value { // like n×R → R·len(row)
		each := m.Transpose(m.Slice(like, 0, 0, 1), 1, 0) // R×1
		all := m.Expand(m.Reshape(m.Ints(row...), 1, len(row)), each)
		return m.Reshape(all, m.Symbol("R·row"))
	}
	return m.ConcatTo(0, size, spread(layout.cells, temporal), spread(none, distances))
}

// queries is the first half of MemoryAttentionLayer: x …×hw×C after self-attention, and the queries for its memories.
func (m module) queries(c model.Config, x onnx.Value, at memoryCells) (onnx.Value, onnx.Value) {
	y, rest := m.normalised("norm1", x, layerNormEpsilon)
	x = m.Add(x, m.in("self_attn").rotarySelfAttention(c, y, rest, at))

	y, rest = m.here().normalised("norm2", x, layerNormEpsilon)
	dim := c.EmbedDim
	cross := m.in("cross_attn_image")
	query := cross.linear("q_proj", dim, dim).columns(rotaryOrder(dim)).scaled(attentionScale(dim))
	if c.MemoryAttention.PosEncAtCrossAttnQueries {
		y = cross.Add(cross.affine(rest, y), at.position)
	} else {
		query = query.after(rest)
	}
	return x, cross.rotate(cross.apply(query, y), at.turn)
}

// answers is the second half of MemoryAttentionLayer: x …×hw×C after attention to the memories and the feed-forward layers,
// n×hw×C.
func (m module) answers(c model.Config, x, queries onnx.Value, tokens memoryTokens) onnx.Value {
	x = m.Add(x, m.in("cross_attn_image").rotaryCrossAttention(c, queries, tokens))

	y, rest := m.here().normalised("norm3", x, layerNormEpsilon)
	y = m.Relu(m.apply(m.linear("linear1", c.EmbedDim, c.MemoryAttention.DimFeedforward).after(rest), y))
	return m.Add(x, m.apply(m.linear("linear2", c.MemoryAttention.DimFeedforward, c.EmbedDim), y))
}

// rotarySelfAttention is RoPEAttention with x …×hw×C, before the rest of its normalisation, as queries, keys and values. It has
// one head, whose weights sum to one in each row, so the output layer is applied to the values beforehand.
func (m module) rotarySelfAttention(c model.Config, x onnx.Value, rest affine, at memoryCells) onnx.Value {
	dim, order := c.EmbedDim, rotaryOrder(c.EmbedDim)
	query := m.linear("q_proj", dim, dim).columns(order).scaled(attentionScale(dim))
	key := m.linear("k_proj", dim, dim).columns(order)
	value := m.linear("v_proj", dim, dim).then(m.linear("out_proj", dim, dim)).after(rest)
	placed := x
	if c.MemoryAttention.PosEncAtAttn {
		placed = m.Add(m.affine(rest, x), at.position)
	} else {
		query, key = query.after(rest), key.after(rest)
	}
	q, k := m.rotate(m.apply(query, placed), at.turn), m.rotate(m.apply(key, placed), at.turn)
	return m.attend(q, m.Transpose(k, 0, 2, 1), m.apply(value, x))
}

// rotaryCrossAttention is RoPEAttention from queries …×hw×C to the memory tokens. Rows of the attention sum to one and there is
// one head, so softmax(q·kᵀ)·(M·Wv + b)·Wo is softmax(q·kᵀ)·M times Wv·Wo, plus b·Wo: the large product stays M wide.
func (m module) rotaryCrossAttention(c model.Config, queries onnx.Value, tokens memoryTokens) onnx.Value {
	dim := c.EmbedDim
	k := m.apply(m.linear("k_proj", c.MemoryDim, dim).columns(rotaryOrder(dim)), tokens.keys) // n×T×C
	k = m.rotate(k, tokens.turn)
	y := m.attend(queries, m.Transpose(k, 0, 2, 1), tokens.values) // n×hw×M
	return m.apply(m.linear("v_proj", c.MemoryDim, dim).then(m.linear("out_proj", dim, dim)), y)
}
