package control

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"maskstream/internal/chromium"
	"maskstream/sink/rtc"
)

// browser is a page whose picture is 640×360.
type browser struct {
	*chromium.Page
	t *testing.T
}

func openBrowser(t *testing.T, url string, width, height int, mobile bool) *browser {
	t.Helper()
	return &browser{chromium.Open(t, url, width, height, mobile), t}
}

// at is where a pixel of the stream's picture is on the screen.
func (b *browser) at(x, y float64) (sx, sy float64) {
	b.t.Helper()
	var r struct{ X, Y, Width, Height float64 }
	b.Run("document.getElementById('picture').getBoundingClientRect().toJSON()", &r)
	return r.X + x*r.Width/640, r.Y + y*r.Height/360
}

func (b *browser) mouse(kind string, x, y float64, modifiers int) {
	b.t.Helper()
	sx, sy := b.at(x, y)
	b.Mouse(kind, sx, sy, modifiers)
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
	b.Until("the picture", "document.querySelector('#frame.shown') && document.querySelector('#state')?.textContent === 'up'")

	// The first click makes an object, the second corrects it, Shift says what is beside it.
	for i, c := range []struct {
		x, y      float64
		modifiers int
	}{{160, 90, 0}, {170, 100, 0}, {320, 300, shift}} {
		b.mouse("mousePressed", c.x, c.y, c.modifiers)
		b.mouse("mouseReleased", c.x, c.y, c.modifiers)
		until(t, "the prompt", func() bool { fake.mu.Lock(); defer fake.mu.Unlock(); return len(fake.requests) == i+1 })
		b.Until("the object to be chosen", "document.querySelector('#objects li.selected')")
	}
	b.Click("#fresh")
	b.mouse("mousePressed", -4, 100, 0) // beside the picture: no click
	b.mouse("mouseReleased", -4, 100, 0)
	b.mouse("mousePressed", 400, 120, 0)
	b.mouse("mouseMoved", 450, 160, 0)
	b.mouse("mouseMoved", 520, 240, 0)
	b.Screenshot("drag.png")
	b.mouse("mouseReleased", 520, 240, 0)
	b.Until("two objects", "document.querySelectorAll('#objects li').length === 2")
	time.Sleep(300 * time.Millisecond) // until the picture shows the second mask; only the screenshot needs it
	b.Screenshot("desktop.png")

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

	b.Click("#objects li .remove")
	b.Until("one object", "document.querySelectorAll('#objects li').length === 1")
	fake.mu.Lock()
	fake.err = Errorf(Busy, "the stream is busy: try again")
	fake.mu.Unlock()
	b.Click("#reset")
	b.Until("the error", "document.querySelector('.toast')?.textContent === 'the stream is busy: try again'")
	fake.mu.Lock()
	fake.err = nil
	fake.mu.Unlock()
	b.Click("#reset")
	b.Until("no object", "document.querySelectorAll('#objects li').length === 0")
	for _, message := range b.Console {
		if !strings.Contains(message, "409") {
			t.Errorf("the page complains: %s", message)
		}
	}
}

func TestButtonsReachTheStream(t *testing.T) {
	fake, server := serve(t, ServerOptions{})
	play(t, fake)
	b := openBrowser(t, server.URL(), 1280, 760, false)
	b.Until("the picture", "document.querySelector('#frame.shown')")
	b.Until("nothing to follow back", "document.querySelector('#reverse').disabled")
	b.mouse("mousePressed", 160, 90, 0)
	b.mouse("mouseReleased", 160, 90, 0)
	b.Until("the object", "document.querySelector('#objects li.selected')")
	b.Click("#reverse")
	b.Until("the news", "document.querySelector('.toast.news')?.textContent.includes('Object 1')")
	b.Click("#fresh")
	b.Click("#reverse")
	b.Until("other news", "document.querySelector('.toast.news')?.textContent.includes('All objects')")
	b.Click("#discover")
	b.Until("what was found", "document.querySelector('.toast.news')?.textContent.includes('No more objects were found that the model is sure enough of') && !document.querySelector('#discover').disabled")
	fake.mu.Lock()
	defer fake.mu.Unlock()
	if len(fake.reverses) != 2 || len(fake.reverses[0].Objects) != 1 || fake.reverses[0].Objects[0] != 1 || fake.reverses[1].Objects != nil {
		t.Errorf("reverse was asked for %+v", fake.reverses)
	}
	if len(fake.options) != 1 || fake.options[0] != "" {
		t.Errorf("discover was asked with %q", fake.options)
	}
	if len(b.Console) > 0 {
		t.Errorf("the page complains: %v", b.Console)
	}
}

func TestPageWorksOnAPhone(t *testing.T) {
	fake, server := serve(t, ServerOptions{})
	play(t, fake)
	b := openBrowser(t, server.URL()+"/#demo", 390, 844, true)
	b.Until("the picture", "document.querySelector('#frame.shown') && document.querySelector('#state')?.textContent === 'up'")
	x, y := b.at(200, 150)
	b.Call("Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": []any{map[string]any{"x": x, "y": y}}})
	b.Call("Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []any{}})
	b.Until("an object", "document.querySelectorAll('#objects li').length === 1")
	x, y = b.at(400, 100)
	x2, y2 := b.at(560, 260)
	b.Click("#fresh")
	b.Call("Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": []any{map[string]any{"x": x, "y": y}}})
	b.Call("Input.dispatchTouchEvent", map[string]any{"type": "touchMove", "touchPoints": []any{map[string]any{"x": x2, "y": y2}}})
	b.Call("Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []any{}})
	b.Until("a second object", "document.querySelectorAll('#objects li').length === 2")
	var wide bool
	b.Run("document.documentElement.scrollWidth > innerWidth", &wide)
	if wide {
		t.Error("the page is wider than the phone")
	}
	time.Sleep(300 * time.Millisecond) // until the picture shows the second mask; only the screenshot needs it
	b.Screenshot("phone.png")

	// Whoever took something away and then starts anew begins with a point on the object again.
	b.Click("#negative")
	b.Click("#reset")
	b.Until("no object", "document.querySelectorAll('#objects li').length === 0 && document.querySelector('#negative').disabled")
	x, y = b.at(200, 150)
	b.Call("Input.dispatchTouchEvent", map[string]any{"type": "touchStart", "touchPoints": []any{map[string]any{"x": x, "y": y}}})
	b.Call("Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []any{}})
	b.Until("a new object", "document.querySelectorAll('#objects li').length === 1")
	if len(b.Console) > 0 {
		t.Errorf("the page complains: %v", b.Console)
	}
}

func TestPageAsksForTheToken(t *testing.T) {
	fake, server := serve(t, ServerOptions{Token: "open & shut"})
	play(t, fake)
	b := openBrowser(t, server.URL(), 1000, 700, false)
	b.Until("the question", "document.querySelector('#login')?.open")
	b.Screenshot("token.png")
	b.Run("document.querySelector('#token').value = 'open & shut'", nil)
	b.Click("#login button")
	b.Until("the picture", "document.querySelector('#frame.shown') && document.querySelector('#state')?.textContent === 'up'")
}

func TestPageShowsThePictureAgainAfterARestart(t *testing.T) {
	before := newFake(640, 360)
	play(t, before)
	listen, stop := restartable(t, before, "127.0.0.1:0")
	b := openBrowser(t, "http://"+listen, 1000, 700, false)
	b.Until("the picture", "document.querySelector('#frame.shown')")
	stop()
	b.Until("the loss to be told", "document.querySelector('#state').textContent === 'offline'")
	after := newFake(640, 360)
	play(t, after)
	_, stop = restartable(t, after, listen)
	defer stop()
	until(t, "the page to ask for the picture", func() bool { return after.preview.Viewers() == 1 })
	b.Until("the state", "document.querySelector('#state').textContent === 'up'")
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
	b.Until("the reason", fmt.Sprintf("document.querySelector('#blank')?.textContent.includes(%q)", "connection refused"))
}

func TestPageFallsBackToMJPEGAndSaysSo(t *testing.T) {
	fake, server := serve(t, ServerOptions{Live: &fakeLive{err: rtc.ErrFull}})
	fake.mu.Lock()
	fake.webrtc = &WebRTCStatus{Mode: "locked"}
	fake.mu.Unlock()
	play(t, fake)
	b := openBrowser(t, server.URL(), 1000, 700, false)
	b.Until("the MJPEG picture", "document.querySelector('#frame.shown') && document.querySelector('#mjpeg').naturalWidth === 640")
	b.Until("the reason", fmt.Sprintf("document.querySelector('#how').textContent.includes('MJPEG') && document.querySelector('#how').textContent.includes(%q)", rtc.ErrFull.Error()))
	b.mouse("mousePressed", 160, 90, 0)
	b.mouse("mouseReleased", 160, 90, 0)
	b.Until("the object of a click", "document.querySelectorAll('#objects li').length === 1")
}
