// Package checkpoint reads named weights out of the two files they are published in: PyTorch's .pt (a zip around a pickle)
// and .safetensors. A checkpoint is data from strangers: the pickle reader can create nothing but dicts, lists, tuples,
// strings, numbers and tensors, every size is checked against the file before memory is asked for, and a damaged file is one
// error that names the file and the tensor.
//
//	c, err := checkpoint.Open("sam2.1_hiera_tiny.pt")
//	defer c.Close()
//	weights := checkpoint.NewWeights(c)
//	bias, err := weights.Take("image_encoder.trunk.patch_embed.proj.bias", 96)   // float32, whatever the file holds
//	left := weights.Unused()                                                     // what nobody asked for
package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

var (
	// ErrFormat: the file is no checkpoint; the message says what it looks like and what to do.
	ErrFormat = errors.New("not a checkpoint")
	// ErrDamaged: the file is a checkpoint but contradicts itself or ends early.
	ErrDamaged = errors.New("damaged checkpoint")
	// ErrUnsafe: the pickle asks for an object that is no weight.
	ErrUnsafe = errors.New("refused")
	// ErrMissing: no tensor of that name.
	ErrMissing = errors.New("no such tensor")
	// ErrShape: the tensor has another shape than the network wants.
	ErrShape = errors.New("wrong shape")
	// ErrDType: the tensor holds something else than float32, float16 or bfloat16.
	ErrDType = errors.New("not a weight's type")
	// ErrTaken: a weight was asked for a second time.
	ErrTaken = errors.New("taken twice")
)

// Format is the kind of file a checkpoint was read from.
type Format string

const (
	PyTorch     Format = "pytorch"
	Safetensors Format = "safetensors"
)

// Checkpoint is an open file of named tensors. Their values are read when asked for. It is safe for concurrent use until
// Close.
type Checkpoint struct {
	name    string
	format  Format
	tensors map[string]entry
	names   []string // sorted
	closer  io.Closer
}

// Open opens the checkpoint at path; its format is told by its content, whatever its name says. The caller closes it.
func Open(path string) (*Checkpoint, error) {
	info, err := os.Stat(path) // before it is opened: that waits where it is a pipe
	switch {
	case err != nil:
		return nil, fmt.Errorf("checkpoint %s: %w", path, errors.Unwrap(err))
	case info.IsDir():
		return nil, fmt.Errorf("checkpoint %s: %w: it is a folder; name the .pt or .safetensors file inside", path, ErrFormat)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("checkpoint %s: %w: it is a pipe or a device, which cannot be read here and there", path, ErrFormat)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", path, errors.Unwrap(err))
	}
	c, err := Read(file, info.Size(), path)
	if err != nil {
		file.Close()
		return nil, err
	}
	c.closer = file
	return c, nil
}

// Read reads a checkpoint of size bytes from r, which must stay readable while the checkpoint is in use. name stands for the
// file in error messages.
func Read(r io.ReaderAt, size int64, name string) (*Checkpoint, error) {
	c := &Checkpoint{name: name}
	var err error
	if c.format, err = recognise(r, size); err == nil {
		switch c.format {
		case PyTorch:
			c.tensors, err = readTorch(r, size)
		case Safetensors:
			c.tensors, err = readSafetensors(r, size)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", name, err)
	}
	for name := range c.tensors {
		c.names = append(c.names, name)
	}
	slices.Sort(c.names)
	return c, nil
}

// Name is the path it was opened by, or the name it was read under.
func (c *Checkpoint) Name() string { return c.name }

// Format is the kind of file.
func (c *Checkpoint) Format() Format { return c.format }

// Names are the tensors' names, sorted. The caller must not change the slice.
func (c *Checkpoint) Names() []string { return c.names }

// Shape is the tensor's shape (empty for a scalar), and whether there is such a tensor. The caller must not change the slice.
func (c *Checkpoint) Shape(name string) ([]int, bool) {
	t, ok := c.tensors[name]
	return t.shape, ok
}

// DType is the tensor's type in the file under its safetensors name: "F32", "F16", "BF16", "I64" …; "" without such a tensor.
func (c *Checkpoint) DType(name string) string { return string(c.tensors[name].dtype) }

// Float32s reads the tensor, widened to float32, in row-major order. The slice is the caller's.
// Errors: ErrMissing, ErrDType, ErrDamaged.
func (c *Checkpoint) Float32s(name string) ([]float32, error) {
	t, ok := c.tensors[name]
	if !ok {
		return nil, c.missing(name)
	}
	values, err := t.float32s()
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: tensor %q: %w", c.name, name, err)
	}
	return values, nil
}

// Close closes the file that Open opened. What was read from it stays valid.
func (c *Checkpoint) Close() error {
	if c.closer == nil {
		return nil
	}
	return c.closer.Close()
}
