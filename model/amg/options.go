package amg

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrOptions says that options contradict themselves or leave their range; the message names the key.
var ErrOptions = errors.New("automatic masks: wrong options")

// Options are SAM2AutomaticMaskGenerator's, under its names and with its defaults; see [Default].
type Options struct {
	PointsPerSide        *int           `json:"points_per_side"`                // 32; null where point_grids are given
	PointsPerBatch       int            `json:"points_per_batch"`               // 64
	PredIoUThresh        float32        `json:"pred_iou_thresh"`                // 0.8: candidates above it stay; 0 keeps all
	StabilityScoreThresh float32        `json:"stability_score_thresh"`         // 0.95: candidates from it on stay; 0 keeps all
	StabilityScoreOffset float32        `json:"stability_score_offset"`         // 1: by how much the threshold is moved to try it
	MaskThreshold        float32        `json:"mask_threshold"`                 // 0
	BoxNMSThresh         float64        `json:"box_nms_thresh"`                 // 0.7
	CropNLayers          int            `json:"crop_n_layers"`                  // 0: layer i adds (2^i)² crops
	CropNMSThresh        float64        `json:"crop_nms_thresh"`                // 0.7
	CropOverlapRatio     float64        `json:"crop_overlap_ratio"`             // 512/1500 of the picture's short side
	CropNPointsDownscale int            `json:"crop_n_points_downscale_factor"` // 1
	PointGrids           [][][2]float64 `json:"point_grids"`                    // null: points x, y of 0…1, one list a crop layer
	MinMaskRegionArea    int            `json:"min_mask_region_area"`           // 0: in cells of the low-resolution logits
	OutputMode           string         `json:"output_mode"`                    // "coco_rle", the only form records have
	UseM2M               bool           `json:"use_m2m"`                        // false: refine each candidate once by itself
	MultimaskOutput      bool           `json:"multimask_output"`               // true: three candidates a point
}

// Default are the reference's defaults. Its output mode is binary_mask; ours is always coco_rle.
func Default() Options {
	points := 32
	return Options{
		PointsPerSide: &points, PointsPerBatch: 64, PredIoUThresh: 0.8, StabilityScoreThresh: 0.95, StabilityScoreOffset: 1,
		BoxNMSThresh: 0.7, CropNMSThresh: 0.7, CropOverlapRatio: 512. / 1500, CropNPointsDownscale: 1, OutputMode: cocoRLE, MultimaskOutput: true,
	}
}

const cocoRLE = "coco_rle"

// ParseOptions reads a JSON object of options; what is absent takes its default, and a key that there is not is an error. Errors
// wrap [ErrOptions].
func ParseOptions(data []byte) (Options, error) {
	o := Default()
	points := o.PointsPerSide
	o.PointsPerSide = nil // unless it is named, or nothing else says where to point
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil {
		return o, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return o, fmt.Errorf("%w: there is something after the closing brace; options are one JSON object", ErrOptions)
	}
	if o.PointsPerSide == nil && o.PointGrids == nil {
		o.PointsPerSide = points
	}
	return o, o.validate()
}

// The most that is sensible, so that a slip of the keyboard does not take hours: crops grow fourfold with each layer.
const (
	maxPointsPerSide  = 256
	maxPointsPerBatch = 1024
	maxCropLayers     = 5
)

func (o Options) validate() error {
	refuse := func(format string, arguments ...any) error {
		return fmt.Errorf("%w: %s", ErrOptions, fmt.Sprintf(format, arguments...))
	}
	for _, share := range []struct {
		name  string
		value float64
	}{{"pred_iou_thresh", float64(o.PredIoUThresh)}, {"stability_score_thresh", float64(o.StabilityScoreThresh)}, {"box_nms_thresh", o.BoxNMSThresh}, {"crop_nms_thresh", o.CropNMSThresh}} {
		if share.value < 0 || share.value > 1 {
			return refuse("%s %v: must lie in 0…1", share.name, share.value)
		}
	}
	switch {
	case (o.PointsPerSide == nil) == (o.PointGrids == nil):
		return refuse("exactly one of points_per_side and point_grids must be given; set the other to null")
	case o.PointsPerSide != nil && (*o.PointsPerSide < 1 || *o.PointsPerSide > maxPointsPerSide):
		return refuse("points_per_side %d: must lie in 1…%d", *o.PointsPerSide, maxPointsPerSide)
	case o.PointsPerBatch < 1 || o.PointsPerBatch > maxPointsPerBatch:
		return refuse("points_per_batch %d: must lie in 1…%d", o.PointsPerBatch, maxPointsPerBatch)
	case o.StabilityScoreOffset < 0:
		return refuse("stability_score_offset %v: must be 0 or more", o.StabilityScoreOffset)
	case o.CropNLayers < 0 || o.CropNLayers > maxCropLayers:
		return refuse("crop_n_layers %d: must lie in 0…%d", o.CropNLayers, maxCropLayers)
	case o.CropOverlapRatio < 0 || o.CropOverlapRatio >= 1:
		return refuse("crop_overlap_ratio %v: must be at least 0 and less than 1", o.CropOverlapRatio)
	case o.CropNPointsDownscale < 1:
		return refuse("crop_n_points_downscale_factor %d: must be 1 or more", o.CropNPointsDownscale)
	case o.MinMaskRegionArea < 0:
		return refuse("min_mask_region_area %d: must be 0 (off) or more", o.MinMaskRegionArea)
	case o.OutputMode != cocoRLE:
		return refuse(`output_mode %q: records carry COCO run-length masks; write "coco_rle" or leave it out`, o.OutputMode)
	case o.PointGrids != nil && len(o.PointGrids) <= o.CropNLayers:
		return refuse("point_grids has %d lists of points; crop_n_layers %d needs %d, one for the picture and one a layer", len(o.PointGrids), o.CropNLayers, o.CropNLayers+1)
	}
	if o.PointsPerSide != nil && pointsPerSide(*o.PointsPerSide, o.CropNPointsDownscale, o.CropNLayers) == 0 {
		return refuse("crop_n_points_downscale_factor %d leaves no point in crop layer %d", o.CropNPointsDownscale, o.CropNLayers)
	}
	for layer, grid := range o.PointGrids {
		for i, p := range grid {
			if p[0] < 0 || p[0] > 1 || p[1] < 0 || p[1] > 1 {
				return refuse("point_grids: point %d of list %d is %v; x and y must lie in 0…1", i, layer, p)
			}
		}
	}
	return nil
}
