package main

import (
	"cmp"
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
// file beside the result until the end; then they make way for it where they are, since a disk may not have room for them twice.
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
	if followed, err := filepath.EvalSymlinks(path); err == nil {
		path = followed
	}
	values, err := os.OpenFile(path+".values-"+newRunID(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
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
	if _, err := l.values.WriteAt(data, l.size); err != nil {
		return err
	}
	end := l.size + int64(len(data))
	l.header[name] = safetensor{DType: "F32", Shape: shape, Offsets: [2]int64{l.size, end}}
	l.size = end
	return nil
}

// close puts header and values together, also after an error elsewhere: what was tracked is not lost. Where that fails, the values
// stay where they are, and what had the result's name before stays, too.
func (l *lowRes) close() (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("--low-res: %w", err)
		}
	}()
	header, err := json.Marshal(l.header)
	if err != nil {
		return errors.Join(err, l.values.Close())
	}
	header = append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	if there, err := os.Stat(l.path); err == nil && !there.Mode().IsRegular() { // a pipe, a device
		return errors.Join(l.copy(header), l.values.Close(), os.Remove(l.values.Name()))
	}
	err = cmp.Or(l.makeWay(header), l.values.Close())
	if err == nil {
		err = os.Rename(l.values.Name(), l.path)
	}
	if err != nil {
		return fmt.Errorf("%w: the values are kept in %s, without the header that names them", err, l.values.Name())
	}
	return nil
}

func (l *lowRes) copy(header []byte) (err error) {
	file, err := os.OpenFile(l.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(header); err != nil {
		return err
	}
	_, err = io.Copy(file, io.NewSectionReader(l.values, 0, l.size))
	return err
}

// makeWay writes the header before the values. It takes the room that this needs first: what fails then has changed nothing.
func (l *lowRes) makeWay(header []byte) error {
	if err := l.values.Truncate(l.size); err != nil { // what came after was not written whole
		return err
	}
	if _, err := l.values.WriteAt(header, l.size); err != nil {
		return errors.Join(err, l.values.Truncate(l.size))
	}
	chunk := make([]byte, 1<<20)
	for at := l.size; at > 0; {
		part := chunk[:min(int64(len(chunk)), at)]
		at -= int64(len(part))
		if _, err := l.values.ReadAt(part, at); err != nil {
			return err
		}
		if _, err := l.values.WriteAt(part, at+int64(len(header))); err != nil {
			return err
		}
	}
	_, err := l.values.WriteAt(header, 0)
	return err
}
