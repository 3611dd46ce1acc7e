// Package integration tests the tracker as a whole: the shape of the house in this file, and end to end in the others.
package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "maskstream"

// floors are the packages from low to high. What a package imports lies on a lower floor than itself.
var floors = [][]string{
	{"internal/chromium", "internal/garbage", "internal/nearest", "internal/systemd", "internal/userfile"},
	{"rle", "tensor", "configs", "internal/queue", "internal/spool", "model/onnx", "model/checkpoint", "model/seeded", "memory/motion"},
	{"frames", "model", "model/nano", "ingest/cameratest"},
	{"ingest", "memory", "sink", "model/sam2", "model/modeltest"},
	{"sink/rtc", "model/ort", "model/amg"},
	{"control", "propagate"},
	{"internal/clip", "internal/stream"},
	{"cmd/tracker", "examples/go"},
}

// onlyImporter is the package that alone knows a library, so that replacing the library changes one package.
var onlyImporter = map[string]string{
	"github.com/asticode/go-astiav":     "ingest",
	"github.com/yalue/onnxruntime_go":   "model/ort",
	"github.com/pion/":                  "sink/rtc",
	"github.com/prometheus/":            "control",
	"github.com/bluenviron/gortsplib/":  "ingest/cameratest",
	"github.com/nats-io/nats-server/v2": "sink",
}

// Packages that use cgo, and those that cannot do without it because of what they import. Every other one works without cgo.
var (
	cgoUsers = []string{"ingest", "model/ort"}
	cgoNeeds = []string{"cmd/tracker", "integration"}
)

// file is one Go source file with what it imports, whatever build tags it is under.
type file struct {
	path    string // from the module's root, with slashes
	text    []byte
	imports []string
}

func (f file) pkg() string  { return path.Dir(f.path) }
func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// files reads the module's sources. It reads them in this process, and not through go list, because go test then knows that a
// result no longer holds when one of them changes.
func files(t *testing.T) []file {
	t.Helper()
	var all []file
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		switch {
		case entry.IsDir() && name != ".." && (base[0] == '.' || base[0] == '_' || base == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		source, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		f := file{path: filepath.ToSlash(strings.TrimPrefix(name, ".."+string(filepath.Separator))), text: text}
		for _, spec := range source.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, imported)
		}
		all = append(all, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// broken says in a sentence each which import rules a file breaks. Tests may import what they like, but for cgo.
func broken(f file) (sentences []string) {
	complain := func(format string, arguments ...any) {
		sentences = append(sentences, f.path+": "+fmt.Sprintf(format, arguments...))
	}
	floor := floorOf(f.pkg())
	if floor < 0 && f.pkg() != "integration" {
		complain("package %s is on no floor: give it one in integration/imports_test.go", f.pkg())
		return sentences
	}
	for _, imported := range f.imports {
		if imported == "C" && !slices.Contains(cgoUsers, f.pkg()) && !strings.HasSuffix(f.path, "_cuda.go") {
			complain("uses cgo: only %s and files named *_cuda.go may", strings.Join(cgoUsers, ", "))
		}
		if f.isTest() {
			continue
		}
		if ours, found := strings.CutPrefix(imported, module+"/"); found && floorOf(ours) >= floor {
			complain("%s on floor %d imports %s on floor %d: imports run down only", f.pkg(), floor, ours, floorOf(ours))
		}
		for library, importer := range onlyImporter {
			if strings.HasPrefix(imported, library) && f.pkg() != importer {
				complain("imports %s: only %s may", imported, importer)
			}
		}
		if f.pkg() == "rle" && strings.Contains(strings.Split(imported, "/")[0], ".") {
			complain("imports %s: rle imports the standard library only, so that a subscriber needs nothing else", imported)
		}
	}
	return sentences
}

func floorOf(pkg string) int {
	return slices.IndexFunc(floors, func(floor []string) bool { return slices.Contains(floor, pkg) })
}

func TestImportsKeepTheRules(t *testing.T) {
	for _, f := range files(t) {
		for _, sentence := range broken(f) {
			t.Error(sentence)
		}
	}
}

func TestBrokenImportRulesAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		path, imports, says string
	}{
		"down":                {"memory/bank.go", "maskstream/model", ""},
		"far down":            {"cmd/tracker/wire.go", "maskstream/rle", ""},
		"up":                  {"memory/bank.go", "maskstream/propagate", "memory on floor 3 imports propagate on floor 5: imports run down only"},
		"sideways":            {"memory/bank.go", "maskstream/ingest", "imports run down only"},
		"up from a test":      {"memory/bank_test.go", "maskstream/propagate", ""},
		"new package":         {"extras/extra.go", "fmt", "package extras is on no floor"},
		"rle, ours":           {"rle/mask.go", "maskstream/internal/queue", "imports run down only"},
		"rle, somebody's":     {"rle/mask.go", "golang.org/x/sys/cpu", "the standard library only"},
		"FFmpeg elsewhere":    {"frames/picture.go", "github.com/asticode/go-astiav", "only ingest may"},
		"FFmpeg at home":      {"ingest/decode.go", "github.com/asticode/go-astiav", ""},
		"ONNX Runtime":        {"model/sam2/run.go", "github.com/yalue/onnxruntime_go", "only model/ort may"},
		"WebRTC":              {"internal/stream/stream.go", "github.com/pion/webrtc/v4", "only sink/rtc may"},
		"cgo":                 {"tensor/copy.go", "C", "uses cgo"},
		"cgo in a test":       {"tensor/copy_test.go", "C", "uses cgo"},
		"cgo for the GPU":     {"tensor/copy_cuda.go", "C", ""},
		"a test end to end":   {"integration/run_test.go", "github.com/pion/webrtc/v4", ""},
		"standard library":    {"rle/mask.go", "encoding/json", ""},
		"cgo where it may be": {"model/ort/bind.go", "C", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(broken(file{path: c.path, imports: []string{c.imports}}), "\n")
			if (c.says == "") != (got == "") || !strings.Contains(got, c.says) {
				t.Errorf("got %q, want %q", got, c.says)
			}
		})
	}
}

// TestPackagesDoWithoutCgo looks below every package, tests included, for what is nothing without cgo. The standard library's
// cgo does not count: it has a twin in Go.
func TestPackagesDoWithoutCgo(t *testing.T) {
	files(t) // so that go test knows what the answer depends on
	list := exec.Command("go", "list", "-e", "-deps", "-test", "-json=ImportPath,Standard,CgoFiles,Deps", module+"/...")
	list.Env = append(os.Environ(), "CGO_ENABLED=1")
	list.Stderr = os.Stderr
	output, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	below := map[string][]string{}
	usesCgo := map[string]bool{}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var listed struct {
			ImportPath string
			Standard   bool
			CgoFiles   []string
			Deps       []string
		}
		if err := decoder.Decode(&listed); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		usesCgo[listed.ImportPath] = !listed.Standard && len(listed.CgoFiles) > 0
		if ours, found := strings.CutPrefix(listed.ImportPath, module+"/"); found && !slices.Contains(slices.Concat(cgoUsers, cgoNeeds), owner(ours)) {
			below[listed.ImportPath] = append(listed.Deps, listed.ImportPath)
		}
	}
	if len(below) == 0 {
		t.Error("go list named no package")
	}
	for pkg, deps := range below {
		for _, dep := range deps {
			if usesCgo[dep] {
				t.Errorf("%s does not do without cgo, because below it is %s", pkg, dep)
			}
		}
	}
}

// owner is the package whose folder holds what go list -test calls "rle", "rle.test", "rle [rle.test]" or "rle_test [rle.test]".
func owner(listed string) string {
	name, _, _ := strings.Cut(listed, " ")
	return strings.TrimSuffix(strings.TrimSuffix(name, ".test"), "_test")
}

func TestSourceIsFormatted(t *testing.T) {
	for _, f := range files(t) {
		formatted, err := format.Source(f.text)
		if err != nil {
			t.Errorf("%s: %v", f.path, err)
		} else if !bytes.Equal(formatted, f.text) {
			t.Errorf("%s is not formatted: run gofmt -w %s", f.path, f.path)
		}
	}
}
