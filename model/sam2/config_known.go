package sam2

import (
	"fmt"

	"maskstream/model"
	"maskstream/model/nano"
)

// Known lists the models that are recognised by their weights: the built-in one first, then the published ones under their
// files' names, SAM 2.1 before SAM 2.0, the small before the large, EdgeTAM last.
func Known() ([]model.Config, error) {
	builtin, err := ParseConfig(nano.Name, nano.Config())
	if err != nil {
		return nil, fmt.Errorf("%w: %s:%w", ErrConfig, nano.Name, err)
	}
	known := []model.Config{builtin}
	for _, version := range []string{"sam2.1", "sam2"} {
		for _, size := range sizes() {
			known = append(known, published(version, size))
		}
	}
	return append(known, edgeTAM()), nil
}

// size is what the published models differ in (sam2/configs).
type size struct {
	name       string
	embedDim   int
	heads      int
	stages     [4]int
	global     []int
	window     [4]int
	background [2]int
}

func sizes() []size {
	return []size{
		{"tiny", 96, 1, [4]int{1, 2, 7, 2}, []int{5, 7, 9}, [4]int{8, 4, 14, 7}, [2]int{7, 7}},
		{"small", 96, 1, [4]int{1, 2, 11, 2}, []int{7, 10, 13}, [4]int{8, 4, 14, 7}, [2]int{7, 7}},
		{"base_plus", 112, 2, [4]int{2, 3, 16, 3}, []int{12, 16, 20}, [4]int{8, 4, 14, 7}, [2]int{14, 14}},
		{"large", 144, 2, [4]int{2, 6, 36, 4}, []int{23, 33, 43}, [4]int{8, 4, 16, 8}, [2]int{7, 7}},
	}
}

func published(version string, s size) model.Config {
	v21 := version == "sam2.1"
	return model.Config{
		Name:      version + "_hiera_" + s.name,
		ImageSize: 1024,
		EmbedDim:  256,
		MemoryDim: 64,
		Trunk: model.Trunk{
			EmbedDim: s.embedDim, NumHeads: s.heads, Stages: s.stages, GlobalAttBlocks: s.global, WindowSpec: s.window,
			PosEmbedBkgSize: s.background, QPool: 3,
		},
		Neck: model.Neck{
			BackboneChannels: []int{8 * s.embedDim, 4 * s.embedDim, 2 * s.embedDim, s.embedDim},
			TopDownLevels:    []int{2, 3},
			Scalp:            1,
		},
		MemoryAttention: model.MemoryAttention{
			Layers: 4, DimFeedforward: 2048, RopeTheta: 10000, PosEncAtInput: true, PosEncAtCrossAttnKeys: true,
		},
		MemoryEncoder:          model.MemoryEncoder{FuserLayers: 2},
		NumMaskmem:             7,
		MaxObjPtrsInEncoder:    16,
		MaxCondFramesInAttn:    -1,
		MemoryTemporalStride:   1,
		SigmoidScaleForMemEnc:  20,
		SigmoidBiasForMemEnc:   -10,
		MultimaskMinPoints:     0,
		MultimaskMaxPoints:     1,
		MultimaskOutputInSAM:   true,
		MultimaskForTracking:   true,
		MultimaskTokenForPtr:   true,
		HighResFeaturesInSAM:   true,
		MaskInputAsOutput:      true,
		DirectlyAddNoMemEmbed:  true,
		NoObjEmbedSpatial:      v21,
		ObjPtrsInEncoder:       true,
		ObjPtrTemporalEncoding: v21,
		ProjectObjPtrTemporal:  v21,
		SignedObjPtrTemporal:   v21,
		OnlyPastObjPtrs:        true,
		PredObjScores:          true,
		PredObjScoresMLP:       true,
		FixedNoObjPtr:          true,
		MLPForObjPtrProj:       true,
		IoUPredictionSigmoid:   true,
	}
}
