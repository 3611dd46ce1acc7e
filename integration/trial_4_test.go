package integration

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// blackHole accepts connections and never says a word. asked receives one value for each.
func blackHole(t *testing.T) (address string, asked <-chan bool) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	came := make(chan bool, 100)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { connection.Close() })
			came <- true
		}
	}()
	return listener.Addr().String(), came
}

func wait(t *testing.T, asked <-chan bool) {
	t.Helper()
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Fatal("nobody asked within a minute")
	}
}

// TestTrial4BlackHole reads a camera that accepts and never answers.
func TestTrial4BlackHole(t *testing.T) {
	t.Run("it times out", func(t *testing.T) {
		t.Parallel()
		address, _ := blackHole(t)
		began := time.Now()
		r := call(t, "track", "rtsp://"+address+"/main", "--point", "1,1")
		took := time.Since(began)
		t.Logf("after %v: %s", took.Round(time.Millisecond), r.stderr)
		if r.status != 1 || r.stdout != "" || !strings.Contains(r.stderr, "timed out") || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("exit status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
		}
		if took < 9*time.Second || took > 30*time.Second { // 10 s and what a busy machine adds
			t.Errorf("after %v", took)
		}
	})
	t.Run("the service tries on", func(t *testing.T) {
		t.Parallel()
		address, asked := blackHole(t)
		s := serve(t, "-c", configure(t, "  - {name: gate, url: 'rtsp://"+address+"/main', timeout: 500ms}"))
		for range 2 {
			wait(t, asked)
		}
		until(t, "word of the time-out", func() bool {
			r, _ := s.readiness(t)
			return r.Streams["gate"].State == "down" && r.Streams["gate"].Code == "timeout" && strings.Contains(r.Streams["gate"].Error, "timed out: no answer within 500ms")
		})
	})
	for name, command := range map[string]func(address string) []string{
		"Ctrl-C ends tracker track": func(address string) []string {
			return []string{"track", "rtsp://" + address + "/main", "--point", "1,1"}
		},
		"Ctrl-C ends tracker run": func(address string) []string {
			return []string{"run", "-c", configure(t, "  - {name: gate, url: 'rtsp://"+address+"/main'}")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, asked := blackHole(t)
			process := exec.Command(tracker, command(address)...)
			if err := process.Start(); err != nil {
				t.Fatal(err)
			}
			defer process.Process.Kill() // harmless where it has ended
			wait(t, asked)               // it is in the middle of it
			began := time.Now()
			if err := process.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			_ = process.Wait()
			took := time.Since(began)
			t.Logf("ended after %v", took.Round(time.Millisecond))
			if process.ProcessState.ExitCode() != 130 || took > 8*time.Second { // it waited for ten, and ends within two
				t.Errorf("%v after %v", process.ProcessState, took)
			}
		})
	}
}
