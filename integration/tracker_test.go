// Package integration tests the program as people use it: the built binary, real files, real servers.
package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// tracker is the built program.
var tracker string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "tracker")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	tracker = filepath.Join(folder, "tracker")
	if out, err := exec.Command("go", "build", "-o", tracker, "../cmd/tracker").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program: %v\n%s`make setup` installs what it needs\n", err, out)
		return 1
	}
	return m.Run()
}

// result is what a finished command left.
type result struct {
	stdout, stderr string
	status         int
}

// call runs the program to its end.
func call(t *testing.T, arguments ...string) result {
	t.Helper()
	command := exec.CommandContext(t.Context(), tracker, arguments...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), command.ProcessState.ExitCode()}
}

// must runs the program and fails the test where it fails.
func must(t *testing.T, arguments ...string) result {
	t.Helper()
	r := call(t, arguments...)
	if r.status != 0 {
		t.Fatalf("tracker %q: exit status %d: %s", arguments, r.status, r.stderr)
	}
	return r
}
