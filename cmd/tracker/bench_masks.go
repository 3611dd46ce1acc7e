package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"maskstream/frames"
	"maskstream/model/amg"
	"maskstream/rle"
	"maskstream/tensor"
)

// benchBytes is bytes to normalised float32 at the model's size, where nothing is resampled, in turn with the route through
// float64. All 256 values are the same.
func benchBytes(context.Context) (trial, error) {
	const size = 256
	picture := &frames.Picture{Width: size, Height: size, Format: frames.RGB24, Planes: [3][]byte{make([]byte, 3*size*size)}, Strides: [3]int{3 * size}}
	for i := range picture.Planes[0] {
		picture.Planes[0][i] = byte(i / 3)
	}
	picture.Own(nil)
	converter := frames.NewConverter(size, tensor.NewPool("video", tensor.Host(), 0))
	red := make([]float32, size*size)
	t := trial{work: map[string]any{"size": [2]int{size, size}}}
	t.run = func() error {
		frame, err := converter.Convert(picture)
		if err != nil {
			return err
		}
		defer frame.Release()
		copy(red, frame.Pixels.Float32s())
		return nil
	}
	t.plain = func() error {
		mean, deviation := [3]float32{0.485, 0.456, 0.406}, [3]float32{0.229, 0.224, 0.225}
		for channel := range 3 {
			for i := range size * size {
				v := (float32(float64(picture.Planes[0][3*i+channel])/255) - mean[channel]) / deviation[channel]
				if channel == 0 && v != red[i] {
					return fmt.Errorf("byte %d is %v, and %v through float64", picture.Planes[0][3*i], red[i], v)
				}
			}
		}
		return nil
	}
	return t, nil
}

// benchTransfer brings the ragged points of 64 prompts to another home, takes them apart and pads them: packed, in turn with one
// copy a part and a count that is read back.
func benchTransfer(context.Context) (trial, error) {
	const parts = 64
	home, there := tensor.NewPool("home", tensor.Host(), 0), tensor.NewPool("there", tensor.Host(), 0)
	points, labels, counts := make([][]float32, parts), make([][]int64, parts), make([]int64, parts)
	for i := range parts {
		counts[i] = int64(i * 5 % 8) // 0…7
		points[i], labels[i] = make([]float32, 2*counts[i]), make([]int64, counts[i])
	}
	packed, err := tensor.Collate(home, tensor.RowsOf(2, points), tensor.RowsOf(1, labels))
	if err != nil {
		return trial{}, err
	}
	ragged, err := raggedParts(home, points, labels, counts)
	if err != nil {
		packed.Release()
		return trial{}, err
	}
	t := trial{work: map[string]any{"objects": parts}}
	t.close = func() {
		packed.Release()
		ragged.release()
	}
	buffers := map[string]any{}
	counted := func(name string, run func() error) func() error {
		return func() error {
			before := there.Stats().Moves + home.Stats().Moves
			err := run()
			buffers[name] = there.Stats().Moves + home.Stats().Moves - before
			return err
		}
	}
	t.run = counted("buffers", func() error { return movePacked(packed, there) })
	t.plain = counted("plain_buffers", func() error { return ragged.move(home, there) })
	t.after = func() map[string]any { return buffers }
	return t, nil
}

func movePacked(r *tensor.Ragged, there *tensor.Pool) error {
	moved, err := r.To(there)
	if err != nil {
		return err
	}
	defer moved.Release()
	at, err := tensor.Pad[float32](moved, 0, 1, 0, 0)
	if err != nil {
		return err
	}
	defer at.Release()
	meaning, err := tensor.Pad(moved, 1, 1, int64(-1))
	meaning.Release()
	return err
}

// parts is a batch that nobody has packed.
type parts struct{ points, labels, counts []*tensor.Tensor }

func raggedParts(pool *tensor.Pool, points [][]float32, labels [][]int64, counts []int64) (p parts, err error) {
	one := func(r tensor.Rows) *tensor.Tensor {
		packed, failed := tensor.Collate(pool, r)
		if err = errors.Join(err, failed); failed != nil {
			return nil
		}
		defer packed.Release()
		return packed.Fields[0].Parts[0].Retain()
	}
	for i := range points {
		p.points = append(p.points, one(tensor.RowsOf(2, points[i:i+1])))
		p.labels = append(p.labels, one(tensor.RowsOf(1, labels[i:i+1])))
	}
	p.counts = append(p.counts, one(tensor.RowsOf(1, [][]int64{counts})))
	return p, err
}

func (p parts) release() {
	for _, list := range [][]*tensor.Tensor{p.points, p.labels, p.counts} {
		for _, t := range list {
			t.Release()
		}
	}
}

// move copies part by part, reads the counts back, and pads by them.
func (p parts) move(home, there *tensor.Pool) error {
	var held []*tensor.Tensor
	defer func() {
		for _, t := range held {
			t.Release()
		}
	}()
	to := func(t *tensor.Tensor, pool *tensor.Pool) (*tensor.Tensor, error) {
		moved, err := t.To(pool)
		if err == nil {
			held = append(held, moved)
		}
		return moved, err
	}
	counts, err := to(p.counts[0], there)
	if err != nil {
		return err
	}
	if counts, err = to(counts, home); err != nil {
		return err
	}
	longest := 1
	for _, n := range counts.Int64s() {
		longest = max(longest, int(n))
	}
	points, err := there.New(tensor.Float32, len(p.points), longest, 2)
	if err != nil {
		return err
	}
	held = append(held, points)
	labels, err := there.New(tensor.Int64, len(p.labels), longest, 1)
	if err != nil {
		return err
	}
	held = append(held, labels)
	clear(points.Float32s())
	for i := range labels.Int64s() {
		labels.Int64s()[i] = -1
	}
	for i := range p.points {
		at, err := to(p.points[i], there)
		if err != nil {
			return err
		}
		meaning, err := to(p.labels[i], there)
		if err != nil {
			return err
		}
		copy(points.Float32s()[2*i*longest:], at.Float32s())
		copy(labels.Int64s()[i*longest:], meaning.Int64s())
	}
	return nil
}

// benchMaps are n different maps like that of benchLogits.
func benchMaps(n int) [][]float32 {
	base := benchLogits()
	maps := make([][]float32, n)
	for i := range maps {
		maps[i] = make([]float32, len(base))
		for at, v := range base {
			maps[i][at] = v + float32(4*math.Sin(float64(i)))
		}
	}
	return maps
}

// benchDecode is the way of many masks from low-resolution logits to runs, chunk by chunk, in turn with all of them on full-size
// canvases at once. It counts every byte that is allocated on the way, which is no less than their peak.
func benchDecode(size benchSize) (trial, error) {
	const low = 256
	maps := benchMaps(size.masks)
	var masks []rle.Mask
	allocated := map[string]any{}
	t := trial{few: true, work: map[string]any{"masks": size.masks, "size": [2]int{size.canvasH, size.canvasW}, "chunk": rle.ChunkMasks}}
	t.run = counting(allocated, "allocated_bytes", func() error {
		var chunks rle.Chunks
		masks = chunks.Encode(0, maps, low, low, size.canvasH, size.canvasW)
		return nil
	})
	t.plain = counting(allocated, "plain_allocated_bytes", func() error {
		pixels := size.canvasH * size.canvasW
		canvas, bits := make([]float32, size.masks*pixels), make([]byte, size.masks*pixels)
		for i, m := range maps {
			amg.Interpolate(canvas[i*pixels:][:pixels], m, low, low, size.canvasH, size.canvasW)
		}
		for i, v := range canvas {
			if v > 0 {
				bits[i] = 1
			}
		}
		for i := range maps {
			if !rle.Equal(masks[i], rle.FromBits(size.canvasH, size.canvasW, bits[i*pixels:][:pixels])) {
				return fmt.Errorf("mask %d differs from that of the full canvas", i)
			}
		}
		return nil
	})
	t.after = func() map[string]any { return allocated }
	return t, nil
}

// counting keeps the bytes that a run allocates.
func counting(into map[string]any, name string, run func() error) func() error {
	return func() error {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := run()
		runtime.ReadMemStats(&after)
		into[name] = after.TotalAlloc - before.TotalAlloc
		return err
	}
}

// benchBoundaries is one sparse chunk of masks that leaves in one piece, in turn with mask by mask.
func benchBoundaries(size benchSize) (trial, error) {
	const low = 256
	maps := benchMaps(rle.ChunkMasks)
	var together, single rle.Chunks
	copies := map[string]any{}
	t := trial{work: map[string]any{"masks": len(maps), "size": [2]int{size.canvasH, size.canvasW}, "crossover_pairs": rle.SparsePairs}}
	t.run = func() error {
		together = rle.Chunks{}
		together.Encode(0, maps, low, low, size.canvasH, size.canvasW)
		copies["copies"] = together.Moved.Copies
		return nil
	}
	t.plain = func() error {
		single = rle.Chunks{}
		for i := range maps {
			single.Encode(0, maps[i:i+1], low, low, size.canvasH, size.canvasW)
		}
		copies["plain_copies"] = single.Moved.Copies
		return nil
	}
	t.after = func() map[string]any { return copies }
	return t, nil
}
