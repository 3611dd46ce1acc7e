package sam2

import (
	"fmt"
	"slices"

	"maskstream/model"
	"maskstream/model/onnx"
)

const hieraEpsilon = 1e-6 // of every LayerNorm in the trunk

// hiera writes the trunk (modeling/backbones/hieradet.py, Hiera): pixels 1×3×S×S become the maps of the four stages,
// H×W×channels, from stride 4 to stride 32.
func (m module) hiera(t model.Trunk, pixels onnx.Value) []onnx.Value {
	dim, heads := t.EmbedDim, t.NumHeads
	x := m.in("patch_embed").conv("proj", pixels, dim, onnx.Window{Kernel: 7, Stride: 4, Pad: 3}, 1) // 1×dim×H×W
	side := x.Dim(2)
	x = m.Reshape(m.Transpose(x, 0, 2, 3, 1), side, side, dim) // H×W×dim
	x = m.Add(x, m.Const(m.here().hieraPosition(t, side), side, side, dim))

	var maps []onnx.Value
	index := 0
	for stage, blocks := range t.Stages {
		for i := range blocks {
			b := hieraBlock{dim: dim, out: dim, heads: heads, window: t.WindowSpec[stage]}
			if i == 0 && stage > 0 { // the first block of a stage still has the windows of the one before
				b.out, b.heads, b.window, b.pool = 2*dim, 2*heads, t.WindowSpec[stage-1], stage <= t.QPool
			}
			if slices.Contains(t.GlobalAttBlocks, index) {
				b.window = 0
			}
			x = b.write(m.in("blocks."+itoa(index)), x)
			dim, heads = b.out, b.heads
			index++
		}
		maps = append(maps, x)
	}
	return maps
}

// hieraPosition is the windowed position embedding (Hiera._get_pos_embed), side×side×channels: a small picture enlarged plus
// a window repeated. It is a constant because inference engines take minutes to fold it.
func (m module) hieraPosition(t model.Trunk, side int) []float32 {
	window, dim := t.WindowSpec[0], t.EmbedDim
	if side%window != 0 {
		m.Fail(fmt.Errorf("%w: position windows of %d on %d patches", ErrConfig, window, side))
	}
	rows, columns := t.PosEmbedBkgSize[0], t.PosEmbedBkgSize[1]
	background := bicubic(m.take("pos_embed", 1, dim, rows, columns), dim, rows, columns, side)
	tile := m.take("pos_embed_window", 1, dim, window, window)
	out := make([]float32, side*side*dim)
	for c := range dim {
		for y := range side {
			for x := range side {
				out[(y*side+x)*dim+c] = background[(c*side+y)*side+x] + tile[(c*window+y%window)*window+x%window]
			}
		}
	}
	return out
}

// hieraBlock is MultiScaleBlock with MultiScaleAttention.
type hieraBlock struct {
	dim, out int  // channels in and out
	heads    int  // of out/heads channels
	window   int  // side of the attention windows, 0 for the whole map
	pool     bool // queries are pooled 2×2, halving the map
}

func (b hieraBlock) write(m module, x onnx.Value) onnx.Value {
	shortcut := x // H×W×dim
	y, rest := m.normalised("norm1", x, hieraEpsilon)
	if b.dim != b.out {
		shortcut = m.apply(m.linear("proj", b.dim, b.out).after(rest), y)
		if b.pool {
			shortcut = m.pool(shortcut) // H/2×W/2×out
		}
	}
	x = m.Add(shortcut, b.attention(m.in("attn"), y, rest, shortcut.Dim(0)))

	y, rest = m.here().normalised("norm2", x, hieraEpsilon)
	mlp := m.in("mlp")
	y = mlp.Gelu(mlp.apply(mlp.linear("layers.0", b.out, 4*b.out).after(rest), y))
	return m.Add(x, mlp.apply(mlp.linear("layers.1", 4*b.out, b.out), y))
}

// attention runs over windows of x, H×H×dim before the rest of its normalisation; the result has the given side.
func (b hieraBlock) attention(m module, x onnx.Value, rest affine, side int) onnx.Value {
	qkv := m.linear("qkv", b.dim, 3*b.out)
	window := b.window
	switch {
	case window == 0:
		window = x.Dim(0)
		qkv = qkv.after(rest)
	case x.Dim(0)%window == 0:
		qkv = qkv.after(rest)
	default: // the windows are padded with zeros in between
		x = m.affine(rest, x)
	}
	x = m.partition(x, window) // windows×w×w×dim
	n, tokens, head := x.Dim(0), window*window, b.out/b.heads

	q := m.apply(qkv.part(0, b.out).scaled(attentionScale(head)), x) // windows×w×w×out
	if b.pool {
		q, window = m.pool(q), window/2
	}
	queries := window * window
	k, v := m.apply(qkv.part(b.out, b.out), x), m.apply(qkv.part(2*b.out, b.out), x)
	split := func(x onnx.Value, tokens int) onnx.Value { // windows×heads×tokens×head
		if b.heads == 1 {
			return m.Reshape(x, n, 1, tokens, head)
		}
		return m.Transpose(m.Reshape(x, n, tokens, b.heads, head), 0, 2, 1, 3)
	}
	y := m.attend(split(q, queries), m.Transpose(split(k, tokens), 0, 1, 3, 2), split(v, tokens))
	if b.heads > 1 {
		y = m.Transpose(y, 0, 2, 1, 3) // windows×queries×heads×head
	}
	y = m.apply(m.linear("proj", b.out, b.out), m.Reshape(y, n, window, window, b.out))
	return m.unpartition(y, side) // side×side×out
}

// partition cuts x H×H×c into windows×w×w×c, with zeros beyond the edge where w does not divide H.
func (m module) partition(x onnx.Value, w int) onnx.Value {
	side, c := x.Dim(0), x.Dim(2)
	if w == side {
		return m.Reshape(x, 1, w, w, c)
	}
	if pad := (w - side%w) % w; pad > 0 {
		x = m.PadEnd(x, pad, pad, 0)
		side += pad
	}
	x = m.Reshape(x, side/w, w, side/w, w, c)
	return m.Reshape(m.Transpose(x, 0, 2, 1, 3, 4), side/w*(side/w), w, w, c)
}

// unpartition puts windows×w×w×c back together and cuts what was beyond the edge: side×side×c.
func (m module) unpartition(x onnx.Value, side int) onnx.Value {
	w, c := x.Dim(1), x.Dim(3)
	if w == side {
		return m.Reshape(x, side, side, c)
	}
	across := (side + w - 1) / w
	x = m.Transpose(m.Reshape(x, across, across, w, w, c), 0, 2, 1, 3, 4)
	x = m.Reshape(x, across*w, across*w, c)
	if across*w > side {
		x = m.Slice(m.Slice(x, 0, 0, side), 1, 0, side)
	}
	return x
}

// pool takes the greatest of every 2×2 of x …×H×W×c, row pairs first: channels stay last, nothing is transposed.
func (m module) pool(x onnx.Value) onnx.Value {
	shape := slices.Clone(x.Shape())
	r := len(shape)
	h, w, c := shape[r-3], shape[r-2], shape[r-1]
	outer := 1
	for _, d := range shape[:r-3] {
		outer *= d
	}
	x = m.ReduceMax(m.Reshape(x, outer*h/2, 2, w*c), 1)
	x = m.ReduceMax(m.Reshape(x, outer*h/2*w/2, 2, c), 1)
	shape[r-3], shape[r-2] = h/2, w/2
	return m.Reshape(x, shape...)
}
