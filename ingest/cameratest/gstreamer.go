package cameratest

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

//go:embed gstreamer.py
var script string

// GStreamer is the server of GStreamer, as Debian has it. It knows no SHA-256 digests, and speaks UDP or TCP, not both.
type GStreamer struct {
	Options
	CertificateFile string // with Options.TLS

	process *exec.Cmd
	closed  bool
}

// StartGStreamer starts a camera. It ends with the test, or with Close.
func StartGStreamer(t testing.TB, o Options) *GStreamer {
	t.Helper()
	c := &GStreamer{Options: o.withDefaults(t)}
	told := map[string]any{
		"address": c.Address, "user": c.User, "password": c.Password, "auth": c.Auth, "udp": c.UDP, "codec": c.Codec, "certificate": "", "key": "",
		"clip": filepath.Join(t.TempDir(), "clip.mp4"),
	}
	if c.TLS {
		_, c.CertificateFile, told["key"] = Certificate(t, c.Any)
		told["certificate"] = c.CertificateFile
	}
	if err := os.WriteFile(told["clip"].(string), clip(t, c.Options, "60", "mp4"), 0o600); err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	// Debian's Python: the packages of GStreamer are for no other.
	c.process = exec.Command("/usr/bin/python3", "-c", script)
	c.process.Stdin = bytes.NewReader(append(line, '\n'))
	var said bytes.Buffer
	c.process.Stderr = &said
	out, err := c.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan bool, 1)
	go func() { ready <- bufio.NewScanner(out).Scan() }()
	select {
	case ok := <-ready:
		if !ok {
			_ = c.process.Wait()
			t.Fatalf("GStreamer's camera does not start (make setup installs what it needs): %s", said.String())
		}
	case <-time.After(time.Minute):
		t.Fatal("GStreamer's camera does not start within a minute")
	}
	t.Cleanup(c.Close)
	return c
}

// Close kills the camera, as a power cut would. Closing twice is harmless.
func (c *GStreamer) Close() {
	if c.closed {
		return
	}
	c.closed = true
	_ = c.process.Process.Kill()
	_ = c.process.Wait()
}
