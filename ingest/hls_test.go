package ingest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"maskstream/frames"
)

// playlist serves an HLS stream of 30 pictures in three parts, as one that is over or, without its end, as one that goes on.
func playlist(t *testing.T, live *atomic.Bool) string {
	t.Helper()
	folder := t.TempDir()
	ffmpeg(t, append(smooth("160x90", 3), "-c:v", "libx264", "-g", "10", "-bf", "0", "-pix_fmt", "yuv420p", "-f", "hls", "-hls_time", "1", "-hls_list_size", "0", filepath.Join(folder, "list.m3u8"))...)
	files := http.FileServer(http.Dir(folder))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".m3u8") {
			files.ServeHTTP(w, r)
			return
		}
		text, err := os.ReadFile(filepath.Join(folder, "list.m3u8"))
		if err != nil {
			t.Error(err)
		}
		list := string(text)
		if live.Load() {
			list = strings.ReplaceAll(list, "#EXT-X-ENDLIST\n", "")
		}
		_, _ = w.Write([]byte(list))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/list.m3u8"
}

func TestPlaylistWithAnEndIsRecordedAndGivesEveryPicture(t *testing.T) {
	var live atomic.Bool
	url := playlist(t, &live)
	var up Info
	n := 0
	err := Run(t.Context(), Options{URL: url}, func(p *frames.Picture) error {
		if want := time.Duration(n) * 100 * time.Millisecond; p.Meta.Epoch != 0 || p.Meta.Frame != n || (p.Meta.PTS-want).Abs() > time.Millisecond {
			t.Errorf("picture %d: %+v", n, p.Meta)
		}
		n++
		return nil
	}, func(e Event) { up = e.Info })
	if err != nil || n != 30 || up.Live || up.Duration < 2900*time.Millisecond {
		t.Errorf("%d pictures of %+v: %v", n, up, err)
	}
}

func TestPlaylistWithoutAnEndIsLive(t *testing.T) {
	var live atomic.Bool
	live.Store(true)
	url := playlist(t, &live)
	r, err := Open(t.Context(), Options{URL: url, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !r.Info().Live {
		t.Error("it is taken for a recording")
	}
	n := 0
	for {
		p, err := r.Next(t.Context())
		if err != nil {
			if !errors.Is(err, ErrTimeout) { // nothing more comes
				t.Errorf("after %d pictures: %v", n, err)
			}
			break
		}
		p.Release()
		n++
	}
	if n < 10 {
		t.Errorf("%d pictures", n)
	}
}

// TestFileOverHTTPIsToldFromAStreamByItsServer serves one that does not say its duration, with and without a size to go by.
func TestFileOverHTTPIsToldFromAStreamByItsServer(t *testing.T) {
	path := clip(t, "a.mjpeg", append(smooth("160x90", 1), "-c:v", "mjpeg")...)
	for _, sized := range []bool{true, false} {
		t.Run(fmt.Sprintf("sized %t", sized), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if sized {
					http.ServeFile(w, r, path)
					return
				}
				data, err := os.ReadFile(path)
				if err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", "video/x-motion-jpeg")
				for len(data) > 0 {
					n := min(len(data), 1000)
					_, _ = w.Write(data[:n])
					w.(http.Flusher).Flush()
					data = data[n:]
				}
			}))
			defer server.Close()
			r, err := Open(t.Context(), Options{URL: server.URL + "/a.mjpeg"})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if r.Info().Live == sized {
				t.Errorf("%+v", r.Info())
			}
			if n := readAll(t, r, nil); n != 10 {
				t.Errorf("%d pictures", n)
			}
		})
	}
}
