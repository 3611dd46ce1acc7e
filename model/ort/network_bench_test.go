package ort

import (
	"fmt"
	"testing"
	"time"

	"maskstream/model"
	"maskstream/model/checkpoint"
	"maskstream/model/nano"
	"maskstream/model/sam2"
	"maskstream/tensor"
)

// BenchmarkNano times each part of the built-in model with 1, 4 and 16 objects, whose memory banks are full.
func BenchmarkNano(b *testing.B) {
	for _, options := range []Options{{Threads: 1}, {Threads: 2}, {Threads: 2, Spin: true}} {
		weights, config, err := sam2.Load(nano.Name, "")
		if err != nil {
			b.Fatal(err)
		}
		pool := tensor.NewPool("benchmark", tensor.Host(), 0)
		options.Pool = pool
		network, err := Load(config, checkpoint.NewWeights(weights), options)
		if err != nil {
			b.Fatalf("%v (`make setup` installs ONNX Runtime)", err)
		}
		b.Run(fmt.Sprintf("threads=%d,spin=%t", options.Threads, options.Spin), func(b *testing.B) { benchmark(b, network, pool) })
		network.Close()
		weights.Close()
	}
}

// timed runs f under b, and reports beside the mean the fastest run, which a busy machine disturbs least.
func timed(b *testing.B, f func() error) {
	fastest := time.Hour
	for b.Loop() {
		start := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		fastest = min(fastest, time.Since(start))
	}
	b.ReportMetric(float64(fastest.Microseconds())/1000, "fastest-ms/op")
}

// benchmark times the four verbs of a network on noise.
func benchmark(b *testing.B, network *Network, pool *tensor.Pool) {
	config := network.Config()
	must := func(t *tensor.Tensor, err error) *tensor.Tensor {
		if err != nil {
			b.Fatal(err)
		}
		return t
	}
	pixels := must(pool.New(tensor.Float32, 1, 3, config.ImageSize, config.ImageSize))
	defer pixels.Release()
	fillWithNoise(pixels.Float32s())
	features, err := network.EncodeImage(pixels)
	if err != nil {
		b.Fatal(err)
	}
	defer features.Release()
	b.Run("EncodeImage", func(b *testing.B) {
		timed(b, func() error {
			f, err := network.EncodeImage(pixels)
			f.Release()
			return err
		})
	})
	for _, n := range []int{1, 4, 16} {
		prompts, scores, binarize := make([]model.Prompt, n), make([]float32, n), make([]bool, n)
		for i := range n {
			prompts[i].Multimask, scores[i] = true, 1
		}
		first, err := network.DecodeMasks(features, nil, prompts)
		if err != nil {
			b.Fatal(err)
		}
		memory := must(network.EncodeMemory(features, first.Logits, scores, binarize))
		attentions := make([]model.Attention, n)
		var views []*tensor.Tensor
		for i := range attentions {
			m, p := memory.Index(i), first.Pointers.Index(i)
			views = append(views, m, p)
			for k := range config.NumMaskmem {
				attentions[i].Memories = append(attentions[i].Memories, model.SpatialMemory{Features: m, Temporal: k})
			}
			for k := range config.MaxObjPtrsInEncoder {
				attentions[i].Pointers = append(attentions[i].Pointers, model.Pointer{Vector: p, Distance: float32(k)})
			}
		}
		embedding := must(network.AttendMemory(features, attentions))
		b.Run(fmt.Sprintf("AttendMemory/objects=%d", n), func(b *testing.B) {
			timed(b, func() error {
				t, err := network.AttendMemory(features, attentions)
				t.Release()
				return err
			})
		})
		b.Run(fmt.Sprintf("DecodeMasks/objects=%d", n), func(b *testing.B) {
			timed(b, func() error {
				p, err := network.DecodeMasks(features, embedding, prompts)
				p.Release()
				return err
			})
		})
		b.Run(fmt.Sprintf("EncodeMemory/objects=%d", n), func(b *testing.B) {
			timed(b, func() error {
				t, err := network.EncodeMemory(features, first.Logits, scores, binarize)
				t.Release()
				return err
			})
		})
		for _, v := range append(views, embedding, memory) {
			v.Release()
		}
		first.Release()
	}
}
