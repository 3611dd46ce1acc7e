package integration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"maskstream/rle"
)

// TestTrial6CorruptStream spoils files as networks and disks do: what can be decoded is tracked to its end, with a warning, and where
// nothing can, one line says so.
func TestTrial6CorruptStream(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	const count = 60
	for _, name := range []string{"whole.ts", "whole.mp4"} {
		ffmpeg(t, "-f", "lavfi", "-i", scene("320x180"), "-frames:v", fmt.Sprint(count), "-c:v", "libx264", "-g", "10", "-pix_fmt", "yuv420p", "-movflags", "+faststart", path(name))
	}
	stream, film := readFile(t, path("whole.ts")), readFile(t, path("whole.mp4"))
	writeFile(t, path("flipped.ts"), flipped(stream))
	writeFile(t, path("cut.mp4"), film[:len(film)*6/10])
	writeFile(t, path("head.mp4"), film[:200])
	blank := bytes.Clone(film) // its table of contents is whole and everything that it tells of gone
	clear(blank[bytes.Index(blank, []byte("mdat"))+4:])
	writeFile(t, path("blank.mp4"), blank)
	writeFile(t, path("text.mp4"), []byte(strings.Repeat("this is no video\n", 200)))

	for name, c := range map[string]struct {
		file         string
		status       int
		least, most  int // lines of the forward pass
		warns        string
		oneLineError bool
	}{
		"whole":                    {"whole.ts", 0, count, count, "", false},
		"1 % of its bytes flipped": {"flipped.ts", 0, 10, count, "the file is damaged", false},
		"cut off":                  {"cut.mp4", 0, 20, count - 1, "the file ends early", false},
		"its head alone":           {"head.mp4", 1, 0, 0, "head.mp4: no video: ", true},
		"not one frame":            {"blank.mp4", 1, 0, 0, "blank.mp4: damaged: not one picture could be decoded", true},
		"no video":                 {"text.mp4", 1, 0, 0, "text.mp4: damaged", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, "track", path(c.file), "--box", "20,20,120,120")
			if r.status != c.status || !strings.Contains(r.stderr, c.warns) || c.warns == "" && r.stderr != "" || c.oneLineError && strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("exit status %d, stderr %q", r.status, r.stderr)
			}
			lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
			if n := len(lines) - 1; c.most > 0 && (n < c.least || n > c.most) || c.most == 0 && r.stdout != "" {
				t.Errorf("%d lines", n)
			} else if c.most > 0 {
				var last rle.Frame
				parse(t, lines[n], &last)
				t.Logf("%d of %d frames tracked; %s", n, count, r.stderr)
			}
		})
	}
	t.Run("as a stream", func(t *testing.T) { countsDecodeErrors(t, path("flipped.ts"), path("jump.ts"), stream) })
}

// flipped spoils one byte in a hundred.
func flipped(data []byte) []byte {
	data = bytes.Clone(data)
	r := rand.New(rand.NewPCG(6, 6))
	for range len(data) / 100 {
		data[r.IntN(len(data))] ^= byte(1 + r.IntN(255))
	}
	return data
}

// countsDecodeErrors runs the service on a damaged stream, and on one whose time jumps back, and reads its metrics.
func countsDecodeErrors(t *testing.T, damaged, jump string, whole []byte) {
	writeFile(t, jump, append(bytes.Clone(whole), whole...))
	config := filepath.Join(t.TempDir(), "tracker.yaml")
	writeFile(t, config, fmt.Appendf(nil, "streams:\n  - {name: damaged, url: '%s'}\n  - {name: jump, url: '%s'}\nnats: {url: 'nats://127.0.0.1:9'}\nhttp: {listen: '127.0.0.1:0'}\n", damaged, jump))
	s := serve(t, "-c", config)
	metrics := map[string]float64{}
	value := regexp.MustCompile(`(?m)^tracker_source_(\w+)\{stream="(\w+)"\} (\S+)$`)
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		for _, m := range value.FindAllStringSubmatch(s.text(t, "/metrics"), -1) {
			metrics[m[2]+" "+m[1]], _ = strconv.ParseFloat(m[3], 64)
		}
		if metrics["damaged decode_errors_total"] > 0 && metrics["jump timestamp_jumps_total"] > 0 && metrics["jump frames_decoded_total"] >= 120 {
			break
		}
	}
	if metrics["damaged decode_errors_total"] == 0 || metrics["jump timestamp_jumps_total"] != 1 || metrics["jump decode_errors_total"] != 0 || metrics["damaged frames_decoded_total"] < 10 {
		t.Errorf("metrics %v", metrics)
	}
	t.Logf("%.0f decode errors on %.0f frames", metrics["damaged decode_errors_total"], metrics["damaged frames_decoded_total"])
}
