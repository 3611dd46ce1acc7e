package integration

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"maskstream/rle"
)

// printed collects the lines that an example prints.
type printed struct {
	mu    sync.Mutex
	lines map[string]int
}

func (p *printed) has(line string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines[line] > 0
}

func (p *printed) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

// example runs a subscriber until the test ends.
func example(t *testing.T, command string, arguments ...string) *printed {
	t.Helper()
	p := &printed{lines: map[string]int{}}
	process := exec.Command(command, arguments...)
	process.Stderr = os.Stderr
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatalf("%v (make setup installs it)", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			p.mu.Lock()
			p.lines[lines.Text()]++
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		process.Process.Kill() // harmless where it has ended
		<-ended
		process.Wait()
	})
	return p
}

// TestExamplesDecodeWhatIsPublished runs the three subscribers on one server: a mask that comes in parts, one that does not, and then
// every mask of a run of the service.
func TestExamplesDecodeWhatIsPublished(t *testing.T) {
	server := newBusServer(t, "")
	nc := server.start()
	program := filepath.Join(t.TempDir(), "subscriber")
	if out, err := exec.Command("go", "build", "-o", program, "../examples/go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	examples := map[string]*printed{
		"Go":         example(t, program, server.url()),
		"Python":     example(t, "../.deps/venv/bin/python", "../examples/python/masks.py", server.url()),
		"JavaScript": example(t, "../.deps/node/bin/node", "../examples/javascript/masks.mjs", server.url()),
	}
	everybodyHas := func(line string) error {
		for language, p := range examples {
			if !p.has(line) {
				return fmt.Errorf("the example in %s has not printed %q", language, line)
			}
		}
		return nil
	}

	bits := make([]byte, 90*160)
	random := rand.New(rand.NewPCG(9, 9))
	for i := range bits {
		bits[i] = byte(random.IntN(2))
	}
	noise := rle.FromBits(90, 160, bits)
	counts, example := noise.COCO().Counts, "221O"
	var messages []rle.Message
	for _, b := range []struct {
		batch rle.Batch
		limit int
	}{
		{rle.Batch{V: 1, Stream: "clip", Run: "9f3a01c2", Object: 7, Size: [2]int{90, 160}, Masks: []rle.BatchMask{{Seq: 11, Frame: 11, State: rle.Tracked, Direction: rle.Forward, Counts: &counts}}}, 1000},
		{rle.Batch{V: 1, Stream: "clip", Run: "9f3a01c2", Object: 7, Size: [2]int{2, 3}, Masks: []rle.BatchMask{{Seq: 12, Frame: 12, State: rle.Lost, Direction: rle.Forward, Counts: &example}}}, 0},
	} {
		encoded, err := rle.EncodeBatch(b.batch, b.limit)
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, encoded...)
	}
	if len(messages) < 4 {
		t.Fatalf("only %d messages", len(messages))
	}
	// Whoever subscribes says nothing, so the messages are sent until they have arrived; the last part of a mask may be the first to.
	soon(t, "the lines of two masks", func() error {
		for _, m := range messages {
			if err := nc.PublishMsg(&nats.Msg{Subject: "tracker.clip.object.7", Data: m.Data}); err != nil {
				t.Fatal(err)
			}
		}
		for _, line := range []string{fmt.Sprintf("clip 11 7 tracked %d", noise.Area()), "clip 12 7 lost 3"} {
			if err := everybodyHas(line); err != nil {
				return err
			}
		}
		return nil
	})
	for language, p := range examples {
		if n := p.count(); n != 2 {
			t.Errorf("the example in %s prints %d different lines of two masks: %v", language, n, p.lines)
		}
	}

	frames := subscribe(t, nc, "tracker.cam.frame")
	config := filepath.Join(t.TempDir(), "tracker.yaml")
	write(t, config, fmt.Sprintf(`
streams:
  - {name: cam, url: "testscene:?size=320x180&frames=25", policy: every, prompts: [{object: 1, box: [209, 50, 272, 113]}]}
nats: {url: %q, frames: true}
http: {listen: "127.0.0.1:0"}
`, server.url()))
	serve(t, "-c", config)
	for range 25 {
		f := nextFrame(t, frames)
		if len(f.Objects) != 1 || f.Objects[0].Area == 0 {
			t.Fatalf("frame %d: %+v", f.Frame, f.Objects)
		}
		soon(t, "the line of a frame", func() error {
			return everybodyHas(fmt.Sprintf("cam %d 1 %s %d", f.Frame, f.Objects[0].State, f.Objects[0].Area))
		})
	}
}
