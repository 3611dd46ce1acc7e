package integration

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// TestRecordingsOverHTTPLoseNoFrame runs the service, which lets the newest frame win, on a file and on a playlist that are decoded
// much faster than they are tracked.
func TestRecordingsOverHTTPLoseNoFrame(t *testing.T) {
	const count = 60
	folder := t.TempDir()
	film := []string{"-f", "lavfi", "-i", scene("320x180"), "-frames:v", fmt.Sprint(count), "-c:v", "libx264", "-g", "20", "-bf", "0", "-pix_fmt", "yuv420p"}
	ffmpeg(t, append(film, "-movflags", "+faststart", filepath.Join(folder, "film.mp4"))...)
	ffmpeg(t, append(film, "-f", "hls", "-hls_time", "2", "-hls_list_size", "0", filepath.Join(folder, "list.m3u8"))...)
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	config := filepath.Join(t.TempDir(), "tracker.yaml")
	stream := "  - {name: %s, url: '%s/%s', policy: newest, prompts: [{object: 1, box: [20, 20, 120, 120]}]}\n"
	writeFile(t, config, fmt.Appendf(nil, "streams:\n"+stream+stream+"nats: {url: 'nats://127.0.0.1:9'}\nhttp: {listen: '127.0.0.1:0'}\n",
		"film", server.URL, "film.mp4", "list", server.URL, "list.m3u8"))
	s := serve(t, "-c", config)

	value := regexp.MustCompile(`(?m)^tracker_source_frames_(decoded|dropped)_total\{(?:reason="behind",stage="track",)?stream="(\w+)"(?:,\w+="\w+")*\} (\S+)$`)
	ended := map[string]bool{}
	for deadline := time.Now().Add(3 * time.Minute); len(ended) < 2; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not all of it was read: %v", ended)
		}
		found := 0
		for _, m := range value.FindAllStringSubmatch(s.text(t, "/metrics"), -1) {
			found++
			switch n, _ := strconv.Atoi(m[3]); {
			case m[1] == "dropped" && n > 0:
				t.Fatalf("%s: %d frames dropped", m[2], n)
			case m[1] == "decoded" && n == count:
				ended[m[2]] = true
			}
		}
		if found != 4 {
			t.Fatalf("%d metrics of 4", found)
		}
	}
}
