package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"maskstream/rle"
)

// told is what a request about a stream answers.
type told struct {
	Name, State, Run string
	Frame            int
	Dropped          any // the name of a stream, or a number of frames
	Objects          []struct{ ID int }
	Error            json.RawMessage // why it is down, or of the request
}

// refused is the code and the message of a request that was refused.
func (r told) refused(t *testing.T) (code, message string) {
	t.Helper()
	var e struct{ Code, Message string }
	if err := json.Unmarshal(r.Error, &e); err != nil {
		t.Errorf("no error: %s: %v", r.Error, err)
	}
	return e.Code, e.Message
}

// up waits until a stream gives pictures.
func (s *service) up(t *testing.T, stream string) (status told) {
	t.Helper()
	until(t, "picture of "+stream, func() bool {
		s.request(t, "GET", "/api/streams/"+stream, "", &status)
		return status.State == "up" && status.Frame > 0
	})
	return status
}

// untouched wants that a stream has gone on all the time: in one run, from one number to the next.
func untouched(t *testing.T, bus *listener, stream string) {
	t.Helper()
	frames, _ := bus.frames(t, stream)
	if len(frames) == 0 {
		t.Fatalf("no frames of %s", stream)
	}
	for i, f := range frames {
		if f.Run != frames[0].Run || f.Seq != frames[0].Seq+int64(i) || f.Epoch != 0 {
			t.Fatalf("%s: run %s epoch %d seq %d follows run %s seq %d", stream, f.Run, f.Epoch, f.Seq, frames[0].Run, frames[0].Seq+int64(i)-1)
		}
	}
}

// hangUp sends SIGHUP.
func (s *service) hangUp(t *testing.T) {
	t.Helper()
	if err := s.command.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

func TestStreamsComeAndGoWhileOthersGoOn(t *testing.T) {
	s := serve(t, "-c", configure(t, "  - {name: gate, url: 'testscene:?fps=10', history: 1, prompts: [{object: 1, box: [418, 101, 544, 227]}]}"))
	bus := listen(t, s)
	nc, err := nats.Connect(s.bus)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	s.up(t, "gate")

	http := func(method, body string) (reply told) {
		if status := s.request(t, method, "/api/streams/yard", body, &reply); status != 200 {
			t.Errorf("%s %s: %d %+v", method, body, status, reply)
		}
		return reply
	}
	busy := func(verb, body string) (reply told) {
		m, err := nc.Request("tracker.ctl.yard."+verb, []byte(body), time.Minute)
		if err != nil {
			t.Fatalf("%s: %v", verb, err)
		}
		if err := json.Unmarshal(m.Data, &reply); err != nil || reply.Error != nil {
			t.Errorf("%s: %s", verb, m.Data)
		}
		return reply
	}
	const first, second = `{"url":"testscene:?size=320x180&fps=10","history":1,"prompts":[{"object":5,"box":[40,40,120,120]}]}`, "{\n\t\"name\": \"yard\", \"url\": \"testscene:?size=160x90&fps=10\", \"history\": 1\n}"
	// The first time takes memory and goroutines that are kept, so the second is measured.
	var goroutines, files float64
	for round := range 3 {
		add, drop := func(body string) told { return http("PUT", body) }, func() told { return http("DELETE", "") }
		if round == 1 {
			add, drop = func(body string) told { return busy("add", body) }, func() told { return busy("drop", "") }
		}
		if added := add(first); added.Name != "yard" || added.Run == "" {
			t.Errorf("added: %+v", added)
		}
		before := s.up(t, "yard")
		if len(before.Objects) != 1 || before.Objects[0].ID != 5 {
			t.Errorf("its prompt made the objects %v", before.Objects)
		}
		if same := add(first); same.Run != before.Run || same.Frame < before.Frame {
			t.Errorf("the same again began anew: %+v then %+v", before, same)
		}
		if other := add(second); other.Run == before.Run {
			t.Errorf("another source goes on in the same run %s", other.Run)
		}
		s.up(t, "yard")
		if dropped := drop(); dropped.Dropped != "yard" {
			t.Errorf("dropped: %+v", dropped)
		}

		var gone told
		if status := s.request(t, "GET", "/api/streams/yard", "", &gone); status != 404 {
			t.Errorf("status %d of a dropped stream: %+v", status, gone)
		}
		if status := s.request(t, "DELETE", "/api/streams/yard", "", &gone); status != 404 {
			t.Errorf("status %d where it is dropped twice", status)
		}
		if text := s.text(t, "/metrics"); strings.Contains(text, `stream="yard"`) {
			t.Error("its metrics are still there")
		}
		until(t, "end of its endpoints", func() bool {
			m, err := nc.Request("$SRV.INFO.tracker", nil, 10*time.Second)
			return err == nil && !strings.Contains(string(m.Data), "yard")
		})
		if round == 0 {
			continue
		}
		now, open := s.sum(t, "go_goroutines"), s.sum(t, "process_open_fds")
		if round == 2 && (now > goroutines+2 || open > files) {
			t.Errorf("%v goroutines and %v files, before %v and %v", now, open, goroutines, files)
		}
		goroutines, files = now, open
	}
	last := bus.events(t, "yard")
	if e := last[len(last)-1]; e.Type != rle.StreamDown || e.Reason != "the stream was dropped" || e.Code != "" {
		t.Errorf("the last event is %+v", e)
	}
	untouched(t, bus, "gate")
}

// TestTrial14StreamsByRequestReadNothingOfThisMachine adds what would make the tracker read files, devices and secrets.
func TestTrial14StreamsByRequestReadNothingOfThisMachine(t *testing.T) {
	folder := t.TempDir()
	clip, secret := filepath.Join(folder, "clip.ts"), filepath.Join(folder, "secret")
	if output, err := exec.Command("ffmpeg", "-hide_banner", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10:duration=2", "-c:v", "libx264", "-pix_fmt", "yuv420p", clip).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, output)
	}
	write(t, secret, "geheim\n")
	lists := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/file.m3u8":
			fmt.Fprintf(w, "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nfile://%s\n#EXT-X-ENDLIST\n", clip)
		case "/concat.m3u8":
			fmt.Fprintf(w, "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nconcat:%s\n#EXT-X-ENDLIST\n", clip)
		case "/own.m3u8": // the same by the same way as it has to be, to see that it is the file: that is refused
			fmt.Fprintf(w, "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n/clip.ts\n#EXT-X-ENDLIST\n")
		case "/clip.ts":
			http.ServeFile(w, r, clip)
		case "/away":
			http.Redirect(w, r, "file://"+clip, http.StatusFound)
		}
	}))
	defer lists.Close()
	s := serve(t, "-c", configure(t, "  - {name: gate, url: 'testscene:?size=160x90&fps=5', history: 1}"))

	for body, reason := range map[string]string{
		`{"url":"file://` + clip + `"}`:                  "reads no files",
		`{"url":"` + clip + `"}`:                         "reads no files",
		`{"url":"clip.ts"}`:                              "reads no files",
		`{"url":"concat:/etc/passwd"}`:                   "reads no files",
		`{"url":"subfile,,start,0,end,9,,:/etc/passwd"}`: "reads no files",
		`{"url":"pipe:0"}`:                               "reads no files",
		`{"url":"-"}`:                                    "reads no files",
		`{"url":"/dev/video0"}`:                          "reads no files",
		`{"url":"crypto+http://127.0.0.1/"}`:             "reads no files",
		`{"url":"http:` + clip + `"}`:                    "reads no files",
		`{"url":"rtsp://a:1/","username":"u","password_file":"` + secret + `"}`: "names a file of this machine",
		`{"url":"rtsps://a:1/","tls":{"ca_file":"` + secret + `"}}`:             "names a file of this machine",
		`{"url":"testscene:","model_config":"` + secret + `"}`:                  "names a file of this machine",
		`{"url":"testscene:","model":"` + secret + `"}`:                         secret,
		`{"url":"testscene:","pasword":"x"}`:                                    `did you mean "password"?`,
		`{"url":"testscene:","policy":"newset"}`:                                `did you mean "newest"?`,
		`{"url":"testscene:","history":0}`:                                      "keep 1 to",
		`{"url":"testscene:","name":"other"}`:                                   "make them agree",
		`{"url":"rtsp://u:ge@heim@h/"}`:                                         "percent-encode",
		`{"name":"yard"}`:                                                       "a URL is missing",
		`[]`:                                                                    "JSON object",
		``:                                                                      "JSON object",
	} {
		var reply told
		status := s.request(t, "PUT", "/api/streams/yard", body, &reply)
		code, message := reply.refused(t)
		if status != 400 || code != "bad_request" || !strings.Contains(message, reason) {
			t.Errorf("%s: %d %s %s, want %q", body, status, code, message, reason)
		}
		if strings.Contains(message, "heim") {
			t.Errorf("%s: the answer shows a secret: %s", body, message)
		}
	}
	var reply told
	for _, name := range []string{"ctl", "status", "_", "a.b", "a%20b", strings.Repeat("a", 65)} {
		if status := s.request(t, "PUT", "/api/streams/"+name, `{"url":"testscene:"}`, &reply); status != 400 {
			t.Errorf("a stream %q: %d %+v", name, status, reply)
		}
	}

	for name, path := range map[string]string{"list-file": "/file.m3u8", "list-concat": "/concat.m3u8", "redirect": "/away", "list-own": "/own.m3u8"} {
		if status := s.request(t, "PUT", "/api/streams/"+name, `{"url":"`+lists.URL+path+`","history":1,"timeout":"5s"}`, &reply); status != 200 {
			t.Errorf("%s: %d %s", name, status, reply.Error)
		}
	}
	until(t, "picture of the list that points at the network", func() bool { return s.sum(t, "tracker_source_frames_decoded_total", `stream="list-own"`) > 0 })
	for _, name := range []string{"list-file", "list-concat", "redirect"} {
		until(t, "failure of "+name, func() bool { return s.sum(t, "tracker_source_failures_total", `stream="`+name+`"`) > 0 })
		if n := s.sum(t, "tracker_source_frames_decoded_total", `stream="`+name+`"`); n > 0 {
			t.Errorf("%s gave %v pictures of a file", name, n)
		}
	}
}

// TestPasswordsOfRequestsAreNotShown looks for them wherever the service speaks.
func TestPasswordsOfRequestsAreNotShown(t *testing.T) {
	s := serve(t, "-c", configure(t, "  - {name: gate, url: 'testscene:?size=160x90&fps=5', history: 1}"))
	bus := listen(t, s)
	var said strings.Builder
	for i, body := range []string{
		`{"url":"rtsp://127.0.0.1:9/main","username":"admin","password":"p@ss:w/#%?!"}`,
		`{"url":"rtsp://admin:p%40ss%3Aw%2F%23%25%3F%21@127.0.0.1:9/main"}`,
		`{"url":"rtsp://admin:p@ss:w/#%?!@127.0.0.1:9/main"}`,
		`{"url":"rtsp://127.0.0.1:9/main","username":{"admin":1},"password":"p@ss:w/#%?!"}`,
		`{"url":"rtsp://127.0.0.1:9/main","password":"p@ss:w/#%?!"}`,
	} {
		name := fmt.Sprintf("cam%d", i)
		var reply json.RawMessage
		s.request(t, "PUT", "/api/streams/"+name, body, &reply)
		said.Write(reply)
	}
	until(t, "tries", func() bool {
		return s.sum(t, "tracker_source_failures_total", `stream="cam1"`) > 0 && s.sum(t, "tracker_source_failures_total", `stream="cam0"`) > 0
	})
	for _, path := range []string{"/api/streams", "/readyz", "/metrics"} {
		said.WriteString(s.text(t, path))
	}
	bus.mu.Lock()
	for _, m := range bus.messages {
		said.Write(m.Data)
	}
	bus.mu.Unlock()
	if code := s.end(t); code != 0 {
		t.Errorf("exit status %d", code)
	}
	said.WriteString(s.log.String())
	for _, secret := range []string{"p@ss", "ss:w", "p%40ss", "w%2F", "${"} {
		if strings.Contains(said.String(), secret) {
			t.Errorf("%q is shown in\n%s", secret, said.String())
		}
	}
}

func TestTheFileIsFollowedWhileOthersGoOn(t *testing.T) {
	const gate = "  - {name: gate, url: 'testscene:?fps=10', history: 1, prompts: [{object: 1, box: [418, 101, 544, 227]}]}"
	config := configure(t, gate+"\n  - {name: yard, url: 'testscene:?size=160x90&fps=10', history: 1}\n  - {name: dock, url: 'testscene:?size=160x90&fps=10', history: 1}")
	s := serve(t, "-c", config)
	bus := listen(t, s)
	s.up(t, "gate")
	yard, _ := s.up(t, "yard"), s.up(t, "dock")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(s.logText(), "\n")
	said := func(words ...string) { // in a new line of the log
		t.Helper()
		until(t, "line with "+strings.Join(words, " and "), func() bool {
			for i, line := range strings.Split(s.logText(), "\n")[lines:] {
				all := true
				for _, word := range words {
					all = all && strings.Contains(line, word)
				}
				if all {
					lines += i + 1
					return true
				}
			}
			return false
		})
	}

	write(t, config, strings.Replace(string(text), "history: 1}", "histroy: 1}", 1))
	said("the configuration is not taken", `unknown key \"histroy\"`, "did you mean")
	if now := s.up(t, "yard"); now.Run != yard.Run {
		t.Error("a wrong file has started a stream anew")
	}

	changed := strings.Replace(string(text), "yard, url: 'testscene:?size=160x90&fps=10'", "yard, url: 'testscene:?size=320x180&fps=10'", 1)
	changed = strings.Replace(changed, "name: dock", "name: roof", 1)
	changed = strings.Replace(changed, "frames: true", "frames: false", 1)
	replacement := config + ".new" // as editors write
	write(t, replacement, changed)
	if err := os.Rename(replacement, config); err != nil {
		t.Fatal(err)
	}
	said("do not take effect while the service runs", "keys=nats")
	said("the configuration is taken", "started=[roof]", "restarted=[yard]", "ended=[dock]")
	s.up(t, "roof")
	if now := s.up(t, "yard"); now.Run == yard.Run {
		t.Error("another source goes on in the same run")
	}
	if status := s.request(t, "GET", "/api/streams/dock", "", nil); status != 404 {
		t.Errorf("status %d of a stream that the file names no more", status)
	}

	// What was asked for stays, as long as the file says nothing new about it.
	if status := s.request(t, "DELETE", "/api/streams/roof", "", nil); status != 200 {
		t.Errorf("status %d", status)
	}
	s.hangUp(t)
	said("the configuration is taken", "started=[]", "restarted=[]", "ended=[]")
	if status := s.request(t, "GET", "/api/streams/roof", "", nil); status != 404 {
		t.Errorf("status %d: a stream that was dropped is back", status)
	}
	write(t, config, strings.Replace(changed, "name: roof, url: 'testscene:?size=160x90", "name: roof, url: 'testscene:?size=320x180", 1))
	said("the configuration is taken", "started=[roof]")
	untouched(t, bus, "gate")
}
