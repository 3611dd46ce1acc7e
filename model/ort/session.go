package ort

import (
	"errors"
	"fmt"

	onnxruntime "github.com/yalue/onnxruntime_go"

	"maskstream/internal/garbage"
	"maskstream/tensor"
)

// session is one graph, ready to run.
type session struct {
	name   string
	inputs []string
	run    *onnxruntime.DynamicAdvancedSession
}

func newSession(name string, model []byte, options *onnxruntime.SessionOptions, inputs, outputs []string) (*session, error) {
	garbage.Return(len(model)) // what building it has left behind goes before the library makes copies of its own
	defer returnFreed()()
	run, err := onnxruntime.NewDynamicAdvancedSessionWithONNXData(model, inputs, outputs, options)
	if err != nil {
		return nil, fmt.Errorf("onnx runtime: opening %s: %w", name, err)
	}
	return &session{name, inputs, run}, nil
}

func (s *session) close() error {
	if s == nil {
		return nil
	}
	return s.run.Destroy()
}

// call runs the graph once; inputs and outputs are in the order of newSession, their memory is borrowed until it returns.
func (s *session) call(inputs, outputs []array) error {
	all := make([]onnxruntime.Value, 0, len(inputs)+len(outputs))
	defer func() {
		for _, v := range all {
			v.Destroy()
		}
	}()
	for _, a := range append(inputs[:len(inputs):len(inputs)], outputs...) {
		v, err := a.value()
		if err != nil {
			return fmt.Errorf("onnx runtime: %s: %w", s.name, err)
		}
		all = append(all, v)
	}
	if err := s.run.Run(all[:len(inputs)], all[len(inputs):]); err != nil {
		return fmt.Errorf("onnx runtime: running %s: %w", s.name, err)
	}
	return nil
}

// fetch runs the graph once for other outputs than those of newSession, by name: inputs as for call, and their memory is
// borrowed as there.
func (s *session) fetch(inputs []array, names []string, outputs []array) error {
	binding, err := s.run.CreateIoBinding()
	if err != nil {
		return fmt.Errorf("onnx runtime: %s: %w", s.name, err)
	}
	var all []onnxruntime.Value
	defer func() {
		binding.Destroy()
		for _, v := range all {
			v.Destroy()
		}
	}()
	bind := func(names []string, arrays []array, as func(string, onnxruntime.Value) error) error {
		for i, a := range arrays {
			v, err := a.value()
			if err != nil {
				return fmt.Errorf("onnx runtime: %s: %s: %w", s.name, names[i], err)
			}
			all = append(all, v)
			if err := as(names[i], v); err != nil {
				return fmt.Errorf("onnx runtime: %s: %s: %w", s.name, names[i], err)
			}
		}
		return nil
	}
	if err := errors.Join(bind(s.inputs, inputs, binding.BindInput), bind(names, outputs, binding.BindOutput)); err != nil {
		return err
	}
	if err := s.run.RunWithBinding(binding); err != nil {
		return fmt.Errorf("onnx runtime: running %s: %w", s.name, err)
	}
	return nil
}

// array is memory with a shape: one argument of a call. One of the three slices is in use.
type array struct {
	floats    []float32
	integers  []int64
	bfloat16s []byte
	shape     []int
}

func floats(data []float32, shape ...int) array { return array{floats: data, shape: shape} }
func integers(data []int64, shape ...int) array { return array{integers: data, shape: shape} }
func bfloat16s(data []byte, shape ...int) array { return array{bfloat16s: data, shape: shape} }

// whole is all of a float32 or bfloat16 tensor.
func whole(t *tensor.Tensor) array {
	if t.DType() == tensor.BFloat16 {
		return bfloat16s(t.Bytes(), t.Shape()...)
	}
	return floats(t.Float32s(), t.Shape()...)
}

// rows is, like whole, elements from first to before end of the tensor's first dimension.
func rows(t *tensor.Tensor, first, end int) array {
	shape := append([]int{end - first}, t.Shape()[1:]...)
	row := tensor.Elements(shape[1:])
	if t.DType() == tensor.BFloat16 {
		return bfloat16s(t.Bytes()[2*first*row:2*end*row], shape...)
	}
	return floats(t.Float32s()[first*row:end*row], shape...)
}

func (a array) value() (onnxruntime.Value, error) {
	shape := make(onnxruntime.Shape, len(a.shape))
	for i, d := range a.shape {
		shape[i] = int64(d)
	}
	switch {
	case a.integers != nil:
		return onnxruntime.NewTensor(shape, a.integers)
	case a.bfloat16s != nil:
		if len(a.bfloat16s) == 0 { // the binding refuses empty memory, whatever the shape
			a.bfloat16s = make([]byte, 1)
		}
		return onnxruntime.NewCustomDataTensor(shape, a.bfloat16s, onnxruntime.TensorElementDataTypeBFloat16)
	default:
		return onnxruntime.NewTensor(shape, a.floats)
	}
}
