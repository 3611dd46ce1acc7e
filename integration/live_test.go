package integration

import (
	"encoding/json"
	"net/http"
	"testing"

	"maskstream/rle"
)

// webrtcStatus is that part of a stream's status.
func (s *service) webrtcStatus(t *testing.T, stream string) (status struct {
	Viewers       int
	Video, Reason string
}) {
	t.Helper()
	var all struct{ WebRTC json.RawMessage }
	if code := s.request(t, "GET", "/api/streams/"+stream, "", &all); code != http.StatusOK {
		t.Fatalf("status of %s: %d", stream, code)
	}
	if err := json.Unmarshal(all.WebRTC, &status); err != nil {
		t.Fatal(err)
	}
	return status
}

func TestViewerGetsEachPictureAfterItsMasks(t *testing.T) {
	s := serve(t)
	c := s.watch(t, "demo", "", whepOptions{})
	pictures, _ := c.until("pictures", func(pictures []viewed, frames []*rle.Frame) bool { return len(pictures) >= 60 && len(frames) >= 30 })
	if !pictures[0].key {
		t.Error("the first picture is no key picture")
	}
	// Masks go first, but on another way than the pictures: they are there before the picture after their own. Pictures that were not
	// tracked have none.
	late, frames, last := 0, 0, uint32(0)
	c.mu.Lock()
	arrivals := c.arrivals
	c.mu.Unlock()
	for _, a := range arrivals {
		switch a := a.(type) {
		case *rle.Frame:
			frames++
			if a.Stream != "demo" || len(a.Objects) != 1 || a.RTP != uint32(a.PTS/1000*9/100) {
				t.Fatalf("frame of results %+v", a)
			}
			if int32(last-a.RTP) > 0 {
				late++
			}
		case viewed:
			if int32(a.rtp-last) <= 0 && last != 0 {
				t.Errorf("picture %d comes after %d", a.rtp, last)
			}
			last = a.rtp
		}
	}
	if late > frames/10 {
		t.Errorf("%d of %d frames of results came after a later picture", late, frames)
	}
	if status := s.webrtcStatus(t, "demo"); status.Viewers != 1 || status.Video != "coded again" || status.Reason == "" {
		t.Errorf("status %+v", status)
	}
	c.delete()
	if code := s.request(t, "DELETE", c.location, "", nil); code != http.StatusNotFound {
		t.Errorf("the session ends twice: %d", code)
	}
}

func TestLowLatencySendsPicturesAtOnce(t *testing.T) {
	s := configured(t, "testscene:", ballPrompt)
	c := s.watch(t, "demo", "?mode=low-latency", whepOptions{})
	c.until("pictures", func(pictures []viewed, frames []*rle.Frame) bool { return len(pictures) >= 60 && len(frames) >= 20 })
	c.mu.Lock()
	arrivals := c.arrivals
	c.mu.Unlock()
	came, before, frames := map[uint32]bool{}, 0, 0
	for _, a := range arrivals {
		switch a := a.(type) {
		case viewed:
			came[a.rtp] = true
		case *rle.Frame:
			frames++
			if came[a.RTP] {
				before++
			}
		}
	}
	if before < frames*3/4 { // the network takes much longer than the encoder
		t.Errorf("%d of %d frames of results came after their pictures", before, frames)
	}
}

func TestSessionTakesMoreAddressesButNoRestart(t *testing.T) {
	s := configured(t, "testscene:", "")
	c := s.watch(t, "demo", "", whepOptions{})
	patch := func(fragment string) (status int, code string) {
		status, code, _ = s.ask(t, "PATCH", c.location, fragment, header("Content-Type", "application/trickle-ice-sdpfrag"))
		return status, code
	}
	if status, code := patch("a=mid:0\r\na=candidate:1 1 udp 2130706431 127.0.0.1 9 typ host\r\na=end-of-candidates\r\n"); status != http.StatusNoContent {
		t.Errorf("a candidate: %d %s", status, code)
	}
	if status, code := patch("a=mid:0\r\na=candidate:nonsense\r\n"); status != http.StatusBadRequest {
		t.Errorf("a candidate that is none: %d %s", status, code)
	}
	if status, code := patch("a=ice-ufrag:other\r\na=ice-pwd:other\r\n"); status != http.StatusMethodNotAllowed || code != "method_not_allowed" {
		t.Errorf("an ICE restart: %d %s", status, code)
	}
	c.until("pictures all the same", func(pictures []viewed, _ []*rle.Frame) bool { return len(pictures) >= 5 })
}
