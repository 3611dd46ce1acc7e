package ort

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	onnxruntime "github.com/yalue/onnxruntime_go"
)

// ErrLibrary: ONNX Runtime's library was not found or does not fit. The message says where it was looked for.
var ErrLibrary = errors.New("ONNX Runtime not usable")

// environment guards the library, of which onnxruntime_go keeps one per process.
var environment sync.Mutex

// Version opens the library, if it is not open yet, and returns its version. An empty path stands for [LibraryPath].
func Version(library string) (string, error) {
	if err := initialise(library); err != nil {
		return "", err
	}
	return onnxruntime.GetVersion(), nil
}

// LibraryPath is where ONNX Runtime's library is: in the executable's folder or the lib folder beside it, in the dependency
// folder of the checkout that holds the executable or the working directory, or else wherever the system finds it. The error
// wraps ErrLibrary.
func LibraryPath() (string, error) {
	var looked []string
	for _, place := range []struct {
		folders []string
		take    func(path string) bool
	}{
		{executableFolders(), anyone},
		{workingFolders(), trusted},
		{systemFolders(), anyone},
	} {
		for _, folder := range place.folders {
			if slices.Contains(looked, folder) {
				continue
			}
			looked = append(looked, folder)
			if path := newest(folder); path != "" && place.take(path) {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%w: no libonnxruntime.so in %s: run `make setup`, or install it beside the executable",
		ErrLibrary, strings.Join(looked, ", "))
}

func anyone(string) bool { return true }

// trusted says whether the file belongs to this user or to root and nobody else may change it. To open a library is to run it,
// and above the working directory may lie folders, such as /tmp, into which others can put one.
func trusted(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && (owner.Uid == 0 || int(owner.Uid) == os.Geteuid()) && info.Mode().Perm()&0o002 == 0
}

func executableFolders() []string {
	executable, err := os.Executable()
	if err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(executable); err == nil {
		executable = real
	}
	folder := filepath.Dir(executable)
	return append([]string{folder, filepath.Join(folder, "..", "lib")}, dependencyFolders(folder)...)
}

func workingFolders() []string {
	folder, err := os.Getwd()
	if err != nil {
		return nil
	}
	return dependencyFolders(folder)
}

// dependencyFolders are those of every checkout that the folder may lie in.
func dependencyFolders(folder string) []string {
	var folders []string
	for {
		folders = append(folders, filepath.Join(folder, ".deps", "onnxruntime"))
		parent := filepath.Dir(folder)
		if parent == folder {
			return folders
		}
		folder = parent
	}
}

func systemFolders() []string {
	folders := filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))
	multiarch, _ := filepath.Glob("/usr/lib/*-linux-gnu") // the pattern is well-formed
	return append(append(folders, "/usr/local/lib", "/usr/lib64", "/usr/lib"), multiarch...)
}

// newest is the library with the highest version in a folder, "" where there is none.
func newest(folder string) string {
	found, _ := filepath.Glob(filepath.Join(escape(folder), "libonnxruntime.so*"))
	best := ""
	for _, path := range found {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && compareVersions(path, best) > 0 {
			best = path
		}
	}
	return best
}

// escape makes a folder's name one that stands for itself in a pattern.
func escape(folder string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(folder)
}

// compareVersions orders names by their numbers: …so.1.9 before …so.1.27.
func compareVersions(a, b string) int {
	split := func(path string) []string { return strings.Split(filepath.Base(path), ".") }
	return slices.CompareFunc(split(a), split(b), func(x, y string) int {
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		return strings.Compare(x, y)
	})
}

// initialise opens the library once. A second library cannot be opened beside the first, so later paths are ignored.
func initialise(library string) error {
	environment.Lock()
	defer environment.Unlock()
	if onnxruntime.IsInitialized() {
		return nil
	}
	if library == "" {
		var err error
		if library, err = LibraryPath(); err != nil {
			return err
		}
	}
	onnxruntime.SetSharedLibraryPath(library)
	// What fails comes back as an error; the library would print it as well, in lines of its own.
	if err := onnxruntime.InitializeEnvironment(onnxruntime.WithLogLevelFatal()); err != nil {
		return fmt.Errorf("%w: %s cannot be opened: run `make setup`, or install it again beside the executable (%w)", ErrLibrary, library, err)
	}
	return nil
}
