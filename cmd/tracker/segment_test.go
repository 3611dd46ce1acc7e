package main

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"maskstream/model/checkpoint"
	"maskstream/model/nano"
	"maskstream/model/ort"
	"maskstream/model/sam2"
	"maskstream/tensor"
)

// watched are weights that count how often the positional encoding is computed from them.
type watched struct {
	sam2.Weights
	encodings *int
}

func (w watched) Take(name string, shape ...int) ([]float32, error) {
	if strings.HasSuffix(name, "positional_encoding_gaussian_matrix") {
		*w.encodings++
	}
	return w.Weights.Take(name, shape...)
}

// closing counts closed networks.
type closing struct {
	*ort.Network
	closed *int
}

func (c closing) Close() error {
	*c.closed++
	return c.Network.Close()
}

func TestThePositionalEncodingIsComputedOnceACallAndNotKept(t *testing.T) {
	encodings, closed := 0, 0
	open := func(pool *tensor.Pool) (imageNetwork, error) {
		weights, config, err := sam2.Load(nano.Name, "")
		if err != nil {
			return nil, err
		}
		network, err := ort.Load(config, watched{checkpoint.NewWeights(weights), &encodings}, ort.Options{Threads: 1, Pool: pool})
		return closing{network, &closed}, err
	}
	var images []string
	for _, size := range []image.Rectangle{image.Rect(0, 0, 40, 30), image.Rect(0, 0, 31, 64), image.Rect(0, 0, 256, 256)} {
		images = append(images, filepath.Join(t.TempDir(), "black.png"))
		if err := writeTo(images[len(images)-1], nil, func(w io.Writer) error { return png.Encode(w, image.NewGray(size)) }); err != nil {
			t.Fatal(err)
		}
	}
	for call := 1; call <= 2; call++ {
		var out bytes.Buffer
		if err := segment(t.Context(), &out, images, segmentFlags{points: []string{"5,5"}, out: "-"}, open); err != nil {
			t.Fatalf("%v (`make setup` installs ONNX Runtime)", err)
		}
		var records [][]json.RawMessage
		if err := json.Unmarshal(out.Bytes(), &records); err != nil || len(records) != len(images) {
			t.Fatalf("%v: %s", err, out.Bytes())
		}
		if encodings != call || closed != call {
			t.Errorf("after %d calls over %d pictures each: %d encodings, %d networks closed", call, len(images), encodings, closed)
		}
	}
}

func TestTheOverlayIsThePictureWithMasksOverIt(t *testing.T) {
	folder := t.TempDir()
	name, overlay := filepath.Join(folder, "in.png"), filepath.Join(folder, "out.png")
	if err := writeTo(name, nil, func(w io.Writer) error { return png.Encode(w, image.NewGray(image.Rect(0, 0, 64, 48))) }); err != nil {
		t.Fatal(err)
	}
	f := segmentFlags{boxes: []string{"8,8,40,40"}, out: filepath.Join(folder, "out.json"), overlay: overlay}
	if err := segment(t.Context(), nil, []string{name}, f, func(p *tensor.Pool) (imageNetwork, error) { return openModel("nano", "", 1, p) }); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(overlay)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	drawn, err := png.Decode(file)
	if err != nil || drawn.Bounds() != image.Rect(0, 0, 64, 48) {
		t.Errorf("%v", err)
	}
	if data, err := os.ReadFile(f.out); err != nil || !json.Valid(data) {
		t.Errorf("%v: %s", err, data)
	}
}
