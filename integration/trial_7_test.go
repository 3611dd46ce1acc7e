package integration

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"maskstream/frames"
	"maskstream/ingest"
	"maskstream/rle"
	"maskstream/tensor"
)

const zooSize = 256 // of the built-in model

// TestTrial7PixelZoo holds what the network is given of every sort of video to a reference that is computed without this project, and
// the size of the masks to the size at which the reference shows the picture.
func TestTrial7PixelZoo(t *testing.T) {
	reference := startReference(t)
	for _, k := range zoo {
		t.Run(k.name, func(t *testing.T) {
			path, parts := k.make(t)
			got, chosen := tensors(t, path)
			want := reference.of(t, k, parts, chosen)
			if len(got) != want.Count {
				t.Fatalf("%d pictures, the reference has %d", len(got), want.Count)
			}
			sum, worst := 0.0, 0.0
			for i, at := range chosen {
				for j, v := range got[at] {
					d := math.Abs(v - want.values[i][j])
					sum, worst = sum+d, max(worst, d)
				}
			}
			mean := 255 * sum / float64(len(chosen)*3*zooSize*zooSize)
			if t.Logf("off by %.3f/255 on average, %.3f/255 at most", mean, 255*worst); 255*worst > 2 {
				t.Errorf("off by %.2f/255 on average, %.2f/255 at most", mean, 255*worst)
			}
			for i, at := range chosen {
				if i > 0 && want.Sizes[i] == want.Sizes[0] {
					continue
				}
				r := must(t, "track", path, "--point", fmt.Sprintf("1@%d:20,20", at), "--max-frames", fmt.Sprint(at+1))
				var line rle.Frame
				parse(t, strings.SplitN(r.stdout, "\n", 2)[0], &line)
				if line.Size != [2]int{want.Sizes[i][1], want.Sizes[i][0]} {
					t.Errorf("masks are %d×%d, the picture is shown as %v", line.Size[1], line.Size[0], want.Sizes[i])
				}
			}
		})
	}
}

// tensors are the values, 0 … 1, of every picture, and the numbers of the first and the last.
func tensors(t *testing.T, path string) (values [][]float64, chosen []int) {
	t.Helper()
	reader, err := ingest.Open(t.Context(), ingest.Options{URL: path})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	pool := tensor.NewPool("test", tensor.Host(), 0)
	defer tensor.NoLeaks(t, pool)
	converter := frames.NewConverter(zooSize, pool)
	mean, deviation := [3]float64{0.485, 0.456, 0.406}, [3]float64{0.229, 0.224, 0.225}
	for {
		p, err := reader.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return values, []int{0, len(values) - 1}
		}
		if err != nil {
			t.Fatal(err)
		}
		f, err := converter.Convert(p)
		if err != nil {
			t.Fatal(err)
		}
		plain := make([]float64, 3*zooSize*zooSize)
		for i, v := range f.Pixels.Float32s() {
			c := i / (zooSize * zooSize)
			plain[i] = float64(v)*deviation[c] + mean[c]
		}
		values = append(values, plain)
		f.Release()
		p.Release()
	}
}

// reference is a process that computes what pictures should be.
type reference struct {
	ask    *json.Encoder
	answer *bufio.Reader
}

type expected struct {
	Count  int      `json:"count"` // of pictures
	Sizes  [][2]int `json:"sizes"` // width, height of the chosen ones
	File   string   `json:"file"`
	values [][]float64
}

func startReference(t *testing.T) *reference {
	t.Helper()
	command := exec.Command("../.deps/venv/bin/python", "testdata/pixels.py", t.TempDir())
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("%v (`make setup` installs it)", err)
	}
	t.Cleanup(func() {
		in.Close()
		command.Wait()
	})
	return &reference{json.NewEncoder(in), bufio.NewReader(out)}
}

func (r *reference) of(t *testing.T, k kind, files []string, chosen []int) (want expected) {
	t.Helper()
	if err := r.ask.Encode(map[string]any{"files": files, "matrix": cmp.Or(k.matrix, "auto"), "upright": k.upright, "size": zooSize, "frames": chosen}); err != nil {
		t.Fatal(err)
	}
	line, err := r.answer.ReadString('\n')
	if err != nil {
		t.Fatalf("the reference says nothing: %v", err)
	}
	parse(t, line, &want)
	data := readFile(t, want.File)
	for range chosen {
		values := make([]float64, 3*zooSize*zooSize)
		for i := range values {
			values[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		}
		want.values = append(want.values, values)
		data = data[8*len(values):]
	}
	return want
}
