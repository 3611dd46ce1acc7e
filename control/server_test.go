package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"maskstream/sink"
)

// serve runs a server with a fake stream "demo" of 640×360.
func serve(t *testing.T, o ServerOptions) (*fakeStream, *Server) {
	t.Helper()
	noGoroutinesLeft(t)
	service := NewService()
	fake := newFake(640, 360)
	if err := service.Add("demo", fake); err != nil {
		t.Fatal(err)
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Log == nil {
		o.Log = quiet()
	}
	server, err := NewServer(service, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := fake.preview.Close(context.Background()); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return fake, server
}

// do sends one request with extra headers ("Name: value") and returns status and body.
func do(t *testing.T, method, url, body string, headers ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text), response.Header
}

func TestEveryVerbAnswersAsTheTableSays(t *testing.T) {
	fake, server := serve(t, ServerOptions{})
	api := server.URL() + "/api/streams"
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string // regular expression
	}{
		{"GET", "", "", 200, `^{"streams":\[{"name":"demo","state":"up".*"fps":24.96,.*"objects":\[\]}\]}\n$`},
		{"GET", "/demo", "", 200, `^{"name":"demo","state":"up","run":"0badcafe","epoch":0,"frame":0,"size":\[360,640\],"fps":24.96,"latency_ms":41.7,"dropped":0,"viewers":0,"objects":\[\]}\n$`},
		{"POST", "/demo/prompts", `{"points":[[120,90]],"labels":[1]}`, 200, `^{"v":1,"stream":"demo",.*"direction":"prompt","objects":\[{"id":1,`},
		{"POST", "/demo/prompts", `{"object":7,"frame":12,"box":[10,20,80,90]}`, 200, `"objects":\[{"id":1,.*{"id":7,`},
		{"GET", "/demo", "", 200, `"objects":\[{"id":1,"state":"tracked","area":\d+,"bbox":\[81,51,79,79\],"color":"#[0-9a-f]{6}"},{"id":7,`},
		{"DELETE", "/demo/objects/7/prompts?frame=12", "", 200, `"direction":"prompt"`},
		{"DELETE", "/demo/objects/7", "", 200, `^{"removed":7}\n$`},
		{"DELETE", "/demo/objects/7", "", 404, `^{"error":{"code":"not_found","message":"there is no object 7"}}\n$`},
		{"POST", "/demo/reset", "", 200, `^{}\n$`},
		{"POST", "/demo/reset", "{}", 200, `^{}\n$`},
		{"POST", "/demo/reverse", `{"frames":300}`, 200, `^{"accepted":true}\n$`},
		{"POST", "/demo/discover", `{"options":{}}`, 200, `"direction":"prompt"`},
		{"PUT", "/demo", `{"url":"concat:/etc/passwd"}`, 501, `"code":"not_supported"`},
		{"DELETE", "/demo", "", 501, `"code":"not_supported"`},
		{"GET", "/other", "", 404, `"code":"not_found"`},
		{"GET", "/..%2fdemo", "", 404, `"code":"not_found"`},
		{"GET", "/demo/nothing", "", 404, `"code":"not_found"`},
		{"PATCH", "/demo", "", 405, `"code":"method_not_allowed"`},
		{"GET", "/demo/prompts", "", 405, `"message":"GET is not for this address: use POST"`},
		{"DELETE", "/demo/objects/a.%3E", "", 400, `"code":"bad_request"`},
		{"DELETE", "/demo/objects/-1", "", 400, `ids go from 0 to 2147483647`},
		{"DELETE", "/demo/objects/1/prompts?frame=x", "", 400, `neither \\"latest\\" nor a number`},
	} {
		status, body, header := do(t, c.method, api+c.path, c.body)
		if status != c.status || !regexp.MustCompile(c.want).MatchString(body) || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %s\ngot  %d %s\nwant %d %s", c.method, c.path, c.body, status, body, c.status, c.want)
		}
	}
	if r := fake.requests[0]; r.Object != nil || r.Frame != Latest || r.Points[0] != [2]float64{120, 90} || !r.ClearOldPoints {
		t.Errorf("first prompt was %+v", r)
	}
	if r := fake.requests[1]; *r.Object != 7 || r.Frame != 12 || *r.Box != [4]float64{10, 20, 80, 90} {
		t.Errorf("second prompt was %+v", r)
	}
}

// badPrompts are refused for a picture of 640×360, with these words.
var badPrompts = map[string]string{
	``:                                   "has to be a JSON object",
	`[]`:                                 "has to be a JSON object",
	`null`:                               "has to be a JSON object",
	`{`:                                  "unexpected EOF",
	`{}`:                                 "says nothing",
	`{"points":[[1,2]],"labels":[1]} {}`: "something follows",
	`{"points":[[1,2]],"labels":[1],"colour":1}`:                           `unknown field \"colour\"`,
	`{"points":[[1,2]]}`:                                                   "labels: 0 for 1 points",
	`{"points":[[1,2]],"labels":[2]}`:                                      "labels[0]: 2",
	`{"points":[[1,2]],"labels":[1.5]}`:                                    "not what the verb takes",
	`{"points":[1,2],"labels":[1]}`:                                        "points: it takes [[x, y]], found number",
	`{"box":"1,2,3,4"}`:                                                    "box: it takes [x0, y0, x1, y1], found string",
	`{"object":"1","box":[1,2,3,4]}`:                                       "object: it takes a whole number, found string",
	`{"mask":{"size":360,"counts":""}}`:                                    "mask.size: it takes [height, width], found number",
	`{"points":[[1,2,3]],"labels":[1]}`:                                    "points[0]",
	`{"points":[[1]],"labels":[1]}`:                                        "points[0]",
	`{"points":[[-1,2]],"labels":[1]}`:                                     "within the picture of 640×360",
	`{"points":[[1,361]],"labels":[1]}`:                                    "within the picture",
	`{"points":[[1e999,2]],"labels":[1]}`:                                  "not what the verb takes",
	`{"points":[[NaN,2]],"labels":[1]}`:                                    "not what the verb takes",
	`{"points":[` + strings.Repeat("[1,2],", 1001) + `[1,2]],"labels":[]}`: "labels: 0 for 1002",
	`{"box":[1,2,3]}`:                                                      "box: 3 values",
	`{"box":[5,2,3,9]}`:                                                    "has no inside",
	`{"box":[5,2,5,9]}`:                                                    "has no inside",
	`{"box":[700,2,800,9]}`:                                                "outside of the picture",
	`{"box":[0,0,1e300,9]}`:                                                "outside of the picture",
	`{"object":-1,"box":[1,2,3,4]}`:                                        "ids go from 0",
	`{"object":2147483648,"box":[1,2,3,4]}`:                                "ids go from 0",
	`{"object":"a.>","box":[1,2,3,4]}`:                                     "not what the verb takes",
	`{"frame":"newest","box":[1,2,3,4]}`:                                   "neither",
	`{"frame":-1,"box":[1,2,3,4]}`:                                         "neither",
	`{"mask":{"size":[360,640],"counts":"x"},"box":[1,2,3,4]}`:             "excludes",
	`{"mask":{"size":[2,3],"counts":"231"}}`:                               "the picture's is [360 640]",
	`{"mask":{"size":[360,640],"counts":"231"}}`:                           "mask: ",
	`{"mask":{"size":[360,640],"counts":"\u0000"}}`:                        "mask: ",
	`{"mask":{"size":[2000000000,2000000000],"counts":"0"}}`:               "the picture's is",
	strings.Repeat(`{"box":`, 20_000) + strings.Repeat("}", 20_000):        "not what the verb takes",
}

func TestBadPromptsAreRefusedBeforeTheStreamSeesThem(t *testing.T) {
	fake, server := serve(t, ServerOptions{})
	for body, want := range badPrompts {
		status, answer, _ := do(t, "POST", server.URL()+"/api/streams/demo/prompts", body)
		if status != 400 || !strings.Contains(answer, strings.ReplaceAll(want, `\"`, `\"`)) {
			t.Errorf("%.80s\ngot %d %s, want %s", body, status, answer, want)
		}
	}
	if status, answer, _ := do(t, "POST", server.URL()+"/api/streams/demo/prompts", `{"box":"`+strings.Repeat("a", BodyLimit)+`"}`); status != 413 || !strings.Contains(answer, `"too_large"`) {
		t.Errorf("large body: %d %s", status, answer)
	}
	if len(fake.requests) != 0 {
		t.Errorf("%d prompts reached the stream", len(fake.requests))
	}
	fake.size = [2]int{}
	if status, answer, _ := do(t, "POST", server.URL()+"/api/streams/demo/prompts", `{"box":[1,2,3,4]}`); status != 503 {
		t.Errorf("before the first picture: %d %s", status, answer)
	}
}

func TestMaskPromptReachesTheStreamWhole(t *testing.T) {
	fake, server := serve(t, ServerOptions{})
	fake.size = [2]int{2, 3}
	if status, answer, _ := do(t, "POST", server.URL()+"/api/streams/demo/prompts", `{"mask":{"size":[2,3],"counts":"231"}}`); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	if m := fake.requests[0].Mask; m == nil || m.Area() != 3 {
		t.Errorf("mask %+v", m)
	}
}

func TestErrorsOfTheStreamHaveTheirCodeAndKeepTheirSecrets(t *testing.T) {
	var log bytes.Buffer
	fake, server := serve(t, ServerOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
	for _, c := range []struct {
		err    error
		status int
		want   string
	}{
		{Errorf(Busy, "a reverse pass runs already"), 409, `{"error":{"code":"busy","message":"a reverse pass runs already"}}`},
		{fmt.Errorf("reset: %w", ErrUnavailable), 503, `"code":"unavailable"`},
		{errors.New("open rtsp://u:geheim@h"), 500, `{"error":{"code":"internal","message":"internal error: the log says more"}}`},
		{context.DeadlineExceeded, 504, `"code":"timeout"`},
	} {
		fake.err = c.err
		status, body, _ := do(t, "POST", server.URL()+"/api/streams/demo/reset", "")
		if status != c.status || !strings.Contains(body, c.want) || strings.Contains(body, "geheim") {
			t.Errorf("%v: %d %s", c.err, status, body)
		}
	}
	if lines := log.String(); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, "level=ERROR") || !strings.Contains(lines, "error=\"open ") {
		t.Errorf("the log says %q, wanted the internal error alone", lines)
	}
}

func TestClientThatGivesUpFreesItsRequest(t *testing.T) {
	fake, server := serve(t, ServerOptions{})
	fake.stall = true
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", server.URL()+"/api/streams/demo/reset", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := http.DefaultClient.Do(r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	} // the goroutine check sees whether the handler ended
}

func TestForeignHostsOriginsAndMissingTokensAreRefused(t *testing.T) {
	open, closed := ServerOptions{}, ServerOptions{Token: "geheim", AllowOrigins: []string{"https://dash.example"}}
	for name, c := range map[string]struct {
		options      ServerOptions
		method, path string
		headers      []string
		status       int
	}{
		"plain":                        {open, "GET", "/api/streams", nil, 200},
		"localhost":                    {open, "GET", "/api/streams", []string{"Host: localhost:8080"}, 200},
		"rebound name":                 {open, "GET", "/api/streams", []string{"Host: evil.example"}, 403},
		"rebound name on the page":     {open, "GET", "/", []string{"Host: evil.example:8080"}, 403},
		"same origin":                  {open, "POST", "/api/streams/demo/reset", []string{"Origin: http://127.0.0.1:9", "Host: 127.0.0.1:9"}, 200},
		"foreign origin":               {open, "POST", "/api/streams/demo/reset", []string{"Origin: https://evil.example"}, 403},
		"sandboxed page":               {open, "POST", "/api/streams/demo/reset", []string{"Origin: null"}, 403},
		"foreign picture":              {open, "GET", "/preview/demo.mjpeg", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"}, 403},
		"link from elsewhere":          {open, "GET", "/", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 200},
		"preflight from elsewhere":     {open, "OPTIONS", "/api/streams/demo/reset", []string{"Origin: https://evil.example"}, 403},
		"no token":                     {closed, "GET", "/api/streams", nil, 401},
		"no token for metrics":         {closed, "GET", "/metrics", nil, 401},
		"no token for the picture":     {closed, "GET", "/preview/none.mjpeg", nil, 401},
		"wrong token":                  {closed, "GET", "/api/streams", []string{"Authorization: Bearer geheim1"}, 401},
		"empty token":                  {closed, "GET", "/api/streams", []string{"Authorization: Bearer "}, 401},
		"token after another word":     {closed, "GET", "/api/streams", []string{"Authorization: Basic geheim"}, 401},
		"token in small letters":       {closed, "GET", "/api/streams", []string{"Authorization: bearer geheim"}, 200},
		"token":                        {closed, "GET", "/api/streams", []string{"Authorization: Bearer geheim"}, 200},
		"token of the picture":         {closed, "GET", "/preview/none.mjpeg?token=geheim", nil, 404},
		"token in the query elsewhere": {closed, "GET", "/api/streams?token=geheim", nil, 401},
		"page without a token":         {closed, "GET", "/", nil, 200},
		"script without a token":       {closed, "GET", "/page/page.js", nil, 200},
		"sign of life without a token": {closed, "GET", "/healthz", nil, 200},
		"allowed origin":               {closed, "POST", "/api/streams/demo/reset", []string{"Origin: https://dash.example", "Authorization: Bearer geheim"}, 200},
		"allowed origin, no token":     {closed, "POST", "/api/streams/demo/reset", []string{"Origin: https://dash.example"}, 401},
		"allowed preflight":            {closed, "OPTIONS", "/api/streams/demo/reset", []string{"Origin: https://dash.example"}, 204},
		"host of an allowed origin":    {closed, "GET", "/", []string{"Host: dash.example"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			_, server := serve(t, c.options)
			status, body, header := do(t, c.method, server.URL()+c.path, "", c.headers...)
			if status != c.status || strings.Contains(body, "geheim") {
				t.Errorf("%d %.200s, want %d", status, body, c.status)
			}
			if csp := header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
				t.Errorf("policy %q", csp)
			}
		})
	}
}

func TestListeningBeyondLoopbackNeedsAToken(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0"} {
		if _, err := NewServer(NewService(), ServerOptions{Listen: listen, Log: quiet()}); err == nil || !strings.Contains(err.Error(), "token_file") {
			t.Errorf("%s: %v", listen, err)
		}
	}
}

func TestTakenPortIsAnErrorOrAnotherPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = NewServer(NewService(), ServerOptions{Listen: taken.Addr().String(), Log: quiet()})
	if err == nil || !strings.Contains(err.Error(), "another program uses this port: end it, or choose another port") {
		t.Errorf("got %v", err)
	}
	other, err := NewServer(NewService(), ServerOptions{Listen: taken.Addr().String(), AnyPort: true, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if other.URL() == "http://"+taken.Addr().String() {
		t.Error("two listen at one port")
	}
}

func TestHealthNamesWhatIsDown(t *testing.T) {
	var connection error
	fake, server := serve(t, ServerOptions{Checks: []Check{{"nats", func() error { return connection }}}})
	for _, c := range []struct {
		state  StreamState
		reason string
		nats   error
		status int
		want   string
	}{
		{Up, "", nil, 200, `{"ready":true,"down":[],"streams":{"demo":{"state":"up"}},"parts":{"nats":"ok"}}`},
		{Ended, "", nil, 200, `"state":"ended"`},
		{Ended, "opening clip.mp4: not found", nil, 503, `{"ready":false,"down":["demo"],"streams":{"demo":{"state":"ended","error":"opening clip.mp4: not found"}}`},
		{Starting, "", nil, 503, `"down":["demo"]`},
		{Down, "rtsp://camera.example/main: connection refused", errors.New("no connection"), 503, `{"ready":false,"down":["demo","nats"],"streams":{"demo":{"state":"down","error":"rtsp://camera.example/main: connection refused"}},"parts":{"nats":"no connection"}}`},
	} {
		fake.mu.Lock()
		fake.state, fake.reason = c.state, c.reason
		fake.mu.Unlock()
		connection = c.nats
		if status, body, _ := do(t, "GET", server.URL()+"/readyz", ""); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", c.state, status, body)
		}
		if status, _, _ := do(t, "GET", server.URL()+"/healthz", ""); status != 200 {
			t.Errorf("healthz: %d", status)
		}
	}
}

func TestMetricsAreInPrometheusTextFormat(t *testing.T) {
	fake, server := serve(t, ServerOptions{Collectors: []Collector{BuildMetrics(`1"2\` + "\n"), SessionMetrics(func() int { return 6 })}})
	fake.mu.Lock()
	fake.webrtc = &WebRTCStatus{Viewers: 4, Buffered: 77, Dropped: map[string]int64{"not_drawn": 12}}
	fake.mu.Unlock()
	status, body, header := do(t, "GET", server.URL()+"/metrics", "")
	if status != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %v", status, header)
	}
	line := regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*\})? (\+Inf|[-+0-9.e]+))$`)
	seen := map[string]bool{}
	for l := range strings.SplitSeq(strings.TrimSuffix(body, "\n"), "\n") {
		if !line.MatchString(l) {
			t.Errorf("not a line of the format: %q", l)
		}
		if strings.HasPrefix(l, "# TYPE") {
			if seen[l] {
				t.Errorf("twice: %s", l)
			}
			seen[l] = true
		}
	}
	for _, want := range []string{
		`tracker_source_up{stream="demo"} 1`, `tracker_source_frames_decoded_total{stream="demo"} 7`, `tracker_source_last_frame_timestamp_seconds{stream="demo"} 1.7e+09`,
		`tracker_history_frames{stream="demo"} 30`, `tracker_history_bytes{stream="demo"} 5000`, `tracker_history_left_out_total{stream="demo"} 1`,
		`tracker_past_results_total{pass="catch_up",stream="demo"} 8`, `tracker_past_results_total{pass="reverse",stream="demo"} 9`,
		`tracker_pool_live_bytes{pool="network",stream="demo"} 70`, `tracker_pool_idle_bytes{pool="network",stream="demo"} 60`, `tracker_pool_moved_bytes_total{pool="network",stream="demo"} 50`,
		`tracker_source_frames_dropped_total{reason="busy",stage="queue",stream="demo"} 3`, `tracker_sink_dropped_total{sink="nats",stream="demo"} 2`,
		`tracker_frame_latency_seconds_bucket{stage="infer",stream="demo",le="0.025"} 1`, `tracker_frame_latency_seconds_bucket{stage="infer",stream="demo",le="+Inf"} 2`,
		`tracker_frame_latency_seconds_sum{stage="infer",stream="demo"} 3.02`, `tracker_frame_latency_seconds_count{stage="infer",stream="demo"} 2`,
		`tracker_webrtc_viewers{stream="demo"} 4`, `tracker_webrtc_buffered_bytes{stream="demo"} 77`, `tracker_webrtc_dropped_total{reason="not_drawn",stream="demo"} 12`, "tracker_webrtc_sessions 6",
		`",version="1\"2\\\n"} 1`, `tracker_build_info{go_version="go`, "go_goroutines ", "go_memstats_heap_inuse_bytes ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
}

func TestTwoCollectorsOfOneNameAreRefused(t *testing.T) {
	_, err := NewServer(NewService(), ServerOptions{Listen: "127.0.0.1:0", Log: quiet(), Collectors: []Collector{BuildMetrics("1"), BuildMetrics("2"), BuildMetrics("1")}})
	if err == nil || !strings.Contains(err.Error(), "metrics: ") {
		t.Errorf("got %v", err)
	}
}

func TestConnectionMetricsFollowTheConnection(t *testing.T) {
	nats, err := sink.StartEmbedded(sink.EmbeddedOptions{Port: -1, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer nats.Shutdown()
	connection, err := sink.Connect(sink.NATSOptions{URL: nats.URL(), Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the connection", connection.Connected)
	_, server := serve(t, ServerOptions{Collectors: []Collector{NATSMetrics(connection, nil)}})
	text := func() string {
		_, body, _ := do(t, "GET", server.URL()+"/metrics", "")
		return body
	}
	if got := text(); !strings.Contains(got, "tracker_nats_connected 1\n") || !strings.Contains(got, `tracker_nats_publish_total{result="disconnected"} 0`) {
		t.Errorf("connected: %s", got)
	}
	if err := connection.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := text(); !strings.Contains(got, "tracker_nats_connected 0\n") {
		t.Errorf("closed: %s", got)
	}
}

func TestPageIsServedWhole(t *testing.T) {
	_, server := serve(t, ServerOptions{})
	for path, want := range map[string][2]string{
		"/": {"text/html; charset=utf-8", "<title>Maskstream</title>"}, "/page/page.css": {"text/css; charset=utf-8", "--accent"},
		"/page/page.js": {"text/javascript; charset=utf-8", "'use strict'"}, "/page/icon.svg": {"image/svg+xml", "<svg"},
	} {
		status, body, header := do(t, "GET", server.URL()+path, "")
		if status != 200 || header.Get("Content-Type") != want[0] || !strings.Contains(body, want[1]) {
			t.Errorf("%s: %d %s", path, status, header.Get("Content-Type"))
		}
		if path == "/" && regexp.MustCompile(`(?i)<script>|<style|style=|\bon[a-z]+=|https?://`).MatchString(body) {
			t.Error("the page holds inline script or style, or an address elsewhere")
		}
	}
	if status, _, _ := do(t, "GET", server.URL()+"/page/../server.go", ""); status == 200 {
		t.Error("a file beside the page is served")
	}
}

func TestPreviewShowsThePictureAndEndsWithTheServer(t *testing.T) {
	fake, server := serve(t, ServerOptions{})
	if err := fake.show(t.Context()); err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(server.URL() + "/preview/demo.mjpeg")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	head := make([]byte, 2000)
	if _, err := io.ReadFull(response.Body, head); err != nil || !bytes.Contains(head, []byte("Content-Type: image/jpeg")) {
		t.Errorf("%v: %q", err, head[:80])
	}
	for path, want := range map[string]int{"/preview/other.mjpeg": 404, "/preview/demo": 404, "/preview/demo.mp4": 404} {
		if status, body, _ := do(t, "GET", server.URL()+path, ""); status != want || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

func TestStreamNamesAreUsedOnce(t *testing.T) {
	s := NewService()
	if err := s.Add("a", newFake(1, 1)); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if err := s.Add("a", newFake(1, 1)); !errors.As(err, &e) || e.Code != Conflict {
		t.Errorf("got %v", err)
	}
	if err := s.Drop("a"); err != nil {
		t.Error(err)
	}
	if err := s.Drop("a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
