package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"maskstream/ingest/cameratest"
	"maskstream/rle"
)

// power is a camera that a test can plug in, and whose plug it can pull.
type power interface {
	URL() string
	Close()
}

// cameras are the servers that the trials are made with.
var cameras = map[string]func(testing.TB, cameratest.Options) power{
	"gortsplib": func(t testing.TB, o cameratest.Options) power { return cameratest.Start(t, o) },
	"GStreamer": func(t testing.TB, o cameratest.Options) power { return cameratest.StartGStreamer(t, o) },
}

// configure writes a configuration of the given streams, with a bus and a page at free ports and whole frames on the bus.
func configure(t *testing.T, streams string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tracker.yaml")
	text := fmt.Sprintf("streams:\n%s\nnats: {embedded: true, url: 'nats://%s', frames: true}\nhttp: {listen: '127.0.0.1:0'}\n", streams, cameratest.FreeAddress(t))
	write(t, path, text)
	return path
}

// listener hears everything on the bus.
type listener struct {
	mu       sync.Mutex
	messages []*nats.Msg
	came     []time.Time
}

func listen(t *testing.T, s *service) *listener {
	t.Helper()
	connection, err := nats.Connect(s.bus)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	l := &listener{}
	if _, err := connection.Subscribe("tracker.>", func(m *nats.Msg) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.messages, l.came = append(l.messages, m), append(l.came, time.Now())
	}); err != nil {
		t.Fatal(err)
	}
	if err := connection.Flush(); err != nil {
		t.Fatal(err)
	}
	return l
}

// frames are a stream's, from the nth message on the bus; with when each came.
func (l *listener) frames(t *testing.T, stream string) (frames []rle.Frame, came []time.Time) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, m := range l.messages {
		if m.Subject == "tracker."+stream+".frame" {
			var f rle.Frame
			if err := json.Unmarshal(m.Data, &f); err != nil {
				t.Fatal(err)
			}
			frames, came = append(frames, f), append(came, l.came[i])
		}
	}
	return frames, came
}

func (l *listener) events(t *testing.T, stream string) (events []rle.Event) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.messages {
		if m.Subject == "tracker."+stream+".event" {
			var e rle.Event
			if err := json.Unmarshal(m.Data, &e); err != nil {
				t.Fatal(err)
			}
			events = append(events, e)
		}
	}
	return events
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready   bool
	Down    []string
	Streams map[string]struct{ State, Code, Error string }
}

func (s *service) readiness(t *testing.T) (r readiness, status int) {
	t.Helper()
	status = s.request(t, "GET", "/readyz", "", &r)
	if (status == http.StatusOK) != r.Ready {
		t.Errorf("/readyz: %d %+v", status, r)
	}
	return r, status
}

// sum adds up a metric's samples that have all the labels.
func (s *service) sum(t *testing.T, name string, labels ...string) (total float64) {
	t.Helper()
	for line := range strings.Lines(s.text(t, "/metrics")) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		family, _, _ := strings.Cut(series, "{")
		if family != name {
			continue
		}
		wanted := true
		for _, label := range labels {
			wanted = wanted && strings.Contains(series, label)
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil && wanted {
			total += v
		}
	}
	return total
}

// until is soon of something that does not say what is missing.
func until(t *testing.T, what string, reached func() bool) {
	t.Helper()
	soon(t, what, func() error {
		if !reached() {
			return errors.New("it has not come")
		}
		return nil
	})
}
