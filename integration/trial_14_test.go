package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// ask sends a request as it is and returns the status and the error's code and message.
func (s *service) ask(t *testing.T, method, path, body string, change func(*http.Request)) (status int, code, message string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.page+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(request)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var failure struct {
		Error struct{ Code, Message string }
	}
	_ = json.Unmarshal(text, &failure) // an answer need not be an error
	if bytes.Contains(text, []byte("root:")) {
		t.Errorf("%s %s shows a file of this machine: %s", method, path, text)
	}
	return response.StatusCode, failure.Error.Code, failure.Error.Message
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func TestTrial14Security(t *testing.T) {
	s := configured(t, "testscene:", "")
	_, offer := newWHEPClient(t, whepOptions{})
	sdp := func(more func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Content-Type", "application/sdp")
			if more != nil {
				more(r)
			}
		}
	}
	foreignHost := func(r *http.Request) { r.Host = "rebound.example" }
	for name, c := range map[string]struct {
		method, path, body string
		change             func(*http.Request)
		status             int
		code               string
	}{
		"offer of another page":        {"POST", "/whep/demo", offer, sdp(header("Origin", "https://elsewhere.example")), 403, "forbidden"},
		"offer of a page of no name":   {"POST", "/whep/demo", offer, sdp(header("Origin", "null")), 403, "forbidden"},
		"prompt of another page":       {"POST", "/api/streams/demo/prompts", `{"points":[[1,1]],"labels":[1]}`, header("Origin", "https://elsewhere.example"), 403, "forbidden"},
		"offer to another host":        {"POST", "/whep/demo", offer, sdp(foreignHost), 403, "forbidden"},
		"page of another host":         {"GET", "/", "", foreignHost, 403, "forbidden"},
		"preflight of another page":    {"OPTIONS", "/whep/demo", "", header("Origin", "https://elsewhere.example"), 403, "forbidden"},
		"offer as a form":              {"POST", "/whep/demo", offer, header("Content-Type", "text/plain"), 415, "unsupported_media_type"},
		"offer too large":              {"POST", "/whep/demo", strings.Repeat("a", 65<<10), sdp(nil), 413, "too_large"},
		"offer that is none":           {"POST", "/whep/demo", "hello", sdp(nil), 400, "bad_request"},
		"offer without video":          {"POST", "/whep/demo", "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n", sdp(nil), 400, "bad_request"},
		"mode of no kind":              {"POST", "/whep/demo?mode=fast", offer, sdp(nil), 400, "bad_request"},
		"objects that are none":        {"POST", "/whep/demo?objects=a.>", offer, sdp(nil), 400, "bad_request"},
		"stream that is none":          {"POST", "/whep/a.>", offer, sdp(nil), 404, "not_found"},
		"session that is none":         {"DELETE", "/whep/demo/guessed", "", nil, 404, "not_found"},
		"candidates for no session":    {"PATCH", "/whep/demo/guessed", "a=mid:0", header("Content-Type", "application/trickle-ice-sdpfrag"), 404, "not_found"},
		"method that is none":          {"GET", "/whep/demo", "", nil, 405, "method_not_allowed"},
		"object id with a wildcard":    {"DELETE", "/api/streams/demo/objects/a.%3E", "", nil, 400, "bad_request"},
		"file by a protocol of FFmpeg": {"PUT", "/api/streams/evil", `{"url":"concat:/etc/passwd"}`, header("Content-Type", "application/json"), 0, ""},
		"file by its address":          {"PUT", "/api/streams/evil", `{"url":"file:///etc/passwd"}`, header("Content-Type", "application/json"), 0, ""},
		"file by a path":               {"GET", "/page/..%2f..%2f..%2fetc%2fpasswd", "", nil, 404, "not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			status, code, message := s.ask(t, c.method, c.path, c.body, c.change)
			if c.status == 0 { // whatever the reason is
				c.status, c.code = status, code
			}
			if status < 400 || status != c.status || code != c.code || message == "" {
				t.Errorf("answer %d %s %q, want %d %s", status, code, message, c.status, c.code)
			}
		})
	}
	t.Run("object id with a wildcard on the bus", func(t *testing.T) {
		connection, err := nats.Connect(s.bus)
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		reply, err := connection.Request("tracker.ctl.demo.remove", []byte(`{"object":"a.>"}`), 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(reply.Data, []byte(`"code":"bad_request"`)) {
			t.Errorf("reply %s", reply.Data)
		}
	})
	if sessions := s.metric(t, "tracker_webrtc_sessions"); sessions != 0 {
		t.Errorf("refused offers left %d sessions", sessions)
	}
}

func TestTrial14TokenGuardsThePreview(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("open sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := func(http string) string {
		path := filepath.Join(t.TempDir(), "config.yaml")
		text := fmt.Sprintf("streams: [{name: demo, url: \"testscene:\"}]\nnats: {embedded: true, url: \"nats://127.0.0.1:0\"}\nhttp: {%s}\nwebrtc: {udp: \"127.0.0.1:0\"}\n", http)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if r := call(t, "run", "-c", config(`listen: "0.0.0.0:0"`)); r.status != 2 || !strings.Contains(r.stderr, "token_file") {
		t.Errorf("beyond loopback without a token: exit status %d: %s", r.status, r.stderr)
	}
	s := serve(t, "-c", config(fmt.Sprintf(`listen: "127.0.0.1:0", token_file: %q`, token)))
	_, offer := newWHEPClient(t, whepOptions{})
	for name, c := range map[string]struct {
		authorization string
		status        int
	}{"no token": {"", 401}, "wrong token": {"Bearer open", 401}, "the token": {"Bearer open sesame", 201}} {
		status, _, _ := s.ask(t, "POST", "/whep/demo", offer, func(r *http.Request) {
			r.Header.Set("Content-Type", "application/sdp")
			if c.authorization != "" {
				r.Header.Set("Authorization", c.authorization)
			}
		})
		if status != c.status {
			t.Errorf("%s: %d, want %d", name, status, c.status)
		}
	}
}

func TestTrial14DefaultsStayOnThisMachine(t *testing.T) {
	s := serve(t)
	for _, address := range []string{strings.TrimPrefix(s.page, "http://"), strings.TrimPrefix(s.bus, "nats://"), s.webrtc} {
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			t.Errorf("%q is not an address of loopback", address)
		}
	}
	for _, url := range []string{"concat:/etc/passwd", "subfile:///etc/passwd", "crypto:/etc/passwd"} {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(fmt.Sprintf("streams: [{name: evil, url: %q}]\n", url)), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := call(t, "config", "check", path); r.status != 2 || !strings.Contains(r.stderr, "protocol") {
			t.Errorf("%s: exit status %d: %s", url, r.status, r.stderr)
		}
	}
}
