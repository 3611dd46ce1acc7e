package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"maskstream/propagate"
)

// lowRes writes what stands behind every mask as safetensors, named STEP/FRAME/OBJECT/… as the reference's recordings:
// low_res_logits 4h×4w, object_pointer C and object_score_logit 1. The format has its header first, so the values wait in a
// file beside the result until the end.
type lowRes struct {
	path   string
	values *os.File
	header map[string]safetensor
	size   int64
}

type safetensor struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

func newLowRes(path string) (*lowRes, error) {
	values, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".values-*")
	if err != nil {
		return nil, fmt.Errorf("--low-res: %w", err)
	}
	return &lowRes{path: path, values: values, header: map[string]safetensor{}}, nil
}

// add writes one frame's tensors. It borrows the result.
func (l *lowRes) add(step, frame int, r *propagate.Result) error {
	for _, o := range r.Objects {
		if o.Logits == nil {
			continue
		}
		name := fmt.Sprintf("%d/%d/%d/", step, frame, o.ID)
		err := errors.Join(
			l.write(name+"low_res_logits", o.Logits.Shape(), o.Logits.Float32s()),
			l.write(name+"object_pointer", o.Pointer.Shape(), o.Pointer.Float32s()),
			l.write(name+"object_score_logit", []int{1}, []float32{o.ObjectScore}))
		if err != nil {
			return fmt.Errorf("--low-res: %w", err)
		}
	}
	return nil
}

func (l *lowRes) write(name string, shape []int, values []float32) error {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	n, err := l.values.Write(data)
	l.header[name] = safetensor{DType: "F32", Shape: shape, Offsets: [2]int64{l.size, l.size + int64(n)}}
	l.size += int64(n)
	return err
}

// close puts header and values together, also after an error elsewhere: what was tracked is not lost.
func (l *lowRes) close() (err error) {
	defer func() {
		err = errors.Join(err, l.values.Close(), os.Remove(l.values.Name()))
		if err != nil {
			err = fmt.Errorf("--low-res: %w", err)
		}
	}()
	header, err := json.Marshal(l.header)
	if err != nil {
		return err
	}
	if _, err := l.values.Seek(0, io.SeekStart); err != nil {
		return err
	}
	file, err := os.Create(l.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := binary.Write(file, binary.LittleEndian, uint64(len(header))); err != nil {
		return err
	}
	if _, err := file.Write(header); err != nil {
		return err
	}
	_, err = io.Copy(file, l.values)
	return err
}
