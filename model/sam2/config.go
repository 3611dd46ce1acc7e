package sam2

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"maskstream/internal/nearest"
	"maskstream/internal/userfile"
	"maskstream/model"
)

// ErrConfig: the configuration is no YAML of upstream's form, or asks for what this network does not have.
var ErrConfig = errors.New("model configuration")

// maxConfig is far above upstream's files, which have 4 kB.
const maxConfig = 64 << 10

// ReadConfig reads a configuration in upstream's YAML form (sam2/configs). The model is named after the file's stem.
func ReadConfig(path string) (model.Config, error) {
	text, err := userfile.Read(path, maxConfig)
	if err != nil {
		return model.Config{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	config, err := ParseConfig(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), text)
	if err != nil {
		return model.Config{}, fmt.Errorf("%w: %s:%w", ErrConfig, path, err)
	}
	return config, nil
}

// ParseConfig parses a configuration in upstream's YAML form. Keys left out take the defaults of upstream's classes, but for
// two: masks from points are always binarised for the memory encoder and multimask by stability (0.05 and 0.98) is always on.
// The first fault is the error, with its line, and for an unknown key the one that was probably meant.
func ParseConfig(name string, text []byte) (model.Config, error) {
	if line, column, err := userfile.CheckYAML(text); err != nil {
		return model.Config{}, fmt.Errorf("%d:%d: %w", line, column, err)
	}
	parsed := newConfigFile()
	if err := yaml.UnmarshalWithOptions(text, &parsed, yaml.Strict()); err != nil {
		return model.Config{}, explain(err)
	}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return model.Config{}, explain(err)
	}
	check := &checker{tree: tree}
	check.file(&parsed.Model)
	if check.err != nil {
		return model.Config{}, check.err
	}
	return parsed.Model.config(name), nil
}

// explain makes one line with a line number of the YAML package's error, which comes as a drawing of the file.
func explain(err error) error {
	var at yaml.Error
	if !errors.As(err, &at) {
		return err
	}
	line, message := 0, userfile.PlainYAML(at.GetMessage())
	if token := at.GetToken(); token != nil {
		line = token.Position.Line
	}
	var unknown *yaml.UnknownFieldError
	if !errors.As(err, &unknown) {
		return fmt.Errorf("%d: %s", line, message)
	}
	key := unknown.GetToken().Value
	keys := keysOf(reflect.TypeFor[configFile]())
	switch near := nearest.Name(key, keys); near {
	case "":
		return fmt.Errorf("%d: unknown key %q", line, key)
	case key:
		return fmt.Errorf("%d: key %q does not belong here", line, key)
	default:
		return fmt.Errorf("%d: unknown key %q; did you mean %q?", line, key, near)
	}
}

// keysOf lists every key that occurs anywhere in a configuration.
func keysOf(t reflect.Type) []string {
	var keys []string
	for field := range t.Fields() {
		keys = append(keys, field.Tag.Get("yaml"))
		if field.Type.Kind() == reflect.Struct {
			keys = append(keys, keysOf(field.Type)...)
		}
	}
	return keys
}

// lineOf finds the line of a key such as "image_encoder.trunk.stages" below model, or of what it would stand in.
func lineOf(tree *ast.File, key string) int {
	for path := "$.model." + key; path != "$"; path = path[:strings.LastIndexByte(path, '.')] {
		selector, err := yaml.PathString(path)
		if err != nil {
			continue
		}
		if node, err := selector.FilterFile(tree); err == nil && node != nil {
			if mapping, ok := node.(*ast.MappingNode); ok && len(mapping.Values) > 0 {
				return mapping.Values[0].Key.GetToken().Position.Line
			}
			return node.GetToken().Position.Line
		}
	}
	return 1
}

// config is the checked configuration in the words of package model.
func (b *yamlBase) config(name string) model.Config {
	neck, attention := b.ImageEncoder.Neck, b.MemoryAttention
	levels := neck.TopDownLevels
	if levels == nil {
		levels = []int{0, 1, 2, 3}
	}
	c := model.Config{
		Name:      name,
		ImageSize: b.ImageSize,
		EmbedDim:  neck.DModel,
		MemoryDim: b.MemoryEncoder.OutDim,
		Neck:      model.Neck{BackboneChannels: neck.BackboneChannels, TopDownLevels: levels, Scalp: b.ImageEncoder.Scalp},
		MemoryAttention: model.MemoryAttention{
			Layers:                   attention.NumLayers,
			DimFeedforward:           attention.Layer.DimFeedforward,
			RopeTheta:                attention.Layer.CrossAttention.RopeTheta,
			PosEncAtInput:            *attention.PosEncAtInput,
			PosEncAtAttn:             *attention.Layer.PosEncAtAttn,
			PosEncAtCrossAttnKeys:    *attention.Layer.PosEncAtCrossAttnKeys,
			PosEncAtCrossAttnQueries: *attention.Layer.PosEncAtCrossAttnQueries,
		},
		MemoryEncoder:          model.MemoryEncoder{FuserLayers: b.MemoryEncoder.Fuser.NumLayers},
		NumMaskmem:             b.NumMaskmem,
		MaxObjPtrsInEncoder:    b.MaxObjPtrsInEncoder,
		MaxCondFramesInAttn:    b.MaxCondFramesInAttn,
		MemoryTemporalStride:   b.MemoryTemporalStride,
		SigmoidScaleForMemEnc:  b.SigmoidScale,
		SigmoidBiasForMemEnc:   b.SigmoidBias,
		MultimaskMinPoints:     b.MultimaskMinPoints,
		MultimaskMaxPoints:     b.MultimaskMaxPoints,
		MultimaskOutputInSAM:   b.MultimaskOutputInSAM,
		MultimaskForTracking:   b.MultimaskForTracking,
		MultimaskTokenForPtr:   b.MultimaskTokenForPtr,
		HighResFeaturesInSAM:   b.HighResFeaturesInSAM,
		MaskInputAsOutput:      b.MaskInputAsOutput,
		DirectlyAddNoMemEmbed:  b.DirectlyAddNoMemEmbed,
		NoObjEmbedSpatial:      b.NoObjEmbedSpatial,
		ObjPtrsInEncoder:       b.ObjPtrsInEncoder,
		ObjPtrTemporalEncoding: b.ObjPtrTemporalEncoding,
		ProjectObjPtrTemporal:  b.ProjectObjPtrTemporal,
		SignedObjPtrTemporal:   b.SignedObjPtrTemporal,
		OnlyPastObjPtrs:        b.OnlyPastObjPtrs,
		PredObjScores:          b.PredObjScores,
		PredObjScoresMLP:       b.PredObjScoresMLP,
		FixedNoObjPtr:          b.FixedNoObjPtr,
		SoftNoObjPtr:           b.SoftNoObjPtr,
		MLPForObjPtrProj:       b.MLPForObjPtrProj,
		IoUPredictionSigmoid:   b.IoUPredictionSigmoid,
	}
	if trunk := b.ImageEncoder.Trunk; trunk.Target == timmTarget {
		c.RepViT = repvitM1()
	} else {
		c.Trunk = model.Trunk{
			EmbedDim:        trunk.EmbedDim,
			NumHeads:        trunk.NumHeads,
			Stages:          [4]int(trunk.Stages),
			GlobalAttBlocks: trunk.GlobalAttBlocks,
			WindowSpec:      [4]int(trunk.WindowSpec),
			PosEmbedBkgSize: [2]int(trunk.PosEmbedBkgSize),
			QPool:           trunk.QPool,
		}
	}
	if p := b.Perceiver; p.Target != "" {
		c.Perceiver = model.Perceiver{Layers: p.Depth, Latents: p.NumLatents, Grid: squareRoot(p.NumLatents2D)}
	}
	return c
}
