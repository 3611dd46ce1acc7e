package integration

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"maskstream/rle"
)

func TestREADMEShowsTheScriptThatIsTested(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../docs/masks.py")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```python\n"+string(script)+"```\n") {
		t.Error("README.md does not have the text of docs/masks.py as its Python example: copy it there")
	}
}

func TestPythonDecodesWhatIsPublished(t *testing.T) {
	url := natsServer(t)
	python, err := filepath.Abs("../.deps/venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	script := exec.CommandContext(t.Context(), python, "../docs/masks.py", url)
	script.Stderr = os.Stderr
	output, err := script.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := script.Start(); err != nil {
		t.Fatalf("%v (make setup installs it)", err)
	}
	client, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	counts, half := "221O", "22"
	batch, err := json.Marshal(rle.Batch{V: 1, Stream: "clip", Run: "9f3a01c2", Object: 7, Size: [2]int{2, 3}, Masks: []rle.BatchMask{
		{Seq: 11, Frame: 11, State: rle.Tracked, Direction: rle.Forward, CountsPart: &half},
		{Seq: 12, Frame: 12, State: rle.Tracked, Direction: rle.Forward, Counts: &counts, Area: 3, BBox: [4]int{1, 0, 2, 2}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		scanner := bufio.NewScanner(output)
		scanner.Scan()
		lines <- scanner.Text()
	}()
	// The script says nothing when it has subscribed, so the batch is sent until it has arrived.
	for again := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case line := <-lines:
			if want := "clip 12 7 tracked 3"; line != want {
				t.Errorf("the script prints %q, want %q", line, want)
			}
			return
		case <-again.C:
			if err := client.Publish("tracker.clip.object.7", batch); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// natsServer starts the nats-server program on a free port of loopback until the test ends, and returns its address.
func natsServer(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	server := exec.Command("nats-server", "-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", folder)
	if err := server.Start(); err != nil {
		t.Fatalf("%v (make setup installs it)", err)
	}
	t.Cleanup(func() {
		server.Process.Signal(syscall.SIGTERM)
		server.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		files, err := filepath.Glob(filepath.Join(folder, "*.ports"))
		if err != nil || len(files) == 0 {
			continue
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		var ports struct{ NATS []string }
		if json.Unmarshal(text, &ports) == nil && len(ports.NATS) > 0 { // it may still be half written
			return ports.NATS[0]
		}
	}
	t.Fatal("nats-server did not say within 10 s which port it listens on")
	return ""
}
