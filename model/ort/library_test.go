package ort

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheNewestLibraryOfAFolderIsTaken(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a[b]*") // a name that is a pattern
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := newest(folder); got != "" {
		t.Errorf("an empty folder holds %s", got)
	}
	for _, name := range []string{"libonnxruntime.so.1.9.0", "libonnxruntime.so.1.27.0", "libonnxruntime.so.1.3.1", "libonnxruntime_providers_shared.so", "libonnxruntime.a"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "libonnxruntime.so.99"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := newest(folder); filepath.Base(got) != "libonnxruntime.so.1.27.0" {
		t.Errorf("took %s", got)
	}
}

func TestTheLibraryIsFoundFromAnyFolderOfTheCheckout(t *testing.T) {
	root := t.TempDir()
	deps := filepath.Join(root, ".deps", "onnxruntime")
	inner := filepath.Join(root, "a", "b")
	for _, folder := range []string{deps, inner} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want := filepath.Join(deps, "libonnxruntime.so.1.27.0")
	if err := os.WriteFile(want, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(inner)
	if got, err := LibraryPath(); err != nil || got != want {
		t.Errorf("found %s, %v", got, err)
	}
	if err := os.Chmod(want, 0o646); err != nil {
		t.Fatal(err)
	}
	if got, _ := LibraryPath(); got == want {
		t.Errorf("took %s, which anybody may have written", got)
	}
}

func TestAMissingLibrarySaysWhereItWasLookedForAndWhatToDo(t *testing.T) {
	t.Chdir(t.TempDir())
	path, err := LibraryPath()
	if err == nil {
		t.Skipf("the system has %s", path)
	}
	here, _ := os.Getwd()
	if !errors.Is(err, ErrLibrary) || !strings.Contains(err.Error(), here) || !strings.Contains(err.Error(), "make setup") {
		t.Errorf("got %v", err)
	}
}

func TestTheLibrarySaysItsVersion(t *testing.T) {
	version, err := Version("")
	if err != nil {
		t.Fatalf("%v (`make setup` installs ONNX Runtime)", err)
	}
	if !strings.HasPrefix(version, "1.") {
		t.Errorf("version %q", version)
	}
}
