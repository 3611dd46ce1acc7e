package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"maskstream/model/checkpoint"
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
	flags.StringVar(&f.model, "model", "nano", "`NAME|FILE` of the model: the built-in nano, or a checkpoint (.pt, .safetensors)")
	flags.StringVar(&f.config, "model-config", "", "`FILE.yaml` of upstream that describes the model, where the weights alone do not tell")
	flags.StringVar(&f.device, "device", "auto", "`DEVICE` of the network: auto, cpu, cuda or cuda:N")
	flags.IntVar(&f.threads, "threads", 0, "`N` threads for the network (0: one a core)")
}

// maxThreads is more than helps anywhere. Every one is started at once.
const maxThreads = 1024

// open loads the model; its results live in pool.
func (f modelFlags) open(pool *tensor.Pool) (*ort.Network, error) {
	if err := checkDevice(f.device); err != nil {
		return nil, err
	}
	if f.threads < 0 || f.threads > maxThreads {
		return nil, usagef("--threads %d: must be 0 (one a core) to %d", f.threads, maxThreads)
	}
	return openModel(f.model, f.config, f.threads, pool)
}

// openModel builds the network of a built-in model or a checkpoint file. Its results live in pool.
func openModel(name, config string, threads int, pool *tensor.Pool) (*ort.Network, error) {
	weights, architecture, err := sam2.Load(name, config)
	if err != nil {
		return nil, usageError{err}
	}
	defer weights.Close()
	// Whatever has no place in the network is an error of its graphs: see sam2.Build.
	network, err := ort.Load(architecture, checkpoint.NewWeights(weights), ort.Options{Threads: threads, Pool: pool})
	if err != nil {
		return nil, modelError(name, err)
	}
	return network, nil
}

// modelError says whose fault it is that a network was not built: that of the file or its configuration, which is wrong usage,
// or the machine's. What reading a weight says names the file already.
func modelError(name string, err error) error {
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	switch {
	case is(checkpoint.ErrMissing, checkpoint.ErrShape, checkpoint.ErrDType, checkpoint.ErrDamaged):
		return usageError{err}
	case is(sam2.ErrUnusedWeights, sam2.ErrConfig):
		return usageError{fmt.Errorf("model %s: %w", name, err)}
	}
	return fmt.Errorf("model %s: %w", name, err)
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
