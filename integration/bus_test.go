package integration

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// busServer is the nats-server program on a port of its own, which stays the same when it is killed and started again.
type busServer struct {
	t       *testing.T
	address string
	config  string
	log     string
	process *exec.Cmd
}

// newBusServer does not start it. The configuration is what the server's file holds besides its address.
func newBusServer(t *testing.T, configuration string) *busServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	s := &busServer{t: t, address: listener.Addr().String(), config: filepath.Join(folder, "nats.conf"), log: filepath.Join(folder, "nats.log")}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, s.config, fmt.Sprintf("listen: %q\nlog_file: %q\n%s\n", s.address, s.log, configuration))
	t.Cleanup(func() {
		if s.process != nil {
			s.kill()
		}
		if text, err := os.ReadFile(s.log); t.Failed() && err == nil {
			t.Logf("the server's log:\n%s", text)
		}
	})
	return s
}

func write(t *testing.T, path, text string) {
	t.Helper()
	writeFile(t, path, []byte(text))
}

func (s *busServer) url() string { return "nats://" + s.address }

// start returns a client of the server, which was there before anybody else could be told.
func (s *busServer) start() *nats.Conn {
	s.t.Helper()
	s.process = exec.Command("nats-server", "-c", s.config)
	if err := s.process.Start(); err != nil {
		s.t.Fatalf("%v (make setup installs it)", err)
	}
	var client *nats.Conn
	soon(s.t, "the server", func() (err error) {
		client, err = nats.Connect(s.url(), nats.NoReconnect())
		return err
	})
	s.t.Cleanup(client.Close)
	return client
}

func (s *busServer) kill() {
	s.t.Helper()
	if err := s.process.Process.Kill(); err != nil {
		s.t.Error(err)
	}
	s.process.Wait()
	s.process = nil
}

// soon waits until something is so, and says why it is not after a minute.
func soon(t *testing.T, what string, so func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err = so(); err == nil {
			return
		}
	}
	t.Fatalf("waited a minute for %s: %v", what, err)
}

// metric is the value of one sample of /metrics; its labels belong to the name.
func (s *service) metric(t *testing.T, name string) int {
	t.Helper()
	for line := range strings.Lines(s.text(t, "/metrics")) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+" "); found {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(number)
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// frames is how many frames of results a stream has so far.
func (s *service) frame(t *testing.T, stream string) int {
	t.Helper()
	var status struct{ Frame int }
	if code := s.request(t, "GET", "/api/streams/"+stream, "", &status); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	return status.Frame
}
