package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unsafe"

	"maskstream/propagate"
)

// lowRes writes the low-resolution logits behind every mask as safetensors, named STEP/FRAME/OBJECT/low_res_logits. The format
// has its header first, so the values wait in a file beside the result until the end.
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

// add writes one frame's maps. It borrows the result.
func (l *lowRes) add(step, frame int, r *propagate.Result) error {
	for _, o := range r.Objects {
		if o.Logits == nil {
			continue
		}
		logits := o.Logits.Float32s()
		data := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(logits))), 4*len(logits)) // little-endian, as all our hosts
		if _, err := l.values.Write(data); err != nil {
			return fmt.Errorf("--low-res: %w", err)
		}
		l.header[fmt.Sprintf("%d/%d/%d/low_res_logits", step, frame, o.ID)] = safetensor{DType: "F32", Shape: o.Logits.Shape(), Offsets: [2]int64{l.size, l.size + int64(len(data))}}
		l.size += int64(len(data))
	}
	return nil
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
