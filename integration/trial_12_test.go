package integration

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"maskstream/internal/chromium"
	"maskstream/rle"
)

func TestTrial12Reloads(t *testing.T) { reloads(t, 20) }

// reloads comes and goes so many times, in each of three manners, and looks at what is left.
func reloads(t *testing.T, times int) {
	s := configured(t, "testscene:?size=160x96&fps=5", "")
	warm := s.watch(t, "demo", "", whepOptions{}) // what is there once and for all, is there after this
	warm.until("a picture", func(pictures []viewed, _ []*rle.Frame) bool { return len(pictures) > 0 })
	warm.delete()
	warm.pc.Close()
	s.settles(t, 1<<20)
	base := s.metric(t, "go_goroutines")

	_, offer := newWHEPClient(t, whepOptions{})
	open := func() (location string) {
		status, header, body := s.post(t, "/whep/demo", offer)
		if status != http.StatusCreated {
			t.Fatalf("WHEP answers %d: %s", status, body)
		}
		return header.Get("Location")
	}
	for range times {
		if status := s.request(t, "DELETE", open(), "", nil); status != http.StatusNoContent {
			t.Fatalf("DELETE answers %d", status)
		}
	}
	t.Logf("%d came and said goodbye: %v until all was as before", times, s.settles(t, base))
	page := chromium.Open(t, s.page, 600, 400, false)
	page.Until("a picture", isPlaying)
	page.Kill()
	for left := times; left > 0; left -= 50 {
		for range min(left, 50) {
			open()
		}
		t.Logf("%d came and vanished, and a browser was killed: %v until all was as before", min(left, 50), s.settles(t, base))
	}
}

// settles waits until nobody watches and there are no more goroutines than base, and says how long that took.
func (s *service) settles(t *testing.T, base int) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		http.DefaultClient.CloseIdleConnections() // they are goroutines there, too
		sessions, goroutines := s.metric(t, "tracker_webrtc_sessions"), s.metric(t, "go_goroutines")
		if sessions == 0 && goroutines <= base {
			return time.Since(began).Round(time.Millisecond)
		}
		if time.Since(began) > 30*time.Second {
			t.Fatalf("after 30 s there are %d sessions and %d goroutines; there were %d", sessions, goroutines, base)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestTrial12TooManyViewersAreTurnedAway(t *testing.T) {
	s := configured(t, "testscene:?size=160x96&fps=5", "")
	_, offer := newWHEPClient(t, whepOptions{})
	var last string
	for i := range 64 {
		status, header, body := s.post(t, "/whep/demo", offer)
		if status != http.StatusCreated {
			t.Fatalf("viewer %d: %d %s", i, status, body)
		}
		last = header.Get("Location")
	}
	if status, _, body := s.post(t, "/whep/demo", offer); status != http.StatusServiceUnavailable || !strings.Contains(body, `"code":"unavailable"`) {
		t.Errorf("one viewer too many: %d %s", status, body)
	}
	s.request(t, "DELETE", last, "", nil)
	if status, _, body := s.post(t, "/whep/demo", offer); status != http.StatusCreated {
		t.Errorf("after one has left: %d %s", status, body)
	}
}
