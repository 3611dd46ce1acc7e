package control

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"maskstream/rle"
	"maskstream/sink"
)

// natsServer is a server in this process, gone at the test's end.
func natsServer(t *testing.T, o sink.EmbeddedOptions) *sink.Embedded {
	t.Helper()
	o.Log = quiet()
	server, err := sink.StartEmbedded(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	return server
}

// openNATS runs a door to service until the test ends.
func openNATS(t *testing.T, service *Service, url string) *sink.Connection {
	t.Helper()
	connection, err := sink.Connect(sink.NATSOptions{URL: url, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	door := NewNATS(service, NATSOptions{Connection: connection, Prefix: "site.tracker", Version: "(devel)", Log: quiet()})
	go func() { ended <- door.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := connection.Close(context.Background()); err != nil {
			t.Log(err)
		}
	})
	return connection
}

// client is a plain one, as an operator has it.
func client(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// ask repeats a request while nobody answers: the door may not be open yet.
func ask(t *testing.T, nc *nats.Conn, subject, body string) *nats.Msg {
	t.Helper()
	var reply *nats.Msg
	until(t, "an answer on "+subject, func() bool {
		var err error
		reply, err = nc.Request("site.tracker.ctl."+subject, []byte(body), 5*time.Second)
		if err != nil && !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, nats.ErrTimeout) {
			t.Fatal(err)
		}
		return err == nil
	})
	return reply
}

func TestBothDoorsAnswerAlike(t *testing.T) {
	fake, server := serve(t, ServerOptions{})
	embedded := natsServer(t, sink.EmbeddedOptions{Port: -1})
	service := NewService()
	twin := newFake(640, 360) // goes through the same
	if err := service.Add("demo", twin); err != nil {
		t.Fatal(err)
	}
	openNATS(t, service, embedded.URL())
	nc := client(t, embedded.URL())
	for _, c := range []struct {
		subject, body      string
		method, path, http string // http: the body there, where it differs
		status             int
	}{
		{"_.list", "", "GET", "", "", 200},
		{"demo.status", "{}", "GET", "/demo", "", 200},
		{"demo.prompt", `{"points":[[120,90]],"labels":[1]}`, "POST", "/demo/prompts", "", 200},
		{"demo.prompt", `{"object":7,"frame":12,"epoch":0,"box":[10,20,80,90]}`, "POST", "/demo/prompts", "", 200},
		{"demo.prompt", `{"object":7,"frame":"newest","box":[10,20,80,90]}`, "POST", "/demo/prompts", "", 400},
		{"demo.prompt", `{"points":[[120,90]],"labels":[1],"epoch":-1}`, "POST", "/demo/prompts", "", 400},
		{"demo.prompt", "{\"frame\":[1,\n2]}", "POST", "/demo/prompts", "", 400}, // quoted in a header
		{"demo.prompt", ``, "POST", "/demo/prompts", "", 400},
		{"demo.clear", `{"object":7,"frame":12}`, "DELETE", "/demo/objects/7/prompts?frame=12", "", 200},
		{"demo.clear", `{"object":8}`, "DELETE", "/demo/objects/8/prompts", "", 404},
		{"demo.remove", `{"object":7}`, "DELETE", "/demo/objects/7", "", 200},
		{"demo.remove", `{"object":7}`, "DELETE", "/demo/objects/7", "", 404},
		{"demo.reverse", `{"objects":[1],"frames":300}`, "POST", "/demo/reverse", "", 200},
		{"demo.reverse", ``, "POST", "/demo/reverse", "", 200},
		{"demo.reverse", `{"objects":[]}`, "POST", "/demo/reverse", "", 400},
		{"demo.reverse", `{"objects":[-1]}`, "POST", "/demo/reverse", "", 400},
		{"demo.reverse", `{"frames":0}`, "POST", "/demo/reverse", "", 400},
		{"demo.reverse", `{"frames":1.5}`, "POST", "/demo/reverse", "", 400},
		{"demo.discover", `{"options":{"points_per_side":8}}`, "POST", "/demo/discover", "", 200},
		{"demo.discover", ``, "POST", "/demo/discover", "", 200},
		{"demo.discover", `{"options":[]}`, "POST", "/demo/discover", "", 400},
		{"demo.discover", `{"points_per_side":8}`, "POST", "/demo/discover", "", 400},
		{"demo.reset", ``, "POST", "/demo/reset", "", 200},
		{"demo.add", `{"url":"concat:/etc/passwd"}`, "PUT", "/demo", "", 501},
		{"demo.drop", ``, "DELETE", "/demo", "", 501},
	} {
		reply := ask(t, nc, c.subject, c.body)
		status, body, _ := do(t, c.method, server.URL()+"/api/streams"+c.path, c.body)
		code := ""
		if status != 200 {
			code = strconv.Itoa(status)
			var e errorBody
			if err := json.Unmarshal(reply.Data, &e); err != nil || e.Error == nil || reply.Header.Get(micro.ErrorHeader) != e.Error.Message {
				t.Errorf("%s %s: header %v, body %s", c.subject, c.body, reply.Header, reply.Data)
			}
			body = strings.Replace(body, `\n`, " ", 1)
		}
		if status != c.status || reply.Header.Get(micro.ErrorCodeHeader) != code || string(reply.Data) != strings.TrimSuffix(body, "\n") || reply.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s\nNATS %v %s\nHTTP %d %s", c.subject, c.body, reply.Header, reply.Data, status, body)
		}
	}
	for _, f := range []*fakeStream{fake, twin} {
		if len(f.requests) != 2 || *f.requests[1].Object != 7 || f.requests[1].Frame != 12 || *f.requests[1].Epoch != 0 {
			t.Errorf("prompts %+v", f.requests)
		}
		if r := f.reverses; len(r) != 2 || len(r[0].Objects) != 1 || r[0].Frames != 300 || r[1].Objects != nil || r[1].Frames != 0 {
			t.Errorf("reverses %+v", r)
		}
		if o := f.options; len(o) != 2 || o[0] != `{"points_per_side":8}` || o[1] != "" {
			t.Errorf("options %q", o)
		}
	}
}

func TestServiceDescribesItselfAndFollowsTheStreams(t *testing.T) {
	noGoroutinesLeft(t)
	embedded := natsServer(t, sink.EmbeddedOptions{Port: -1})
	service := NewService()
	openNATS(t, service, embedded.URL())
	nc := client(t, embedded.URL())
	ask(t, nc, "_.list", "")
	subjects := func() (all []string) {
		reply, err := nc.Request("$SRV.INFO.tracker", nil, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var info micro.Info
		if err := json.Unmarshal(reply.Data, &info); err != nil || info.Name != "tracker" || info.Version != "0.0.0+devel" {
			t.Fatalf("%v: %s", err, reply.Data)
		}
		for _, e := range info.Endpoints {
			if e.QueueGroup != "" {
				t.Errorf("endpoint %s is in queue group %q", e.Subject, e.QueueGroup)
			}
			all = append(all, strings.TrimPrefix(e.Subject, "site.tracker.ctl."))
		}
		return all
	}
	if got := subjects(); len(got) != 1 || got[0] != "_.list" {
		t.Errorf("without streams: %v", got)
	}
	for _, name := range []string{"gate", "yard"} {
		if err := service.Add(name, newFake(64, 36)); err != nil {
			t.Fatal(err)
		}
		ask(t, nc, name+".status", "")
	}
	if got := strings.Join(subjects(), " "); got != "_.list gate.status gate.prompt gate.clear gate.remove gate.reverse gate.discover gate.reset gate.add gate.drop "+
		"yard.status yard.prompt yard.clear yard.remove yard.reverse yard.discover yard.reset yard.add yard.drop" {
		t.Errorf("endpoints %s", got)
	}
	if err := service.Drop("gate"); err != nil {
		t.Fatal(err)
	}
	until(t, "the stream to be gone", func() bool {
		reply, err := nc.Request("site.tracker.ctl.gate.status", nil, time.Second)
		return err == nil && reply.Header.Get(micro.ErrorCodeHeader) == "404"
	})
	ask(t, nc, "yard.status", "")
	if reply, err := nc.Request("$SRV.PING.tracker", nil, 5*time.Second); err != nil || !strings.Contains(string(reply.Data), `"name":"tracker"`) {
		t.Errorf("%v: %v", err, reply)
	}
}

func TestTwoTrackersBothAnswer(t *testing.T) {
	embedded := natsServer(t, sink.EmbeddedOptions{Port: -1})
	nc := client(t, embedded.URL())
	for _, width := range []int{64, 128} {
		service := NewService()
		if err := service.Add("demo", newFake(width, 36)); err != nil {
			t.Fatal(err)
		}
		openNATS(t, service, embedded.URL())
	}
	inbox, err := nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	until(t, "two answers", func() bool {
		if err := nc.PublishRequest("site.tracker.ctl.demo.status", inbox.Subject, nil); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for {
			m, err := inbox.NextMsg(200 * time.Millisecond)
			if err != nil {
				return len(seen) == 2
			}
			seen[string(m.Data)] = true
		}
	})
}

func TestDoorOpensWithALateServerAndAgainAfterItsRestart(t *testing.T) {
	noGoroutinesLeft(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	service := NewService()
	if err := service.Add("demo", newFake(64, 36)); err != nil {
		t.Fatal(err)
	}
	url := "nats://127.0.0.1:" + strconv.Itoa(port)
	connection := openNATS(t, service, url)
	for range 2 {
		server, err := sink.StartEmbedded(sink.EmbeddedOptions{Port: port, Log: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the connection", connection.Connected)
		nc := client(t, url)
		if reply := ask(t, nc, "demo.prompt", `{"box":[10,2,30,20]}`); reply.Header.Get(micro.ErrorCodeHeader) != "" {
			t.Errorf("%v %s", reply.Header, reply.Data)
		}
		nc.Close()
		server.Shutdown()
		until(t, "the connection to be lost", func() bool { return !connection.Connected() })
	}
}

func TestAnswersBeyondMaxPayloadComeInParts(t *testing.T) {
	embedded := natsServer(t, sink.EmbeddedOptions{Port: -1, MaxPayload: 4096})
	service := NewService()
	fake := newFake(1280, 720)
	if err := service.Add("demo", fake); err != nil {
		t.Fatal(err)
	}
	openNATS(t, service, embedded.URL())
	nc := client(t, embedded.URL())
	for id := range 12 {
		ask(t, nc, "demo.prompt", `{"object":`+strconv.Itoa(id)+`,"points":[[`+strconv.Itoa(100+90*id)+`,300]],"labels":[1]}`)
	}
	inbox, err := nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.PublishRequest("site.tracker.ctl.demo.prompt", inbox.Subject, []byte(`{"object":5,"points":[[600,300]],"labels":[1]}`)); err != nil {
		t.Fatal(err)
	}
	objects, parts := 0, 1
	for i := 0; i < parts; i++ {
		m, err := inbox.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var f rle.Frame
		if err := json.Unmarshal(m.Data, &f); err != nil || f.Part == nil || f.Part[0] != i {
			t.Fatalf("%v: %.200s", err, m.Data)
		}
		parts = f.Part[1]
		objects += len(f.Objects)
	}
	if parts < 2 || objects != 12 {
		t.Errorf("%d objects in %d parts", objects, parts)
	}
	// What is no frame cannot be split.
	for id := 12; id < 60; id++ {
		fake.discs[id] = [3]float64{100, 100, 3}
	}
	if reply := ask(t, nc, "demo.status", ""); reply.Header.Get(micro.ErrorCodeHeader) != "413" || !strings.Contains(string(reply.Data), `"code":"too_large"`) {
		t.Errorf("%v %.200s", reply.Header, reply.Data)
	}
	long := ask(t, nc, "demo.prompt", `{"`+strings.Repeat("ä", 1500)+`":1}`)
	if reason := long.Header.Get(micro.ErrorHeader); len(reason) > longestMessage+3 || !strings.HasSuffix(reason, "ä…") {
		t.Errorf("a long reason: %d bytes, %q", len(reason), reason)
	}
}
