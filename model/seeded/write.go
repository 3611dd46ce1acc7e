package seeded

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
)

// Write writes the made-up weights as a safetensors file. Counters of batch normalisations are integers, and zero.
func Write(path string, shapes Shapes, seed uint64) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("seeded: %w", err)
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = fmt.Errorf("seeded: %s: %w", path, err)
		}
	}()
	type tensor struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header := map[string]tensor{}
	var names []string
	for name := range shapes {
		names = append(names, name)
	}
	slices.Sort(names)
	offset := 0
	for _, name := range names {
		t := tensor{DType: "F32", Shape: append([]int{}, shapes[name]...)}
		size := 4
		if counter(name) {
			t.DType, size = "I64", 8
		}
		for _, n := range t.Shape {
			size *= n
		}
		t.Offsets = [2]int{offset, offset + size}
		offset += size
		header[name] = t
	}
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	out.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text)))) // the writer keeps its first error for Flush
	out.Write(text)
	var row []byte
	for _, name := range names {
		if counter(name) {
			out.Write(make([]byte, header[name].Offsets[1]-header[name].Offsets[0]))
			continue
		}
		row = row[:0]
		for _, v := range Values(name, shapes[name], seed) {
			row = binary.LittleEndian.AppendUint32(row, math.Float32bits(v))
		}
		out.Write(row)
	}
	return out.Flush()
}

func counter(name string) bool { return strings.HasSuffix(name, "num_batches_tracked") }
