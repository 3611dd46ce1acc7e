package amg

import "slices"

// suppress is non-maximum suppression (torchvision.ops.nms): candidates by falling score, the first of equals first, without
// those whose box overlaps that of a better one by more than the threshold. Boxes without area overlap nothing. It returns
// places in boxes.
func suppress(boxes []box, scores []float32, threshold float64) []int {
	order := make([]int, len(boxes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	var keep []int
	for _, i := range order {
		if !slices.ContainsFunc(keep, func(better int) bool { return boxIoU(boxes[better], boxes[i]) > threshold }) {
			keep = append(keep, i)
		}
	}
	return keep
}

// boxIoU is computed in float32, as torchvision does; 0 where neither box has an area.
func boxIoU(a, b box) float64 {
	area := func(b box) float32 { return float32(b[2]-b[0]) * float32(b[3]-b[1]) }
	w, h := min(a[2], b[2])-max(a[0], b[0]), min(a[3], b[3])-max(a[1], b[1])
	common := float32(max(w, 0)) * float32(max(h, 0))
	if union := area(a) + area(b) - common; union > 0 {
		return float64(common / union)
	}
	return 0
}
