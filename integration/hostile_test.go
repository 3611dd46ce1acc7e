package integration

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// confined runs the program with no more than 8 GB of address space, so that a file that asks for the machine's memory fails the
// test and not the machine. limits are further ones of the shell's, as in "ulimit -f 8;".
func confined(t *testing.T, limits string, arguments ...string) result {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", append([]string{"-c", "ulimit -v 8000000; " + limits + ` exec "$@"`, "bash", tracker}, arguments...)...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), command.ProcessState.ExitCode()}
}

// refused wants one line on stderr that holds all of says, nothing on stdout, and the status.
func refused(t *testing.T, r result, status int, says ...string) {
	t.Helper()
	if r.status != status || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
		t.Errorf("status %d, wanted %d and one line: %s%s", r.status, status, r.stdout, r.stderr)
	}
	for _, part := range says {
		if !strings.Contains(r.stderr, part) {
			t.Errorf("no %q in %s", part, r.stderr)
		}
	}
}

// weight is one tensor of a safetensors file.
type weight struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
	data    []byte
}

// editedWeights writes the small model's weights with an edit.
func editedWeights(t *testing.T, good string, edit func(map[string]*weight)) string {
	t.Helper()
	content, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	length := int(content[0]) | int(content[1])<<8 | int(content[2])<<16
	header, body := content[8:8+length], content[8+length:]
	var weights map[string]*weight
	if err := json.Unmarshal(header, &weights); err != nil {
		t.Fatal(err)
	}
	for _, w := range weights {
		w.data = bytes.Clone(body[w.Offsets[0]:w.Offsets[1]])
	}
	edit(weights)
	var data []byte
	for _, w := range weights {
		w.Offsets = [2]int{len(data), len(data) + len(w.data)}
		data = append(data, w.data...)
	}
	text, err := json.Marshal(weights)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "edited.safetensors")
	prefix := []byte{byte(len(text)), byte(len(text) >> 8), byte(len(text) >> 16), 0, 0, 0, 0, 0}
	write(t, path, string(prefix)+string(text)+string(data))
	return path
}

const picture = "testdata/random64/frames/00000.png"

func TestAModelThatCannotBeSaysWhyInOneLine(t *testing.T) {
	good := seededWeights(t, "testdata/seeded/shapes.json.gz", "sam2_small")
	const yaml, norm = "testdata/seeded/sam2_small.yaml", "memory_attention.norm.weight"
	bits := func(v float64) string {
		b := math.Float32bits(float32(v))
		return string([]byte{byte(b), byte(b >> 8), byte(b >> 16), byte(b >> 24)})
	}
	cut := func(path string, share float64) string {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		short := filepath.Join(t.TempDir(), "cut"+filepath.Ext(path))
		write(t, short, string(content[:int(share*float64(len(content)))]))
		return short
	}
	configured := func(from, to string) string {
		text, err := os.ReadFile(yaml)
		if err != nil || !strings.Contains(string(text), from) {
			t.Fatalf("no %q in the configuration: %v", from, err)
		}
		path := filepath.Join(t.TempDir(), "edited.yaml")
		write(t, path, strings.Replace(string(text), from, to, 1))
		return path
	}
	file := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		write(t, path, content)
		return path
	}
	type row struct {
		name, model, config string
		says                []string
	}
	rows := []row{
		{"a tensor missing", editedWeights(t, good, func(w map[string]*weight) { delete(w, norm) }), yaml,
			[]string{"edited.safetensors", `no such tensor: "` + norm + `"`, `the nearest is "memory_attention.norm.bias"`}},
		{"a tensor too many", editedWeights(t, good, func(w map[string]*weight) {
			w["head.weight"] = &weight{DType: "F32", Shape: []int{1}, data: make([]byte, 4)}
		}), yaml,
			[]string{"edited.safetensors", "without a place in the network", "head.weight", "another model's configuration?"}},
		{"a tensor of another shape", editedWeights(t, good, func(w map[string]*weight) { w[norm].Shape = []int{1, w[norm].Shape[0]} }), yaml,
			[]string{"edited.safetensors", norm, "it is [1 64], the network wants [64]"}},
		{"a tensor of another type", editedWeights(t, good, func(w map[string]*weight) { w[norm].DType = "I32" }), yaml,
			[]string{"edited.safetensors", norm, "it is I32; weights are F32, F16 or BF16"}},
		{"a number that is none", editedWeights(t, good, func(w map[string]*weight) { copy(w[norm].data[8:], bits(math.NaN())) }), yaml,
			[]string{"edited.safetensors", norm, "element 2 is NaN, weights are finite numbers"}},
		{"a number without end", editedWeights(t, good, func(w map[string]*weight) { copy(w[norm].data, bits(math.Inf(-1))) }), yaml,
			[]string{norm, "element 0 is -Inf"}},

		{"no such file", "none.pt", "", []string{"checkpoint none.pt", "no such file", `"nano" for the built-in model`}},
		{"a known name", "sam2.1_hiera_tiny", "", []string{"download sam2.1_hiera_tiny.pt"}},
		{"a folder", t.TempDir(), "", []string{"it is a folder; name the .pt or .safetensors file inside"}},
		{"an empty file", file("empty.pt", ""), "", []string{"empty.pt", "the file is empty; download it again"}},
		{"a device", "/dev/zero", "", []string{"/dev/zero", "a pipe or a device"}},
		{"a web page", file("model.pt", "<!doctype html>"), "", []string{"model.pt", "a web page"}},
		{"a configuration", yaml, "", []string{yaml, "neither a PyTorch .pt nor a .safetensors file"}},
		{"os.system", file("evil.pt", evil(t)), "", []string{"evil.pt", "refused", `"os.system"`, "save model.state_dict() alone"}},

		{"a configuration of another model", good, configured("num_maskmem: 7", "num_maskmem: 5"), []string{"edited.yaml does not fit", "num_maskmem is 7, not 5"}},
		{"a picture beyond all memory", good, configured("image_size: 256", "image_size: 1048576"), []string{"edited.yaml:", "image_size", "is more than 2048"}},
		{"tabs", good, file("tab.yaml", "model:\n\timage_encoder: 1\n"), []string{"tab.yaml:2: a tab, where YAML wants spaces"}},
		{"a configuration that is none", good, file("junk.yaml", "\x00\xff\xfe"), []string{"junk.yaml"}},
		{"a configuration that is weights", good, good, []string{good, "more than 65536 bytes"}},
		{"no such configuration", good, "none.yaml", []string{"none.yaml", "no such file"}},
		{"a folder as configuration", good, t.TempDir(), []string{"it is a folder; name the .yaml file"}},
	}
	for _, share := range []float64{0.0001, 0.01, 0.3, 0.7, 0.99, 0.9999} {
		rows = append(rows,
			row{fmt.Sprintf("%g of a zip", share), cut("testdata/random64/model.pt", share), "", []string{"cut.pt", "damaged checkpoint", "download it again"}},
			row{fmt.Sprintf("%g of a safetensors file", share), cut(good, share), "", []string{"cut.safetensors", "damaged checkpoint", "download it again"}})
	}
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			model, folder := []string{"--model", c.model}, filepath.Join(t.TempDir(), "graphs")
			convert := []string{"model", "convert", c.model, "-o", folder}
			if c.config != "" {
				model, convert = append(model, "--model-config", c.config), append(convert, "--model-config", c.config)
			}
			refused(t, confined(t, "", append([]string{"segment", picture, "--point", "10,10"}, model...)...), 2, c.says...)
			refused(t, confined(t, "", convert...), 2, c.says...)
			if entries, err := os.ReadDir(folder); err == nil {
				t.Errorf("it left %d files", len(entries))
			}
		})
	}
}

// evil is a checkpoint whose pickle calls os.system.
func evil(t *testing.T) string {
	t.Helper()
	var content bytes.Buffer
	archive := zip.NewWriter(&content)
	pickle, err := archive.Create("m/data.pkl")
	if err == nil {
		_, err = pickle.Write([]byte("\x80\x02cos\nsystem\nX\x05\x00\x00\x00false\x85R."))
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		t.Fatal(err)
	}
	return content.String()
}

func TestAResultThatCannotBeWrittenIsOneLineAndNothingIsLost(t *testing.T) {
	scene := func(flags ...string) []string {
		return append([]string{"track", "testscene:?frames=30&pace=0", "--box", "418,101,544,227"}, flags...)
	}
	nowhere, folder := filepath.Join(t.TempDir(), "none", "file"), t.TempDir()
	for _, c := range []struct {
		arguments []string
		says      string
	}{
		{scene("--out", "/dev/full"), "/dev/full after 0 whole lines: write /dev/full: no space left on device: free some space, or write elsewhere"},
		{scene("--out", nowhere), nowhere + ": no such file or directory"},
		{scene("--out", folder), folder + ": is a directory"},
		{scene("--out", "/dev/null", "--trace", "/dev/full"), "--trace: write /dev/full: no space left on device: free some space, or write elsewhere"},
		{scene("--out", "/dev/null", "--low-res", "/dev/full"), "--low-res: write /dev/full: no space left on device: free some space, or write elsewhere"},
		{scene("--out", "/dev/null", "--overlay", nowhere+".mp4"), nowhere + ".mp4"},
		{[]string{"segment", picture, "--point", "10,10", "--out", "/dev/full"}, "write /dev/full: no space left on device: free some space, or write elsewhere"},
		{[]string{"model", "convert", "nano", "-o", "/dev/full"}, "/dev/full: not a directory"},
	} {
		refused(t, confined(t, "", c.arguments...), 1, c.says)
	}

	out := filepath.Join(t.TempDir(), "masks.jsonl")
	r := confined(t, "ulimit -f 8;", scene("--out", out)...) // 8 KiB
	refused(t, r, 1, out, "whole lines", "file too large")
	content, err := os.ReadFile(out)
	lines := strings.SplitAfter(string(content), "\n")
	if err != nil || len(lines) < 5 || !strings.Contains(r.stderr, fmt.Sprintf("after %d whole lines", len(lines)-1)) {
		t.Fatalf("%d lines are left, %v: %s", len(lines)-1, err, r.stderr)
	}
	for _, line := range lines[:len(lines)-1] {
		if !json.Valid([]byte(line)) {
			t.Errorf("half a line: %q", line)
		}
	}
}

func TestAServiceThatCannotBeginSaysWhyInItsLastLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	const stream, bus = "streams: [{name: gate, url: 'testscene:', model: nano}]\n", "nats: {embedded: true, url: 'nats://127.0.0.1:0'}\n"
	small := strings.Replace(stream, "nano", seededWeights(t, "testdata/seeded/shapes.json.gz", "sam2_small"), 1)
	configured := strings.Replace(small, "}]", ", model_config: testdata/seeded/sam2_small.yaml}]", 1)
	for _, c := range []struct {
		name, config string
		status       int
		says         string
	}{
		{"a model that its weights do not tell", small + bus, 2, "give its configuration with --model-config FILE.yaml (a stream: model_config)"},
		{"a model configuration that is none", strings.Replace(configured, "sam2_small.yaml", "none.yaml", 1) + bus, 2, "stream gate: model configuration: open testdata/seeded/none.yaml"},
		{"a model with its configuration, and then the port", configured + bus + "http: {listen: '" + taken.Addr().String() + "'}", 1, "another program uses this port"},
		{"a port that is taken", stream + bus + "http: {listen: '" + taken.Addr().String() + "'}", 1, "http.listen " + taken.Addr().String() + ": another program uses this port: end it, or choose another port"},
		{"no token", stream + bus + "http: {listen: '127.0.0.1:0', token_file: /none}", 2, "http.token_file: secret: open /none"},
		{"no model", strings.Replace(stream, "nano", "none.pt", 1) + bus, 2, "stream gate: checkpoint none.pt: no such file"},
		{"an unknown key", stream + "colour: red", 2, `service.yaml:2:1: unknown key "colour"`},
		{"tabs", "streams:\n\t- name: a", 2, "service.yaml:2:1: no YAML: a tab, where YAML wants spaces"},
		{"a key twice", stream + "log: {level: info, level: warn}", 2, "service.yaml:2:20: "},
		{"binary", "\xff\xfe\x00", 2, "service.yaml: it is not UTF-8"},
		{"laughs", "streams:\n  - &a {name: a, url: x}\n  - &b [*a, *a, *a]\n", 2, "service.yaml:3:"},
		{"brackets", strings.Repeat("[", 100_000), 2, "service.yaml:1:65: more than 64 levels deep"},
		{"a size where a number belongs", stream + "nats: {batch: {count: many}}", 2, `service.yaml:2:23: nats.batch.count: "many" is no whole number`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "service.yaml")
			write(t, path, c.config)
			r := confined(t, "", "run", "-c", path)
			lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
			last := lines[len(lines)-1]
			if r.status != c.status || r.stdout != "" || !strings.HasPrefix(last, "tracker run: ") || !strings.Contains(last, c.says) {
				t.Errorf("status %d: %s", r.status, r.stderr)
			}
			for _, line := range lines[:len(lines)-1] {
				if !strings.HasPrefix(line, "time=") { // the log
					t.Errorf("a line besides the log: %s", line)
				}
			}
		})
	}
}

func TestALibraryThatIsNoneSaysWhatToDoInOneLine(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "tracker")
	if err := os.Link(tracker, program); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"an empty file": "", "text": strings.Repeat("no library\n", 1000)} {
		t.Run(name, func(t *testing.T) {
			library := filepath.Join(folder, "libonnxruntime.so")
			write(t, library, content)
			command := exec.Command(program, "segment", picture, "--point", "10,10")
			var stdout, stderr bytes.Buffer
			command.Stdout, command.Stderr = &stdout, &stderr
			if err := command.Run(); err == nil {
				t.Fatal("it ran")
			}
			refused(t, result{stdout.String(), stderr.String(), command.ProcessState.ExitCode()}, 1, library+" cannot be opened", "run `make setup`, or install it again beside the executable")
		})
	}
}
