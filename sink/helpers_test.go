package sink

import (
	"bytes"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"maskstream/frames"
	"maskstream/rle"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// noGoroutinesLeft fails the test where it leaves goroutines behind; call it first, so that it checks last.
func noGoroutinesLeft(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		until(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
		if t.Failed() {
			stacks := make([]byte, 1<<16)
			t.Logf("%s", stacks[:runtime.Stack(stacks, true)])
		}
	})
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("waited 30 s for %s", what)
}

// pictures hands out grey pictures and counts those not yet released.
type pictures struct{ live atomic.Int64 }

func (p *pictures) new(width, height int) *frames.Picture {
	p.live.Add(1)
	picture := &frames.Picture{Width: width, Height: height, Format: frames.Gray8}
	picture.Planes[0], picture.Strides[0] = bytes.Repeat([]byte{90}, width*height), width
	return picture.Own(func() { p.live.Add(-1) })
}

// result is frame n of stream cam with the given masks, objects 1 ….
func result(n int, masks ...rle.Mask) *rle.Frame {
	f := &rle.Frame{V: 1, Stream: "cam", Run: "0badcafe", Seq: int64(n), Frame: n, PTS: int64(n) * 40e6, RTP: uint32(n) * 3600,
		Received: time.Date(2026, 11, 30, 15, 48, 41, 123456000, time.UTC), Size: [2]int{2, 3}, Direction: rle.Forward}
	for i, m := range masks {
		score, iou := float32(4.5), float32(0.5)
		f.Size = [2]int{m.Height, m.Width}
		f.Objects = append(f.Objects, rle.Object{ID: i + 1, State: rle.Tracked, Segmentation: m.COCO(), Area: m.Area(), BBox: m.Box(),
			ObjectScore: &score, PredictedIoU: &iou})
	}
	return f
}

// small is the mask of the contract's example.
func small() rle.Mask { return rle.Mask{Height: 2, Width: 3, Runs: []uint32{2, 3, 1}} }

// noise is a mask that compresses badly.
func noise(height, width int, seed uint64) rle.Mask {
	random := rand.New(rand.NewPCG(seed, 1))
	bits := make([]byte, height*width)
	for i := range bits {
		bits[i] = byte(random.IntN(2))
	}
	return rle.FromBits(height, width, bits)
}

// serverProcess is Debian's nats-server as a process of its own, on a port that stays the same over restarts.
type serverProcess struct {
	t       *testing.T
	address string
	config  string
	process *exec.Cmd
}

func newServer(t *testing.T, config string) *serverProcess {
	t.Helper()
	if _, err := exec.LookPath("nats-server"); err != nil {
		t.Fatal("needs nats-server: apt-get install nats-server")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	s := &serverProcess{t: t, address: address, config: filepath.Join(t.TempDir(), "nats.conf")}
	s.reconfigure(config)
	t.Cleanup(s.kill)
	return s
}

// reconfigure takes effect at the next start.
func (s *serverProcess) reconfigure(config string) {
	s.t.Helper()
	if err := os.WriteFile(s.config, []byte("listen: "+s.address+"\nlog_file: "+strconv.Quote(s.config+".log")+"\n"+config), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *serverProcess) start() {
	s.t.Helper()
	s.process = exec.Command("nats-server", "-c", s.config)
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	until(s.t, "nats-server to listen", func() bool {
		c, err := net.Dial("tcp", s.address)
		return err == nil && c.Close() == nil
	})
}

// log is what the server has logged so far.
func (s *serverProcess) log() string {
	s.t.Helper()
	text, err := os.ReadFile(s.config + ".log")
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s *serverProcess) kill() {
	if s.process == nil {
		return
	}
	if err := s.process.Process.Kill(); err != nil {
		s.t.Error(err)
	}
	_ = s.process.Wait() // says "killed"
	s.process = nil
}

// subscriber collects messages; it is a plain client of its own.
type subscriber struct {
	mu       sync.Mutex
	messages []*nats.Msg
}

func subscribe(t *testing.T, url, subject string) *subscriber {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	s := &subscriber{}
	if _, err := nc.Subscribe(subject, func(m *nats.Msg) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.messages = append(s.messages, m)
	}); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *subscriber) all() []*nats.Msg {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*nats.Msg(nil), s.messages...)
}

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
