package ort

import (
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"maskstream/model/checkpoint"
	"maskstream/model/onnx"
	"maskstream/model/sam2"
	"maskstream/model/seeded"
)

// kib is a line of the process's status, such as VmHWM, the largest resident size so far.
func kib(t *testing.T, line string) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), line+":")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestOpeningAModelTakesLittleMoreThanTwiceItsWeights: a published model's size of weights, from its file to open sessions.
func TestOpeningAModelTakesLittleMoreThanTwiceItsWeights(t *testing.T) {
	models, err := seeded.ReadShapes("../sam2/testdata/names_and_shapes.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tiny.safetensors")
	if err := seeded.Write(path, models["sam2.1_hiera_tiny"], 1); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	weights, config, err := sam2.Load(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer weights.Close()
	if err := initialise(""); err != nil {
		t.Fatalf("%v (`make setup` installs it)", err)
	}
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	before := kib(t, "VmRSS")
	network, err := Load(config, checkpoint.NewWeights(weights), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	size := int(info.Size() >> 10)
	peak, kept := kib(t, "VmHWM")-before, kib(t, "VmRSS")-before
	t.Logf("weights %d MiB, at most %d MiB, kept %d MiB", size>>10, peak>>10, kept>>10)
	if 2*peak > 5*size || kept > 2*size {
		t.Errorf("opening %d MiB of weights took %d MiB at most and kept %d MiB", size>>10, peak>>10, kept>>10)
	}
}

// TestWhatFailsInTheLibraryIsAnErrorAndNothingOnStderr: stderr is for the one line that the program writes.
func TestWhatFailsInTheLibraryIsAnErrorAndNothingOnStderr(t *testing.T) {
	if err := initialise(""); err != nil {
		t.Fatalf("%v (`make setup` installs it)", err)
	}
	mismatched, err := onnx.Build("mismatched", func(g *onnx.Graph) {
		n := g.Symbol("n")
		g.Output("sum", g.Add(g.Input("a", onnx.Float, n), g.Input("b", onnx.Float, n)))
	})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := sessionOptions(Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer settings.Destroy()
	printed := stderrOf(t, func() {
		if _, err := newSession("junk", []byte("no graph"), settings, []string{"a"}, []string{"sum"}); err == nil || !strings.Contains(err.Error(), "opening junk") {
			t.Errorf("junk was opened: %v", err)
		}
		s, err := newSession("mismatched", mismatched, settings, []string{"a", "b"}, []string{"sum"})
		if err != nil {
			t.Error(err)
			return
		}
		defer s.close()
		err = s.call([]array{floats(make([]float32, 2), 2), floats(make([]float32, 3), 3)}, []array{floats(make([]float32, 3), 3)})
		if err == nil || !strings.Contains(err.Error(), "running mismatched") {
			t.Errorf("it ran: %v", err)
		}
	})
	if printed != "" {
		t.Errorf("the library printed: %s", printed)
	}
}

// stderrOf runs f while file descriptor 2, which C libraries write to, is a file, and returns what is in it.
func stderrOf(t *testing.T, f func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stderr, err := syscall.Dup(2)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(stderr)
	if err := syscall.Dup3(int(file.Fd()), 2, 0); err != nil {
		t.Fatal(err)
	}
	f()
	if err := syscall.Dup3(stderr, 2, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
