package amg

import (
	"encoding/json"
	"slices"

	"maskstream/rle"
)

// Record is one mask, as SAM2AutomaticMaskGenerator reports it. Its JSON has the reference's keys.
type Record struct {
	Mask           rle.Mask   // of the picture
	BBox           [4]float64 // x, y, width, height, from the first to the last pixel: one less than pycocotools'
	PredictedIoU   float32
	StabilityScore float32
	Points         [][2]float32 // that were prompted, in pixels of the picture
	CropBox        [4]float64   // x, y, width, height of the crop it was found in
}

// MarshalJSON writes the reference's record with the mask as COCO RLE.
func (r Record) MarshalJSON() ([]byte, error) {
	points := r.Points
	if points == nil {
		points = [][2]float32{}
	}
	return json.Marshal(struct {
		Segmentation   rle.COCO     `json:"segmentation"`
		Area           int64        `json:"area"`
		BBox           [4]float64   `json:"bbox"`
		PredictedIoU   float32      `json:"predicted_iou"`
		PointCoords    [][2]float32 `json:"point_coords"`
		StabilityScore float32      `json:"stability_score"`
		CropBox        [4]float64   `json:"crop_box"`
	}{r.Mask.COCO(), r.Mask.Area(), r.BBox, r.PredictedIoU, points, r.StabilityScore, r.CropBox})
}

// records reports candidates. Runs are cloned: a candidate's share memory with those that have gone.
func records(found []candidate) []Record {
	all := make([]Record, len(found))
	for i, c := range found {
		mask := c.mask
		mask.Runs = slices.Clone(mask.Runs)
		all[i] = Record{Mask: mask, BBox: c.box.xywh(), PredictedIoU: c.iou, StabilityScore: c.stability, Points: [][2]float32{c.point}, CropBox: c.crop.xywh()}
	}
	return all
}
