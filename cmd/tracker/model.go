package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"maskstream/model/ort"
	"maskstream/model/sam2"
	"maskstream/tensor"
)

// modelFlags say which model runs where.
type modelFlags struct {
	model, config, device string
	threads               int
}

func (f *modelFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.model, "model", "nano", "`NAME|FILE`: the built-in nano, or a checkpoint (.pt, .safetensors)")
	flags.StringVar(&f.config, "model-config", "", "`FILE`: upstream's YAML, where the weights alone do not tell")
	flags.StringVar(&f.device, "device", "auto", "auto, cpu or cuda[:`N`]")
	flags.IntVar(&f.threads, "threads", 0, "`N` threads for the network (0: one a core)")
}

// open loads the model.
func (f modelFlags) open() (*ort.Network, error) {
	if err := checkDevice(f.device); err != nil {
		return nil, err
	}
	if f.threads < 0 {
		return nil, usagef("--threads %d: must be 0 (one a core) or more", f.threads)
	}
	return openModel(f.model, f.config, f.threads)
}

// openModel builds the network of a built-in model or a checkpoint file. Its tensors live in a pool of its own.
func openModel(model, config string, threads int) (*ort.Network, error) {
	weights, architecture, err := sam2.Load(model, config)
	if err != nil {
		return nil, usageError{err}
	}
	defer weights.Close()
	if threads == 0 {
		threads = runtime.NumCPU()
	}
	network, err := ort.Load(architecture, weights, ort.Options{Threads: threads, Pool: tensor.NewPool("network", tensor.Host(), 0)})
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", model, err)
	}
	return network, nil
}

// checkDevice accepts what this build can run on: it is built without CUDA, so auto is the CPU.
func checkDevice(device string) error {
	name, number, numbered := strings.Cut(device, ":")
	if _, err := strconv.ParseUint(number, 10, 8); numbered && (name != "cuda" || err != nil) {
		return usagef("device %q: write auto, cpu, cuda or cuda:N", device)
	}
	switch name {
	case "auto", "cpu":
		return nil
	case "cuda":
		return usagef("device %q: this program is built without CUDA; use auto or cpu", device)
	}
	return usagef("device %q: write auto, cpu, cuda or cuda:N", device)
}
