package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"maskstream/memory"
	"maskstream/propagate"
	"maskstream/rle"
)

// traceFile writes which memories each frame attended to, one JSON line for each object and frame.
type traceFile struct {
	file    *os.File
	buffer  *bufio.Writer
	every   int               // distance between processed frames: the trace speaks of the source's
	waiting []propagate.Trace // of the frame at hand, whose step is known with its result
}

// traceLine is the form of the lines.
type traceLine struct {
	Step         int           `json:"step"`
	Frame        int           `json:"frame"`
	Object       int           `json:"object"`
	Direction    rle.Direction `json:"direction"`
	Conditioning []int         `json:"conditioning"`
	Recent       []int         `json:"recent"`
	Pointers     []int         `json:"pointers"`
	Tokens       int           `json:"tokens"`
}

func newTraceFile(path string, every int) (*traceFile, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	return &traceFile{file: file, buffer: bufio.NewWriter(file), every: every}, nil
}

// add takes what one object attended to on the frame that is being tracked.
func (t *traceFile) add(tr propagate.Trace) { t.waiting = append(t.waiting, tr) }

// write writes the frame's lines once the step has its result.
func (t *traceFile) write(step int) error {
	for _, tr := range t.waiting {
		line := traceLine{Step: step, Frame: tr.Frame * t.every, Object: tr.Object, Direction: rle.Forward, Tokens: tr.Tokens,
			Conditioning: t.numbers(tr.Conditioning), Recent: t.numbers(tr.Recent), Pointers: t.numbers(tr.Pointers)}
		if tr.Pass == memory.Reverse {
			line.Direction = rle.Reverse
		}
		data, err := json.Marshal(line)
		if err == nil {
			_, err = t.buffer.Write(append(data, '\n'))
		}
		if err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
	}
	t.waiting = t.waiting[:0]
	return nil
}

func (t *traceFile) numbers(indices []int) []int {
	numbers := make([]int, len(indices))
	for i, index := range indices {
		numbers[i] = index * t.every
	}
	return numbers
}

func (t *traceFile) close() error {
	if err := errors.Join(t.buffer.Flush(), t.file.Close()); err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	return nil
}
