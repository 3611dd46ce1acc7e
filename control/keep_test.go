package control

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"maskstream/configs"
	"maskstream/sink"
)

// fakeKeeper adds fakes.
type fakeKeeper struct {
	service *Service
	mu      sync.Mutex
	added   []configs.Stream
	err     error
}

func keeping(s *Service) *fakeKeeper {
	k := &fakeKeeper{service: s}
	s.Keep(k)
	return k
}

func (k *fakeKeeper) Add(_ context.Context, stream configs.Stream) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return k.err
	}
	k.added = append(k.added, stream)
	k.service.Put(stream.Name, newFake(640, 360))
	return nil
}

func (k *fakeKeeper) Drop(_ context.Context, name string) error { return k.service.Drop(name) }

func (k *fakeKeeper) names() (names []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.added {
		names = append(names, s.Name)
	}
	return names
}

func TestStreamsAreAddedAsTheConfigurationHasThem(t *testing.T) {
	_, server := serve(t, ServerOptions{})
	keeper := keeping(server.service)
	status, body, _ := do(t, "PUT", server.URL()+"/api/streams/yard", `{"url":"rtsp://camera.example/main","username":"a","password":"p@ss","lost_after":"2s","prompts":[{"auto":true}],"password_file":null}`)
	if status != 200 || !strings.Contains(body, `"name":"yard"`) || strings.Contains(body, "p@ss") {
		t.Errorf("%d %s", status, body)
	}
	want := configs.DefaultStream()
	want.Name, want.URL, want.Username, want.Password, want.LostAfter, want.Auto = "yard", "rtsp://camera.example/main", "a", "p@ss", configs.Duration(2*time.Second), true
	if len(keeper.added) != 1 || keeper.added[0].Name != want.Name || keeper.added[0].Password != want.Password || keeper.added[0].LostAfter != want.LostAfter || !keeper.added[0].Auto || keeper.added[0].Model != want.Model {
		t.Errorf("added %#v, want %#v", keeper.added, want)
	}
	for _, c := range []struct {
		method, body string
		err          error
		status       int
		want         string
	}{
		{"PUT", `{"url":"concat:/etc/passwd"}`, nil, 400, "reads no files"},
		{"PUT", `{"url":"testscene:","url":"/etc/passwd"}`, nil, 400, "reads no files"},
		{"PUT", `{"url":"testscene:"} {}`, nil, 400, "something follows"},
		{"PUT", `{"url":"testscene:","history":"${HOME}"}`, nil, 400, `\"${HOME}\" is no whole number`},
		{"PUT", `{"url":"testscene:","prompts":[{"box":[1,2,3]}]}`, nil, 400, "give x0, y0, x1, y1"},
		{"PUT", `{"url":"testscene:"}`, Errorf(Unavailable, "full"), 503, "full"},
		{"PUT", `{"url":"testscene:"}`, errors.New("geheim"), 500, "the log says more"},
		{"DELETE", "", nil, 200, `{"dropped":"yard"}`},
		{"DELETE", "", nil, 404, "no stream"},
	} {
		keeper.err = c.err
		if status, body, _ := do(t, c.method, server.URL()+"/api/streams/yard", c.body); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.body, status, body, c.status, c.want)
		}
	}
}

// TestOneOfSeveralTrackersTakesANewStream lets two share a server, on which somebody listens to everything.
func TestOneOfSeveralTrackersTakesANewStream(t *testing.T) {
	embedded := natsServer(t, sink.EmbeddedOptions{Port: -1})
	var keepers []*fakeKeeper
	for range 2 {
		service := NewService()
		keepers = append(keepers, keeping(service))
		openNATS(t, service, embedded.URL())
	}
	nc := client(t, embedded.URL())
	monitor, err := client(t, embedded.URL()).SubscribeSync("site.tracker.>")
	if err != nil {
		t.Fatal(err)
	}
	defer monitor.Unsubscribe()
	until(t, "both", func() bool {
		ping, err := nc.SubscribeSync(nats.NewInbox())
		if err != nil {
			t.Fatal(err)
		}
		defer ping.Unsubscribe()
		if err := nc.PublishRequest("$SRV.PING.tracker", ping.Subject, nil); err != nil {
			t.Fatal(err)
		}
		_, err1 := ping.NextMsg(time.Second)
		_, err2 := ping.NextMsg(time.Second)
		return err1 == nil && err2 == nil
	})
	names := []string{"a", "b", "c", "d", "e", "f"}
	for _, name := range names {
		for _, body := range []string{`{"url":"testscene:"}`, `{"url":"testscene:?fps=5"}`} { // the second goes to whoever took the first
			reply := ask(t, nc, name+".add", body)
			var status StreamStatus
			if err := json.Unmarshal(reply.Data, &status); err != nil || status.Name != name {
				t.Errorf("%s: %s", name, reply.Data)
			}
		}
	}
	of := map[string]int{}
	for i, k := range keepers {
		for _, name := range k.names() {
			if owner, taken := of[name]; taken && owner != i {
				t.Errorf("both have %s", name)
			}
			of[name] = i
		}
		t.Logf("tracker %d was asked for %v", i, k.names())
	}
	if len(of) != len(names) {
		t.Errorf("added %v", of)
	}
	if reply := ask(t, nc, "nobody.status", ""); !strings.Contains(string(reply.Data), "not_found") {
		t.Errorf("a stream that nobody has: %s", reply.Data)
	}
	if reply := ask(t, nc, "ctl.add", `{"url":"testscene:"}`); !strings.Contains(string(reply.Data), "reserved") {
		t.Errorf("a reserved name: %s", reply.Data)
	}
}
