package control

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"maskstream/sink/rtc"
)

// fakeLive answers every offer with itself.
type fakeLive struct {
	mu    sync.Mutex
	asked []string
	err   error
}

func (f *fakeLive) note(what ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, strings.TrimSpace(fmt.Sprintln(what...)))
	return f.err
}

func (f *fakeLive) Open(_ context.Context, stream, offer string, query url.Values) (session, answer string, err error) {
	return "s3cret", "answer to " + offer, f.note("open", stream, offer, query.Get("mode"))
}

func (f *fakeLive) Trickle(session, fragment string) error {
	return f.note("trickle", session, fragment)
}
func (f *fakeLive) End(session string) error { return f.note("end", session) }

func TestWHEPRequestsReachThePreview(t *testing.T) {
	live := &fakeLive{}
	_, server := serve(t, ServerOptions{Live: live, AllowOrigins: []string{"https://dashboard.example"}})
	const sdp, fragment = "application/sdp", "application/trickle-ice-sdpfrag"
	status, body, header := do(t, "POST", server.URL()+"/whep/demo?mode=locked", "offer", "Content-Type: "+sdp+"; charset=utf-8")
	if status != 201 || body != "answer to offer" || header.Get("Content-Type") != sdp || header.Get("Location") != "/whep/demo/s3cret" || header.Get("ETag") != `"s3cret"` {
		t.Errorf("POST: %d %q %v", status, body, header)
	}
	if status, _, _ := do(t, "PATCH", server.URL()+"/whep/demo/s3cret", "a=candidate:1", "Content-Type: "+fragment); status != 204 {
		t.Errorf("PATCH: %d", status)
	}
	if status, _, _ := do(t, "DELETE", server.URL()+"/whep/demo/s3cret", ""); status != 204 {
		t.Errorf("DELETE: %d", status)
	}
	if status, _, header := do(t, "OPTIONS", server.URL()+"/whep/demo", ""); status != 204 || header.Get("Accept-Post") != sdp {
		t.Errorf("OPTIONS: %d %v", status, header)
	}
	if status, _, header := do(t, "OPTIONS", server.URL()+"/whep/demo", "", "Origin: https://dashboard.example"); status != 204 ||
		!strings.Contains(header.Get("Access-Control-Allow-Methods"), "PATCH") || !strings.Contains(header.Get("Access-Control-Expose-Headers"), "Location") {
		t.Errorf("OPTIONS of an allowed page: %d %v", status, header)
	}
	want := []string{"open demo offer locked", "trickle s3cret a=candidate:1", "end s3cret"}
	if strings.Join(live.asked, "\n") != strings.Join(want, "\n") {
		t.Errorf("the preview was asked %q, want %q", live.asked, want)
	}

	for name, c := range map[string]struct {
		err    error
		status int
		code   Code
	}{
		"full":     {rtc.ErrFull, 503, Unavailable},
		"ending":   {rtc.ErrClosed, 503, Unavailable},
		"offer":    {fmt.Errorf("%w: line 3", rtc.ErrOffer), 400, BadRequest},
		"codec":    {rtc.ErrNoCodec, 406, NotAcceptable},
		"session":  {rtc.ErrNoSession, 404, NotFound},
		"restart":  {rtc.ErrRestart, 405, MethodNotAllowed},
		"internal": {fmt.Errorf("the password is swordfish"), 500, Internal},
		"late":     {context.DeadlineExceeded, 504, Timeout},
	} {
		live.err = c.err
		status, body, _ := do(t, "PATCH", server.URL()+"/whep/demo/s3cret", "", "Content-Type: "+fragment)
		if status != c.status || !strings.Contains(body, fmt.Sprintf(`"code":%q`, c.code)) || strings.Contains(body, "swordfish") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	live.err = nil
	for _, wrong := range []struct {
		method, path, contentType string
		status                    int
	}{{"POST", "/whep/demo", "text/plain", 415}, {"POST", "/whep/other", sdp, 404}, {"GET", "/whep/demo", "", 405}, {"POST", "/whep/demo/s3cret", sdp, 405}, {"PATCH", "/whep/demo/s3cret", sdp, 415}} {
		if status, body, _ := do(t, wrong.method, server.URL()+wrong.path, "x", "Content-Type: "+wrong.contentType); status != wrong.status {
			t.Errorf("%s %s: %d %s", wrong.method, wrong.path, status, body)
		}
	}
}

func TestServiceWithoutWebRTCSaysSo(t *testing.T) {
	_, server := serve(t, ServerOptions{})
	if status, body, _ := do(t, "POST", server.URL()+"/whep/demo", "offer", "Content-Type: application/sdp"); status != 501 || !strings.Contains(body, "/preview/demo.mjpeg") {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := do(t, "DELETE", server.URL()+"/whep/demo/x", ""); status != 404 {
		t.Errorf("DELETE: %d", status)
	}
}
