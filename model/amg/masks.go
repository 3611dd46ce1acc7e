package amg

import (
	"slices"

	"maskstream/rle"
)

// masks brings candidates to their size in the picture and drops what is not stable or cut off by its crop. Their logits are let
// go.
func (s search) masks(all []candidate, c crop) []candidate {
	low := s.network.Config().LowRes()
	height, width := c.height(), c.width()
	s.Counts.Interpolated += len(all)
	var stable []candidate
	var maps [][]float32
	for _, one := range all {
		if area := s.options.MinMaskRegionArea; area > 0 {
			one.logits = slices.Clone(one.logits)
			clean(one.logits, low, area)
		}
		area := func(threshold float32) int64 {
			return s.encoder.AreaAbove(threshold, one.logits, low, low, height, width)
		}
		ok := false
		if one.stability, ok = s.stability(area); ok {
			maps = append(maps, one.logits)
			one.logits = nil
			stable = append(stable, one)
		}
	}
	s.Counts.Stable += len(stable)
	encoded := s.chunks.Encode(s.options.MaskThreshold, maps, low, low, height, width)
	return s.whole(stable, encoded)
}

// stability is how much of the mask is left when the threshold is raised, of what there is when it is lowered, and whether that
// is enough. A mask that is empty even then has none: the reference has 0/0 there, which passes no threshold but 0.
func (s search) stability(area func(threshold float32) int64) (float32, bool) {
	o := s.options
	outer := area(o.MaskThreshold - o.StabilityScoreOffset)
	if outer == 0 {
		return 0, o.StabilityScoreThresh <= 0
	}
	stability := float32(area(o.MaskThreshold+o.StabilityScoreOffset)) / float32(outer)
	return stability, stability >= o.StabilityScoreThresh
}

// whole puts masks of a crop into the picture, without those that the crop cuts off.
func (s search) whole(all []candidate, masks []rle.Mask) []candidate {
	var kept []candidate
	for i, one := range all {
		x, y := one.crop.box[0], one.crop.box[1]
		one.box = boxOf(masks[i])
		for k, offset := range [4]int{x, y, x, y} {
			one.box[k] += offset
		}
		if one.crop.cutOff(one.box, s.width, s.height) {
			continue
		}
		placed, err := masks[i].Place(x, y, s.height, s.width)
		if err != nil {
			panic(err) // a crop lies in its picture
		}
		one.mask = placed
		one.point = [2]float32{one.point[0] + float32(x), one.point[1] + float32(y)}
		kept = append(kept, one)
	}
	return kept
}

// boxOf is the outermost pixels of a mask, all 0 where it is empty (batched_mask_to_box).
func boxOf(m rle.Mask) box {
	b := m.Box()
	if b[2] == 0 {
		return box{}
	}
	return box{b[0], b[1], b[0] + b[2] - 1, b[1] + b[3] - 1}
}
