package ingest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFilesComeOverHTTPWithAPassword(t *testing.T) {
	const password = "p@ss:w/#%?!"
	path := clip(t, "a.mp4", append(smooth("160x90", 0.5), "-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "faststart")...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, given, _ := r.BasicAuth(); user != "me" || given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.ServeFile(w, r, path)
	}))
	defer server.Close()
	if _, err := Open(t.Context(), Options{URL: server.URL + "/a.mp4"}); !errors.Is(err, ErrAuth) {
		t.Errorf("without a password: %v", err)
	}
	r, err := Open(t.Context(), Options{URL: server.URL + "/a.mp4", Username: "me", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Info().Live {
		t.Error("a file is live")
	}
	if n := readAll(t, r, nil); n != 5 {
		t.Errorf("%d pictures", n)
	}
}

func TestPlaylistFromTheNetworkDoesNotLeadToLocalFiles(t *testing.T) {
	secret := clip(t, "secret.ts", append(smooth("160x90", 0.5), "-c:v", "libx264", "-pix_fmt", "yuv420p")...)
	data, err := os.ReadFile(secret)
	if err != nil {
		t.Fatal(err)
	}
	var segment string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".m3u8") {
			_, _ = w.Write([]byte("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:0.5,\n" + segment + "\n#EXT-X-ENDLIST\n"))
			return
		}
		_, _ = w.Write(data)
	}))
	defer server.Close()
	for _, c := range []struct {
		segment string
		works   bool
	}{{server.URL + "/a.ts", true}, {"file://" + filepath.ToSlash(secret), false}} {
		segment = c.segment
		r, err := Open(t.Context(), Options{URL: server.URL + "/list.m3u8", Timeout: 3 * time.Second})
		if err == nil {
			_ = r.Close()
		}
		if c.works != (err == nil) {
			t.Errorf("%s: %v", c.segment, err)
		}
	}
}

func TestContextOfOpenDoesNotEndTheReader(t *testing.T) {
	path := clip(t, "a.mp4", append(smooth("160x90", 0.5), "-c:v", "libx264", "-pix_fmt", "yuv420p")...)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Open(ctx, Options{URL: path})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel()
	time.Sleep(20 * time.Millisecond)
	if n := readAll(t, r, nil); n != 5 {
		t.Errorf("%d pictures", n)
	}
}

func TestMotionJPEGCameraIsReadOverHTTP(t *testing.T) {
	picture := ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=size=160x90", "-frames:v", "1", "-c:v", "mjpeg", "-f", "mjpeg", "-")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary=frame")
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for n := 0; n < 60; n++ {
			fmt.Fprintf(w, "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n", len(picture), picture)
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-ticker.C:
			}
		}
		<-r.Context().Done() // it stalls, connected
	}))
	defer server.Close()
	r, err := Open(t.Context(), Options{URL: server.URL + "/video.mjpg", Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if i := r.Info(); !i.Live || i.Codec != "mjpeg" || i.Width != 160 {
		t.Errorf("%+v", i)
	}
	for n := 0; ; n++ {
		p, err := r.Next(t.Context())
		if err == nil {
			p.Release()
			continue
		}
		if !errors.Is(err, ErrTimeout) || n < 50 {
			t.Errorf("after %d pictures: %v", n, err)
		}
		break
	}
}
