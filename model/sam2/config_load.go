package sam2

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"maskstream/model"
	"maskstream/model/checkpoint"
	"maskstream/model/nano"
)

// Load opens what --model and --model-config name: "nano" is the built-in model, anything else a checkpoint file. Without a
// configuration file (configFlag "") the model is recognised by its weights; with one, the two must fit. The caller closes
// the checkpoint. Errors say what to do; ErrUnknownModel where a configuration would help.
func Load(modelFlag, configFlag string) (*checkpoint.Checkpoint, model.Config, error) {
	c, err := Open(modelFlag)
	if err != nil {
		return nil, model.Config{}, err
	}
	config, err := configure(c, configFlag)
	if err != nil {
		c.Close()
		return nil, model.Config{}, err
	}
	return c, config, nil
}

// Open opens the weights that --model names, whatever they are. The caller closes them.
func Open(modelFlag string) (*checkpoint.Checkpoint, error) {
	if modelFlag == nano.Name {
		return nano.Open()
	}
	c, err := checkpoint.Open(modelFlag)
	if !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	known, knownErr := Known()
	if knownErr != nil {
		return nil, knownErr
	}
	for _, config := range known {
		if config.Name == modelFlag {
			return nil, fmt.Errorf("%w: the weights of %s are not built in; download %s.pt as the README of facebookresearch/sam2 says and give its path",
				err, modelFlag, modelFlag)
		}
	}
	return nil, fmt.Errorf("%w: give the path of a checkpoint, or %q for the built-in model", err, nano.Name)
}

func configure(c *checkpoint.Checkpoint, configFlag string) (model.Config, error) {
	if configFlag == "" {
		return Recognise(c)
	}
	config, err := ReadConfig(configFlag)
	if err != nil {
		if info, statErr := os.Stat(configFlag); statErr == nil && info.IsDir() {
			err = fmt.Errorf("%w: %s: it is a folder; name the .yaml file", ErrConfig, configFlag)
		}
		return model.Config{}, err
	}
	if differing := differences(observe(c), factsOf(config)); len(differing) > 0 {
		return model.Config{}, fmt.Errorf("%w: %s does not fit %s: in the weights %s (%d differences)",
			ErrConfig, configFlag, c.Name(), differing[0], len(differing))
	}
	return config, nil
}
