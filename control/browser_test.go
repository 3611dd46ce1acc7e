package control

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// browser is a headless Chromium that takes orders of the DevTools protocol over a pipe.
type browser struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	session string
	calls   int
	console []string // errors that the page logged or threw
}

func openBrowser(t *testing.T, url string, width, height int, mobile bool) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("needs chromium: apt-get install chromium")
	}
	ordersOut, ordersIn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answersOut, answersIn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
		"--disable-background-networking", "--user-data-dir="+t.TempDir(), "about:blank")
	command.ExtraFiles = []*os.File{ordersOut, answersIn} // 3 and 4, as the option wants
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ordersOut.Close()
	answersIn.Close()
	b := &browser{t: t, in: ordersIn, out: bufio.NewReader(answersOut)}
	t.Cleanup(func() {
		b.call("Browser.close", nil)
		_ = command.Wait() // whatever its status
		ordersIn.Close()
		answersOut.Close()
	})
	var target struct{ TargetID, SessionID string }
	b.into(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	b.into(&target, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	b.session = target.SessionID
	b.call("Runtime.enable", nil)
	b.call("Log.enable", nil)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile})
	b.call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": mobile})
	b.call("Page.navigate", map[string]any{"url": url})
	return b
}

func (b *browser) call(method string, params any) json.RawMessage {
	b.t.Helper()
	b.calls++
	order, err := json.Marshal(map[string]any{"id": b.calls, "method": method, "params": params, "sessionId": b.session})
	if err != nil {
		b.t.Fatal(err)
	}
	if b.session == "" {
		order = []byte(strings.Replace(string(order), `,"sessionId":""`, "", 1))
	}
	if params == nil {
		order = []byte(strings.Replace(string(order), `,"params":null`, "", 1))
	}
	if _, err := b.in.Write(append(order, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		text, err := b.out.ReadBytes(0)
		if err != nil {
			if method == "Browser.close" {
				return nil
			}
			b.t.Fatal(err)
		}
		var answer struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(text[:len(text)-1], &answer); err != nil {
			b.t.Fatal(err)
		}
		if answer.Method == "Runtime.exceptionThrown" || answer.Method == "Log.entryAdded" && strings.Contains(string(answer.Params), `"level":"error"`) {
			b.console = append(b.console, string(answer.Params))
		}
		if answer.ID != b.calls {
			continue
		}
		if answer.Error != nil {
			b.t.Fatalf("%s: %s", method, answer.Error)
		}
		return answer.Result
	}
}

func (b *browser) into(v any, method string, params any) {
	b.t.Helper()
	if err := json.Unmarshal(b.call(method, params), v); err != nil {
		b.t.Fatal(err)
	}
}

// run evaluates an expression in the page.
func (b *browser) run(expression string, v any) {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.into(&answer, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	if v != nil {
		if err := json.Unmarshal(answer.Result.Value, v); err != nil {
			b.t.Fatalf("%s: %v: %s", expression, err, answer.Result.Value)
		}
	}
}

func (b *browser) until(what, expression string) {
	b.t.Helper()
	until(b.t, what, func() (ok bool) { b.run("Boolean("+expression+")", &ok); return ok })
}

// at is where a pixel of the stream's picture is on the screen.
func (b *browser) at(x, y float64) (sx, sy float64) {
	b.t.Helper()
	var r struct{ X, Y, Width, Height float64 }
	b.run("document.getElementById('picture').getBoundingClientRect().toJSON()", &r)
	return r.X + x*r.Width/640, r.Y + y*r.Height/360
}

func (b *browser) mouse(kind string, x, y float64, modifiers int) {
	b.t.Helper()
	sx, sy := b.at(x, y)
	b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": sx, "y": sy, "button": "left", "buttons": 1, "clickCount": 1, "modifiers": modifiers})
}

func (b *browser) click(selector string) {
	b.t.Helper()
	b.run(fmt.Sprintf("document.querySelector(%q).click()", selector), nil)
}

func (b *browser) screenshot(name string) {
	b.t.Helper()
	var shot struct{ Data string }
	b.into(&shot, "Page.captureScreenshot", map[string]any{"format": "png"})
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.t.ArtifactDir(), name), png, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// play shows pictures until the test ends.
func play(t *testing.T, fake *fakeStream) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			if err := fake.show(ctx); err != nil {
				t.Error(err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	t.Cleanup(func() { cancel(); group.Wait() })
}

const shift = 8 // modifier of the DevTools protocol

func TestClicksAndBoxesOnThePageReachTheStream(t *testing.T) {
	fake, server := serve(t, ServerOptions{})
	play(t, fake)
	b := openBrowser(t, server.URL(), 1280, 760, false)
	b.until("the picture", "document.querySelector('#frame.shown') && document.querySelector('#state')?.textContent === 'up'")

	// The first click makes an object, the second corrects it, Shift says what is beside it.
	for i, c := range []struct {
		x, y      float64
		modifiers int
	}{{160, 90, 0}, {170, 100, 0}, {320, 300, shift}} {
		b.mouse("mousePressed", c.x, c.y, c.modifiers)
		b.mouse("mouseReleased", c.x, c.y, c.modifiers)
		until(t, "the prompt", func() bool { fake.mu.Lock(); defer fake.mu.Unlock(); return len(fake.requests) == i+1 })
		b.until("the object to be chosen", "document.querySelector('#objects li.selected')")
	}
	b.click("#fresh")
	b.mouse("mousePressed", -4, 100, 0) // beside the picture: no click
	b.mouse("mouseReleased", -4, 100, 0)
	b.mouse("mousePressed", 400, 120, 0)
	b.mouse("mouseMoved", 450, 160, 0)
	b.mouse("mouseMoved", 520, 240, 0)
	b.screenshot("drag.png")
	b.mouse("mouseReleased", 520, 240, 0)
	b.until("two objects", "document.querySelectorAll('#objects li').length === 2")
	time.Sleep(300 * time.Millisecond) // until the picture shows the second mask; only the screenshot needs it
	b.screenshot("desktop.png")

	fake.mu.Lock()
	requests := fake.requests
	fake.mu.Unlock()
	if len(requests) != 4 {
		t.Fatalf("%d prompts", len(requests))
	}
	near := func(got, want float64) bool { return got > want-1.5 && got < want+1.5 }
	for i, want := range []struct {
		object int // 0: a new one
		x, y   float64
		label  int
		fresh  bool
	}{{0, 160, 90, 1, true}, {1, 170, 100, 1, false}, {1, 320, 300, 0, false}} {
		r := requests[i]
		sameObject := r.Object == nil && want.object == 0 || r.Object != nil && *r.Object == want.object
		if !sameObject || !near(r.Points[0][0], want.x) || !near(r.Points[0][1], want.y) || r.Labels[0] != want.label || r.ClearOldPoints != want.fresh {
			t.Errorf("prompt %d was %+v", i, r)
		}
	}
	if r := requests[3]; r.Object != nil || r.Box == nil || !near(r.Box[0], 400) || !near(r.Box[1], 120) || !near(r.Box[2], 520) || !near(r.Box[3], 240) {
		t.Errorf("box prompt was %+v", r)
	}

	// A box around what the edge cuts off begins beside the picture.
	b.mouse("mousePressed", -4, 200, 0)
	b.mouse("mouseMoved", 30, 240, 0)
	b.mouse("mouseReleased", 60, 280, 0)
	until(t, "the box at the edge", func() bool { fake.mu.Lock(); defer fake.mu.Unlock(); return len(fake.requests) == 5 })
	if r := fake.requests[4]; r.Box == nil || r.Box[0] != 0 || !near(r.Box[2], 60) {
		t.Errorf("box prompt at the edge was %+v", r)
	}

	b.click("#objects li .remove")
	b.until("one object", "document.querySelectorAll('#objects li').length === 1")
	fake.mu.Lock()
	fake.err = Errorf(Busy, "the stream is busy: try again")
	fake.mu.Unlock()
	b.click("#reset")
	b.until("the error", "document.querySelector('.toast')?.textContent === 'the stream is busy: try again'")
	fake.mu.Lock()
	fake.err = nil
	fake.mu.Unlock()
	b.click("#reset")
	b.until("no object", "document.querySelectorAll('#objects li').length === 0")
	for _, message := range b.console {
		if !strings.Contains(message, "409") {
			t.Errorf("the page complains: %s", message)
		}
	}
}

func TestPageWorksOnAPhone(t *testing.T) {
	fake, server := serve(t, ServerOptions{})
	play(t, fake)
	b := openBrowser(t, server.URL()+"/#demo", 390, 844, true)
	b.until("the picture", "document.querySelector('#frame.shown') && document.querySelector('#state')?.textContent === 'up'")
	x, y := b.at(200, 150)
	b.call("Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": []any{map[string]any{"x": x, "y": y}}})
	b.call("Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []any{}})
	b.until("an object", "document.querySelectorAll('#objects li').length === 1")
	x, y = b.at(400, 100)
	x2, y2 := b.at(560, 260)
	b.click("#fresh")
	b.call("Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": []any{map[string]any{"x": x, "y": y}}})
	b.call("Input.dispatchTouchEvent", map[string]any{"type": "touchMove", "touchPoints": []any{map[string]any{"x": x2, "y": y2}}})
	b.call("Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []any{}})
	b.until("a second object", "document.querySelectorAll('#objects li').length === 2")
	var wide bool
	b.run("document.documentElement.scrollWidth > innerWidth", &wide)
	if wide {
		t.Error("the page is wider than the phone")
	}
	time.Sleep(300 * time.Millisecond) // until the picture shows the second mask; only the screenshot needs it
	b.screenshot("phone.png")

	// Whoever took something away and then starts anew begins with a point on the object again.
	b.click("#negative")
	b.click("#reset")
	b.until("no object", "document.querySelectorAll('#objects li').length === 0 && document.querySelector('#negative').disabled")
	x, y = b.at(200, 150)
	b.call("Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": []any{map[string]any{"x": x, "y": y}}})
	b.call("Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []any{}})
	b.until("a new object", "document.querySelectorAll('#objects li').length === 1")
	if len(b.console) > 0 {
		t.Errorf("the page complains: %v", b.console)
	}
}

func TestPageAsksForTheToken(t *testing.T) {
	fake, server := serve(t, ServerOptions{Token: "open & shut"})
	play(t, fake)
	b := openBrowser(t, server.URL(), 1000, 700, false)
	b.until("the question", "document.querySelector('#login')?.open")
	b.screenshot("token.png")
	b.run("document.querySelector('#token').value = 'open & shut'", nil)
	b.click("#login button")
	b.until("the picture", "document.querySelector('#frame.shown') && document.querySelector('#state')?.textContent === 'up'")
}

func TestPageShowsThePictureAgainAfterARestart(t *testing.T) {
	before := newFake(640, 360)
	play(t, before)
	listen, stop := restartable(t, before, "127.0.0.1:0")
	b := openBrowser(t, "http://"+listen, 1000, 700, false)
	b.until("the picture", "document.querySelector('#frame.shown')")
	stop()
	b.until("the loss to be told", "document.querySelector('#state').textContent === 'offline'")
	after := newFake(640, 360)
	play(t, after)
	_, stop = restartable(t, after, listen)
	defer stop()
	until(t, "the page to ask for the picture", func() bool { return after.preview.Viewers() == 1 })
	b.until("the state", "document.querySelector('#state').textContent === 'up'")
}

// restartable runs a server with the stream demo until stop is called.
func restartable(t *testing.T, fake *fakeStream, listen string) (address string, stop func()) {
	t.Helper()
	service := NewService()
	if err := service.Add("demo", fake); err != nil {
		t.Fatal(err)
	}
	server, err := NewServer(service, ServerOptions{Listen: listen, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	return strings.TrimPrefix(server.URL(), "http://"), func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestPageSaysWhyTheSourceIsGone(t *testing.T) {
	fake, server := serve(t, ServerOptions{})
	fake.mu.Lock()
	fake.state, fake.reason = Down, "rtsp://camera.example/main: connection refused"
	fake.mu.Unlock()
	b := openBrowser(t, server.URL(), 1000, 700, false)
	b.until("the reason", fmt.Sprintf("document.querySelector('#blank')?.textContent.includes(%q)", "connection refused"))
}
