// Package nano is the built-in model: SAM 2.1's architecture with 4.38 million parameters and an image size of 256, float16,
// in the binary, so that the tracker does something before anybody has downloaded anything.
//
//	c, err := nano.Open()
//	config, err := sam2.ParseConfig(nano.Name, nano.Config())
package nano

import (
	"bytes"
	_ "embed" // the two files below

	"maskstream/model/checkpoint"
)

// Name is what the model is called on the command line.
const Name = "nano"

//go:embed sam2.1_hiera_nano.safetensors
var weights []byte

//go:embed sam2.1_hiera_nano.yaml
var config []byte

// Open opens the weights. Closing them is allowed and does nothing.
func Open() (*checkpoint.Checkpoint, error) {
	return checkpoint.Read(bytes.NewReader(weights), int64(len(weights)), Name)
}

// Config is the model's configuration in upstream's YAML form, a copy.
func Config() []byte { return bytes.Clone(config) }
