package ort

import (
	"errors"
	"fmt"
	"runtime"

	onnxruntime "github.com/yalue/onnxruntime_go"

	"maskstream/model"
	"maskstream/model/sam2"
	"maskstream/tensor"
)

// ErrArgument: a call's arguments contradict each other or the network. The message says how.
var ErrArgument = errors.New("wrong argument")

// Options says how a network runs. The zero value is usable.
type Options struct {
	Threads int          // threads that share one operator; 0: one per CPU
	Pool    *tensor.Pool // where results come from, host memory; nil: a pool of its own without a budget
	Library string       // path of ONNX Runtime's library; "": LibraryPath. Only the first network's counts

	// Spin makes threads wait for the next operator at full load instead of asleep. That is for a machine with nothing else to
	// do: where other work wants the CPUs, decoding say, a frame takes several times as long. Between calls they sleep anyway.
	Spin bool
}

// Network is SAM 2 on the CPU; see [model.Network] for its methods' contracts.
type Network struct {
	config model.Config
	pool   *tensor.Pool

	imageEncoder    *session
	memoryQueries   *session
	memoryAttention *session
	maskPrompt      *session
	maskDecoder     *session
	memoryEncoder   *session
}

var _ model.Network = (*Network)(nil)

// Load builds the network that config describes from weights and opens it.
func Load(config model.Config, weights sam2.Weights, options Options) (*Network, error) {
	if err := initialise(options.Library); err != nil { // said before the work
		return nil, err
	}
	return openEach(config, options, func(use func(sam2.Part) error) error { return sam2.BuildEach(config, weights, use) })
}

// Open makes a network of graphs, which are not needed afterwards. The caller closes it. Errors wrap [ErrLibrary] where ONNX
// Runtime is missing.
func Open(config model.Config, graphs *sam2.Graphs, options Options) (*Network, error) {
	if err := initialise(options.Library); err != nil {
		return nil, err
	}
	return openEach(config, options, func(use func(sam2.Part) error) error {
		for _, part := range graphs.Parts() {
			if err := use(part); err != nil {
				return err
			}
		}
		return nil
	})
}

// openEach makes a network of the graphs that each hands over, in the order of [sam2.Graphs.Parts].
func openEach(config model.Config, options Options, each func(use func(sam2.Part) error) error) (*Network, error) {
	n := &Network{config: config, pool: options.Pool}
	if n.pool == nil {
		n.pool = tensor.NewPool("network", tensor.Host(), 0)
	}
	settings, err := sessionOptions(options)
	if err != nil {
		return nil, fmt.Errorf("onnx runtime: options: %w", err)
	}
	defer settings.Destroy()
	places := []struct {
		session         **session
		name            string
		inputs, outputs []string
	}{
		{&n.imageEncoder, "image encoder", []string{"pixels"}, []string{"embedding", "high_res_0", "high_res_1"}},
		{&n.memoryQueries, "memory queries", []string{"embedding"}, []string{"current", "queries"}},
		{&n.memoryAttention, "memory attention", []string{"current", "queries", "memory", "temporal", "pointers", "distances"}, []string{"conditioned"}},
		{&n.maskPrompt, "mask prompt", []string{"mask"}, []string{"dense", "logits", "visible"}},
		{&n.maskDecoder, "mask decoder",
			[]string{"embedding", "no_memory", "high_res_0", "high_res_1", "points", "labels", "dense", "dense_row", "multimask", "visible"},
			[]string{"logits", "pointers", "ious", "scores"}},
		{&n.memoryEncoder, "memory encoder", []string{"embedding", "logits", "scores", "binarize"}, []string{"memory"}},
	}
	i := 0
	err = each(func(part sam2.Part) (err error) {
		place := places[i]
		i++
		*place.session, err = newSession(place.name, *part.Model, settings, place.inputs, place.outputs)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func sessionOptions(options Options) (*onnxruntime.SessionOptions, error) {
	settings, err := onnxruntime.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	threads := options.Threads
	if threads <= 0 {
		threads = runtime.NumCPU()
	}
	spin := "0"
	if options.Spin {
		spin = "1"
	}
	err = errors.Join(
		settings.SetIntraOpNumThreads(threads),
		settings.SetInterOpNumThreads(1),
		settings.SetGraphOptimizationLevel(onnxruntime.GraphOptimizationLevelEnableAll),
		settings.SetMemPattern(false), // a pattern is kept for every number of memories ever seen
		settings.AddSessionConfigEntry("session.intra_op.allow_spinning", spin),
		settings.AddSessionConfigEntry("session.force_spinning_stop", "1"),
	)
	if err != nil {
		settings.Destroy()
		return nil, err
	}
	return settings, nil
}

// Config is the network's configuration.
func (n *Network) Config() model.Config { return n.config }

// With is this network with its results in another pool: the same weights for one more stream, at the same time if need be. It
// borrows the network; closing either of them closes both.
func (n *Network) With(pool *tensor.Pool) *Network {
	with := *n
	with.pool = pool
	return &with
}

// Close frees the network. A network that Open did not finish may be closed too.
func (n *Network) Close() error {
	return errors.Join(n.imageEncoder.close(), n.memoryQueries.close(), n.memoryAttention.close(), n.maskPrompt.close(), n.maskDecoder.close(), n.memoryEncoder.close())
}

// want refuses a tensor that is not of the given type and shape on the host.
func want(what string, t *tensor.Tensor, dtype tensor.DType, shape ...int) error {
	fits := t != nil && t.DType() == dtype && len(t.Shape()) == len(shape) && t.Memory().Device == nil
	for i := 0; fits && i < len(shape); i++ {
		fits = t.Shape()[i] == shape[i]
	}
	switch {
	case fits:
		return nil
	case t == nil:
		return fmt.Errorf("%w: no %s", ErrArgument, what)
	default:
		return fmt.Errorf("%w: %s is %s%v on %s, wanted %s%v on the host", ErrArgument, what, t.DType(), t.Shape(), t.Pool().Device().Name(), dtype, shape)
	}
}

// wantFeatures refuses what is not the image encoder's result.
func (n *Network) wantFeatures(f *model.Features) error {
	if f == nil {
		return fmt.Errorf("%w: no features", ErrArgument)
	}
	c, side := n.config.EmbedDim, n.config.Cells()
	return errors.Join(
		want("embedding", f.Embedding, tensor.Float32, 1, c, side, side),
		want("first high-resolution features", f.HighRes0, tensor.Float32, 1, c/8, 4*side, 4*side),
		want("second high-resolution features", f.HighRes1, tensor.Float32, 1, c/4, 2*side, 2*side),
	)
}
