package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigCheckNamesThePlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tracker.yaml")
	for name, c := range map[string]struct {
		yaml   string
		status int
		says   string
	}{
		"valid":       {"streams:\n  - {name: gate, url: 'testscene:'}\n", exitDone, ": valid, streams: 1\n"},
		"jetstream":   {"streams:\n  - {name: gate, url: 'testscene:'}\nnats: {jetstream: true}\n", exitDone, ": valid, streams: 1\n"},
		"auto":        {"streams:\n  - {name: gate, url: 'testscene:', prompts: [{auto: true}]}\n", exitDone, ": valid, streams: 1\n"},
		"unknown key": {"streams:\n  - name: gate\n    url: 'testscene:'\n    polcy: newest\n", exitUsage, path + ":4:5: "},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(c.yaml), 0o666); err != nil {
				t.Fatal(err)
			}
			stdout, stderr, status := call(t, "", "config", "check", path)
			if status != c.status || !strings.Contains(stdout+stderr, c.says) {
				t.Errorf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
			}
		})
	}
}

func TestConfigPrintHidesSecretsAndReadsBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tracker.yaml")
	yaml := "streams:\n  - {name: gate, url: 'rtsp://camera.example/main', username: admin, password: hunter2}\n"
	if err := os.WriteFile(path, []byte(yaml), 0o666); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := call(t, "", "config", "print", "-c", path)
	if status != exitDone || strings.Contains(stdout, "hunter2") || !strings.Contains(stdout, "username: admin") {
		t.Fatalf("exit status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	if err := os.WriteFile(path, []byte(stdout), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := call(t, "", "config", "check", path); status != exitDone {
		t.Errorf("what it printed is refused: %s", stderr)
	}
}

func TestConfigPrintKnowsTheDemo(t *testing.T) {
	if stdout, _, status := call(t, "", "config", "print"); status != exitDone || !strings.Contains(stdout, "testscene:") {
		t.Errorf("exit status %d, stdout %q", status, stdout)
	}
}
