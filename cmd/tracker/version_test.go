package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
)

func TestVersionNamesWhatItRunsOn(t *testing.T) {
	command := newVersion(engines{
		FFmpeg:      func() (string, error) { return "5.1.9", nil },
		ONNXRuntime: func() (string, error) { return "", errors.New("libonnxruntime.so.1.27.0 not found: run make setup") },
	})
	var table bytes.Buffer
	command.SetOut(&table)
	command.SetArgs(nil)
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"FFmpeg        5.1.9\n", "ONNX Runtime  not available: libonnxruntime.so.1.27.0 not found: run make setup\n", runtime.Version()} {
		if !strings.Contains(table.String(), line) {
			t.Errorf("%q lacks %q", table.String(), line)
		}
	}
}

func TestVersionAsJSON(t *testing.T) {
	stdout, _, status := call(t, "", "version", "--json")
	var answer map[string]any
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil || status != exitDone {
		t.Fatalf("exit status %d, %v in %q", status, err, stdout)
	}
	for _, key := range []string{"version", "commit", "go", "ffmpeg", "onnxruntime", "tags"} {
		if _, ok := answer[key]; !ok {
			t.Errorf("no key %q in %s", key, stdout)
		}
	}
}
