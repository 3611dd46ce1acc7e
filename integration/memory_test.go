//go:build slow

package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// residentKiB is the resident memory of the service.
func (s *service) residentKiB(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	var kib int
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}

// TestDemoKeepsItsMemory watches 2,000 processed frames: over the last 1,500 of them the line through the resident memory
// rises by less than 2 MB.
func TestDemoKeepsItsMemory(t *testing.T) {
	const frames, first = 2000, 500
	s := serve(t)
	connection, err := nats.Connect(s.bus)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	messages, err := connection.SubscribeSync("tracker.demo.object.1")
	if err != nil {
		t.Fatal(err)
	}
	var n, sumX, sumY, sumXX, sumXY float64
	for frame := range frames {
		if _, err := messages.NextMsg(time.Minute); err != nil {
			t.Fatalf("frame %d: %v", frame, err)
		}
		if frame < first {
			continue
		}
		x, y := float64(frame), float64(s.residentKiB(t))
		n, sumX, sumY, sumXX, sumXY = n+1, sumX+x, sumY+y, sumXX+x*x, sumXY+x*y
		if frame%250 == 0 {
			t.Logf("frame %d: %.1f MiB", frame, y/1024)
		}
	}
	rise := (n*sumXY - sumX*sumY) / (n*sumXX - sumX*sumX) * (frames - first) / 1024
	t.Logf("the line rises by %.2f MiB over %d frames", rise, frames-first)
	if rise*1024*1024 > 2e6 {
		t.Errorf("memory rises by %.2f MiB over %d frames", rise, frames-first)
	}
}
