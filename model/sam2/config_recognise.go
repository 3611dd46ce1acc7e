package sam2

import (
	"errors"
	"fmt"
	"strings"

	"maskstream/model"
	"maskstream/model/checkpoint"
)

// ErrUnknownModel: the weights are none of the known models'; a configuration must be given.
var ErrUnknownModel = errors.New("unknown model")

// Recognise tells a known model by its weights' names and shapes: the built-in one, SAM 2.1 and SAM 2.0 in their four sizes,
// and EdgeTAM. SAM 2.1 has no_obj_embed_spatial and obj_ptr_tpos_proj, SAM 2.0 neither. What leaves no trace in the weights (heads,
// windows, global attention, image size, switches) is that of the known model. The error, ErrUnknownModel, says what the
// checkpoint is or how it differs from the nearest known one.
func Recognise(c *checkpoint.Checkpoint) (model.Config, error) {
	known, err := Known()
	if err != nil {
		return model.Config{}, err
	}
	seen := observe(c)
	var nearest model.Config
	var fewest []string
	for i, config := range known {
		differing := differences(seen, factsOf(config))
		if len(differing) == 0 {
			return config, nil
		}
		if i == 0 || len(differing) < len(fewest) {
			nearest, fewest = config, differing
		}
	}
	return model.Config{}, fmt.Errorf("%w: %s: %s", ErrUnknownModel, c.Name(), describe(c, seen, nearest, fewest))
}

const giveConfig = "--model-config FILE.yaml (a stream: model_config)"

// describe says in a few words what a checkpoint is that is not known, and what to do.
func describe(c *checkpoint.Checkpoint, seen []fact, nearest model.Config, differing []string) string {
	starts := func(prefix string) bool {
		for _, name := range c.Names() {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return false
	}
	const give = "if it is one, give its configuration with " + giveConfig
	hiera, repvit := seen[0].value != "0", starts("image_encoder.trunk.body.stages_0.blocks.0.token_mixer.")
	switch {
	case starts("vision_encoder."):
		return "its names are those of Hugging Face transformers; take the .pt file of facebookresearch/sam2 instead"
	case starts("image_encoder.patch_embed."):
		return "it is a Segment Anything 1 model, which has no memory; take one of SAM 2"
	case starts("image_encoder.trunk.") && !hiera && !repvit:
		return "its image encoder is neither a Hiera nor EdgeTAM's RepViT; it is no model of facebookresearch/sam2 or EdgeTAM"
	case !hiera && !repvit:
		return "it has no image encoder of SAM 2; " + give
	case len(differing) <= 3:
		return fmt.Sprintf("it is almost %s, but %s; %s", nearest.Name, strings.Join(differing, ", "), give)
	case repvit:
		return fmt.Sprintf("it is like EdgeTAM, but %s, and %d more; %s", differing[0], len(differing)-1, give)
	}
	return fmt.Sprintf("a Hiera of %s %s and %s %s at %s %s is none of the known models; give its configuration with "+giveConfig,
		seen[0].key, seen[0].value, seen[1].key, seen[1].value, seen[4].key, seen[4].value)
}
