package integration

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"maskstream/ingest/cameratest"
)

// secrets are the password in every spelling, and pieces of it that a parser which stumbles over it might show.
func secrets() []string {
	return []string{
		specialPassword, encodedPassword, strings.ToLower(encodedPassword), url.QueryEscape(specialPassword), url.PathEscape(specialPassword),
		base64.StdEncoding.EncodeToString([]byte(specialUser + ":" + specialPassword)),
		base64.StdEncoding.EncodeToString([]byte(specialUser + ":" + specialPassword + "x")),
		"p@ss", "ss:w", "w/#", "#%?", "%?!", "%40ss", "ss%3A", "w%2F", "p%40",
	}
}

// TestTrial3Secrets says everything that the program can say about cameras with a password, and looks for the password in it.
func TestTrial3Secrets(t *testing.T) {
	for server, start := range cameras {
		t.Run(server, func(t *testing.T) {
			login := cameratest.Options{User: specialUser, Password: specialPassword}
			camera := start(t, login)
			login.TLS = true
			encrypted := start(t, login)
			hole, _ := blackHole(t)
			t.Setenv("GATE_PASSWORD", specialPassword)
			address := strings.TrimPrefix(camera.URL(), "rtsp://")
			inURL := "rtsp://" + encodedUser + ":" + encodedPassword + "@"
			named := fmt.Sprintf(", username: '%s', password: '${GATE_PASSWORD}'}", specialUser)
			config := configure(t, strings.Join([]string{
				"  - {name: good, url: '" + camera.URL() + "?token=" + encodedPassword + "'" + named,
				"  - {name: inurl, url: '" + inURL + address + "'}",
				"  - {name: udp, transport: udp, url: '" + inURL + address + "'}",
				"  - {name: http, transport: http, url: '" + inURL + address + "'}",
				"  - {name: tls, tls: {verify: false}, url: '" + encrypted.URL() + "'" + named,
				"  - {name: untrusted, url: '" + encrypted.URL() + "'" + named,
				"  - {name: wrong, url: '" + camera.URL() + "', username: '" + specialUser + "', password: '" + specialPassword + "x'}",
				"  - {name: path, url: '" + strings.TrimSuffix(camera.URL(), "main") + "user=a&password=" + encodedPassword + "'" + named,
				"  - {name: nobody, url: '" + inURL + cameratest.FreeAddress(t) + "/main'}",
				"  - {name: nowhere, url: '" + inURL + "camera.invalid/main'}",
				"  - {name: silent, timeout: 1s, url: '" + inURL + hole + "/main'}",
				"  - {name: web, url: 'http://" + encodedUser + ":" + encodedPassword + "@" + address + "'}",
				"log: {level: debug}",
			}, "\n"))
			var said strings.Builder
			s := serve(t, "-c", config)
			bus := listen(t, s)
			want := map[string]string{
				"good": "", "inurl": "", "http": "", "tls": "", "untrusted": "tls_certificate", "wrong": "auth_failed", "nobody": "connection_failed", "nowhere": "not_found", "silent": "timeout",
			}
			until(t, "word of every stream", func() bool {
				r, _ := s.readiness(t)
				for name, code := range want {
					if state := r.Streams[name]; state.Code != code || (code == "") != (state.State == "up") {
						return false
					}
				}
				return true
			})
			for _, path := range []string{"/metrics", "/readyz", "/healthz", "/", "/api/streams", "/api/streams/wrong", "/api/streams/nosuch", "/preview/nosuch.mjpeg", "/api/config", "/debug/pprof/"} {
				said.WriteString(s.text(t, path))
			}
			connection, err := nats.Connect(s.bus)
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			for subject, body := range map[string]string{
				"$SRV.INFO": "", "$SRV.STATS": "", "tracker.ctl._.list": "", "tracker.ctl.wrong.status": "", "tracker.ctl.wrong.prompt": `{"points":[[1,1]],"labels":[1]}`,
				"tracker.ctl.more.add": `{"name":"more","url":"` + inURL + address + `","password":"` + specialPassword + `"}`,
			} {
				if reply, err := connection.Request(subject, []byte(body), 10*time.Second); err == nil {
					fmt.Fprintf(&said, "%v %s\n", reply.Header, reply.Data)
				}
			}
			// A crash: Go prints what all goroutines were about.
			if err := s.command.Process.Signal(syscall.SIGQUIT); err != nil {
				t.Fatal(err)
			}
			<-s.logged
			if !strings.Contains(s.log.String(), "SIGQUIT") || !strings.Contains(s.log.String(), "maskstream/ingest") || !strings.Contains(s.log.String(), "from=ffmpeg") {
				t.Error("the log has no crash and nothing of FFmpeg's: this test shows nothing")
			}
			said.WriteString(s.log.String())
			bus.mu.Lock()
			for _, m := range bus.messages {
				if strings.HasPrefix(m.Subject, "tracker.ctl.") { // what was asked, with the password, and not what was answered
					continue
				}
				fmt.Fprintf(&said, "%v %s\n", m.Header, m.Data)
			}
			bus.mu.Unlock()

			for _, arguments := range [][]string{
				{"config", "print", "-c", config},
				{"config", "check", config},
				{"track", "rtsp://" + encodedUser + ":" + encodedPassword + "x@" + address, "--point", "1,1"},
				{"track", inURL + "camera.invalid/main", "--point", "1,1"},
				{"track", "http://" + encodedUser + ":" + encodedPassword + "@" + hole[:strings.IndexByte(hole, ':')] + ":1/a.mp4", "--point", "1,1"},
			} {
				r := call(t, arguments...)
				said.WriteString(r.stdout + r.stderr)
			}
			// In the URL as it is, whole and with the characters one by one that lead parsers astray.
			for _, raw := range []string{specialPassword, "p@ss#w", "p@ssp@ss", "12#p@ss", "12/p@ss", "12?p@ss", "w/#p@ss", "%?!p@ss"} {
				source := "rtsp://admin:" + raw + "@" + address
				for _, r := range []result{
					call(t, "config", "check", configure(t, "  - {name: raw, url: '"+source+"'}")),
					call(t, "track", source, "--point", "1,1"),
				} {
					if r.status != 2 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "percent-encode") {
						t.Errorf("%s: exit status %d, %q", raw, r.status, r.stderr)
					}
					said.WriteString(r.stdout + r.stderr)
				}
			}

			text := said.String()
			for _, secret := range secrets() {
				if i := strings.Index(text, secret); i >= 0 {
					t.Errorf("%q is shown: …%s…", secret, text[max(0, i-300):min(len(text), i+60)])
				}
			}
			t.Logf("searched %d bytes for %d spellings and pieces", len(text), len(secrets()))
		})
	}
}
