package sam2

import (
	"math"

	"maskstream/model"
	"maskstream/model/onnx"
)

// batchNormEpsilon is nn.BatchNorm2d's own.
const batchNormEpsilon = 1e-5

// repvit writes EdgeTAM's trunk (modeling/backbones/timm.py; timm's models/repvit.py, RepVit): pixels 1×3×S×S become the maps of
// the four stages, H×W×channels, from stride 4 to stride 32.
func (m module) repvit(r model.RepViT, pixels onnx.Value) []onnx.Value {
	m = m.in("body")
	stem, width := m.in("stem"), r.Widths[0]
	x := m.Gelu(stem.convolve(stem.convNorm("conv1", 3, width/2, 3), pixels, 2, 1))
	x = stem.convolve(stem.convNorm("conv2", width/2, width, 3), x, 2, 1) // 1×width×S/4×S/4

	var maps []onnx.Value
	for stage, width := range r.Widths {
		m := m.in("stages_" + itoa(stage))
		if stage > 0 {
			x = m.in("downsample").repvitDownsample(x, width)
		}
		for i := range r.Depths[stage] {
			x = m.in("blocks."+itoa(i)).repvitBlock(x, i%2 == 0)
		}
		side := x.Dim(2)
		maps = append(maps, m.Reshape(m.Transpose(x, 0, 2, 3, 1), side, side, width))
	}
	return maps
}

// repvitBlock is RepViTBlock on x 1×c×H×W.
func (m module) repvitBlock(x onnx.Value, squeezed bool) onnx.Value {
	c := x.Dim(1)
	x = m.convolve(m.tokenMixer(c), x, 1, c)
	if squeezed {
		x = m.in("se").squeezeExcite(x)
	}
	return m.Add(x, m.in("channel_mixer").channelMixer(x))
}

// tokenMixer is RepVggDw: a 3×3 kernel a channel, a 1×1 kernel a channel and what comes in, summed. They are one 3×3 kernel.
func (m module) tokenMixer(c int) kernel {
	m = m.in("token_mixer")
	k, one := m.convNorm("conv", 1, c, 3), m.convNorm("conv1", 1, c, 1)
	const area, centre = 9, 4
	for i := range c {
		k.weight[area*i+centre] += one.weight[i] + 1
		k.bias[i] += one.bias[i]
	}
	return k
}

// squeezeExcite is timm's SEModule: each channel is weighed by what all channels are on average.
func (m module) squeezeExcite(x onnx.Value) onnx.Value {
	c, pixels := x.Dim(1), x.Dim(2)*x.Dim(3)
	narrow := max(8, (c/4+4)/8*8) // make_divisible of a quarter
	y := m.Reshape(m.ReduceMean(m.Reshape(x, c, pixels), 1), 1, c)
	y = m.Relu(m.apply(m.pointwise("fc1", c, narrow), y))
	y = m.Sigmoid(m.apply(m.pointwise("fc2", narrow, c), y))
	return m.Mul(x, m.Reshape(y, 1, c, 1, 1))
}

// channelMixer is RepVitMlp, twice as wide inside.
func (m module) channelMixer(x onnx.Value) onnx.Value {
	c := x.Dim(1)
	y := m.Gelu(m.convolve(m.convNorm("conv1", c, 2*c, 1), x, 1, 1))
	return m.convolve(m.convNorm("conv2", 2*c, c, 1), y, 1, 1)
}

// repvitDownsample is RepVitDownsample: x 1×c×H×W to 1×out×H/2×W/2.
func (m module) repvitDownsample(x onnx.Value, out int) onnx.Value {
	c := x.Dim(1)
	x = m.in("pre_block").repvitBlock(x, false)
	m.here()
	x = m.convolve(m.convNorm("spatial_downsample", 1, c, 3), x, 2, c)
	x = m.convolve(m.convNorm("channel_downsample", c, out, 1), x, 1, 1)
	return m.Add(x, m.in("ffn").channelMixer(x))
}

// kernel is a convolution while a graph is built: weight out×in×side×side.
type kernel struct {
	weight, bias  []float64
	out, in, side int
}

// convNorm reads timm's ConvNorm, a convolution without bias and its batch normalisation, as the one convolution that it is
// after training. in counts the channels of a group.
func (m module) convNorm(name string, in, out, side int) kernel {
	weight := m.take(name+".c.weight", out, in, side, side)
	gain, shift := m.take(name+".bn.weight", out), m.take(name+".bn.bias", out)
	mean, variance := m.take(name+".bn.running_mean", out), m.take(name+".bn.running_var", out)
	k := kernel{make([]float64, len(weight)), make([]float64, out), out, in, side}
	size := in * side * side
	for o := range out {
		factor := float64(gain[o]) / math.Sqrt(float64(variance[o])+batchNormEpsilon)
		for i := o * size; i < (o+1)*size; i++ {
			k.weight[i] = float64(weight[i]) * factor
		}
		k.bias[o] = float64(shift[o]) - float64(mean[o])*factor
	}
	return k
}

// convolve runs a kernel over x, padded so that a step of 1 keeps the size.
func (m module) convolve(k kernel, x onnx.Value, stride, groups int) onnx.Value {
	window := onnx.Window{Kernel: k.side, Stride: stride, Pad: k.side / 2}
	weight := m.Const(narrow(k.weight), k.out, k.in, k.side, k.side)
	return m.Conv(x, weight, m.Const(narrow(k.bias), k.out), window, groups)
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
