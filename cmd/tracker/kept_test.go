package main

import (
	"testing"

	"maskstream/frames"
	"maskstream/memory"
	"maskstream/model/ort"
	"maskstream/propagate"
	"maskstream/rle"
	"maskstream/tensor"
)

// TestMasksOfKeptFramesAreAsGoodAsThoseOfLiveOnes tracks the scene on frames as they come and, all the way, on frames as they are
// kept, which are rounded to bytes.
func TestMasksOfKeptFramesAreAsGoodAsThoseOfLiveOnes(t *testing.T) {
	const length = 40
	pool := tensor.NewPool("network", tensor.Host(), 0)
	network, err := openModel("nano", "", 1, pool)
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	scene := newHeldScene(t)
	live := trackScene(t, network, pool, scene, frames.Limits{}, length)
	kept := trackScene(t, network, pool, scene, frames.Limits{Compact: true}, length)
	var alike, liveRight, keptRight float64 // sums of IoU: with each other, and with the truth
	n := 0.
	iou := func(a, b rle.Mask) float64 {
		v, err := rle.IoU(a, b)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for i := range live {
		for k, mask := range live[i] {
			truth := scene.scene.Mask(i, []int{1, 3}[k])
			if truth.Area() == 0 {
				continue
			}
			n++
			alike += iou(mask, kept[i][k])
			liveRight += iou(mask, truth)
			keptRight += iou(kept[i][k], truth)
		}
	}
	t.Logf("%v masks: IoU with each other %.4f; with the truth %.4f on live frames, %.4f on kept ones", n, alike/n, liveRight/n, keptRight/n)
	if n < length || alike/n < 0.99 || keptRight/n < liveRight/n-0.005 {
		t.Error("masks of kept frames are worse")
	}
	tensor.NoLeaks(t, pool)
}

// trackScene follows two objects of the scene over frames that have been kept.
func trackScene(t *testing.T, network *ort.Network, pool *tensor.Pool, scene *heldScene, limits frames.Limits, length int) (all [][]rle.Mask) {
	store := frames.NewStore(limits, pool)
	defer store.Clear()
	tracker := propagate.New(network, propagate.Options{FillHoleArea: 8, CorrectAsConditioning: true})
	defer tracker.Close()
	converter := frames.NewConverter(network.Config().ImageSize, pool)
	var encoder rle.Encoder
	for i := range length {
		picture := scene.picture(i)
		live, err := converter.Convert(picture)
		picture.Release()
		if err != nil {
			t.Fatal(err)
		}
		live.Index = i
		if err := store.Add(live); err != nil {
			t.Fatal(err)
		}
		live.Release()
		frame, err := store.At(i)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			for _, id := range []int{1, 3} {
				b := scene.box(id, 0)
				r, err := tracker.Prompt(frame, id, propagate.Prompt{Box: &[4]float32{float32(b[0]), float32(b[1]), float32(b[2]), float32(b[3])}, Width: 320, Height: 180})
				if err != nil {
					t.Fatal(err)
				}
				r.Release()
			}
			if err := tracker.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		r, err := tracker.Step(frame, memory.Forward)
		frame.Release()
		if err != nil {
			t.Fatal(err)
		}
		var masks []rle.Mask
		for _, o := range r.Objects {
			masks = append(masks, encoder.FromLogits(o.Logits.Float32s(), 64, 64, 180, 320))
		}
		r.Release()
		all = append(all, masks)
	}
	return all
}
