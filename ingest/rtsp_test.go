package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"maskstream/frames"
	"maskstream/ingest/cameratest"
)

func TestCameraIsReadOverTCP(t *testing.T) {
	c := cameratest.Start(t, cameratest.Options{Size: "320x180"})
	r := open(t, c.URL())
	if i := r.Info(); !i.Live || i.Codec != "h264" || i.Width != 320 || i.Height != 180 || i.BFrames {
		t.Errorf("%+v", i)
	}
	last, back := time.Duration(-1), 0
	for i := range 30 {
		p, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if p.Meta.PTS <= last {
			back++ // the camera's first report of its clock may set its times anew; Run makes them grow
		}
		if p.Meta.Frame != i || back > 1 || time.Since(p.Meta.Received) > 2*time.Second {
			t.Errorf("picture %d: %+v after %v", i, p.Meta, last)
		}
		last = p.Meta.PTS
		p.Release()
	}
	if _, err := Open(t.Context(), Options{URL: "rtsp://" + c.Address + "/other"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("another path: %v", err)
	}
}

// syncBuffer is what a logger writes to from several threads.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestPasswordWithEverySpecialCharacterWorksAndIsNeverShown(t *testing.T) {
	const user, password = "ad min", "p@ss:w/#%?!"
	encoded := "p%40ss%3Aw%2F%23%25%3F%21"
	log := &syncBuffer{}
	LogTo(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	setLogLevel(ffmpegVerbose + 8) // all that FFmpeg can say
	defer LogTo(slog.Default())

	c := cameratest.Start(t, cameratest.Options{User: user, Password: password})
	host := c.Address + "/main?token=" + url.QueryEscape(password)
	for name, o := range map[string]Options{
		"fields":        {URL: "rtsp://" + host, Username: user, Password: password},
		"encoded URL":   {URL: "rtsp://ad%20min:" + encoded + "@" + host},
		"user in URL":   {URL: "rtsp://ad%20min@" + host, Password: password},
		"wrong":         {URL: "rtsp://" + host, Username: user, Password: password + "x"},
		"none":          {URL: "rtsp://" + host},
		"raw in URL":    {URL: "rtsp://" + user + ":" + password + "@" + host},
		"nobody there":  {URL: "rtsp://127.0.0.1:1/", Username: user, Password: password},
		"no such name":  {URL: "rtsp://ad%20min:" + encoded + "@camera.invalid/"},
		"other program": {URL: "http://" + host, Username: user, Password: password},
	} {
		o.Timeout = 3 * time.Second
		r, err := Open(t.Context(), o)
		works := name == "fields" || name == "encoded URL" || name == "user in URL"
		if works != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if (name == "wrong" || name == "none") && !errors.Is(err, ErrAuth) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			t.Log(err)
			_, _ = log.Write([]byte(err.Error()))
			continue
		}
		p, err := r.Next(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			p.Release()
		}
		_, _ = fmt.Fprintf(log, "%+v", r.Info())
		_ = r.Close()
	}
	text := log.String()
	if !strings.Contains(text, "from=ffmpeg") {
		t.Error("FFmpeg said nothing: this test shows nothing")
	}
	for _, s := range append(secretsOf(user, password), "p@ss", "ss:w", "%40ss") {
		if i := strings.Index(strings.ToLower(text), strings.ToLower(s)); i >= 0 {
			t.Errorf("%q is shown: …%s…", s, text[max(0, i-200):min(len(text), i+50)])
		}
	}
}

// blackHole accepts connections and never says a word.
func blackHole(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var held []net.Conn
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			held = append(held, c)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range held {
			_ = c.Close()
		}
	})
	return l.Addr().String()
}

func TestSilentServerTimesOut(t *testing.T) {
	address := blackHole(t)
	for _, scheme := range []string{"rtsp", "http", "tcp"} {
		began := time.Now()
		_, err := Open(t.Context(), Options{URL: scheme + "://" + address + "/", Timeout: time.Second})
		if !errors.Is(err, ErrTimeout) {
			t.Errorf("%s: %v", scheme, err)
		}
		if took := time.Since(began); took < 900*time.Millisecond || took > 2*time.Second {
			t.Errorf("%s: after %v", scheme, took)
		}
		t.Log(err)
	}
}

func TestCancelEndsASilentConnectionAtOnce(t *testing.T) {
	address := blackHole(t)
	for name, f := range map[string]func(context.Context) error{
		"Open": func(ctx context.Context) error {
			_, err := Open(ctx, Options{URL: "rtsp://" + address + "/", Timeout: time.Minute})
			return err
		},
		"Run": func(ctx context.Context) error {
			return Run(ctx, Options{URL: "rtsp://" + address + "/", Timeout: time.Minute}, func(*frames.Picture) error { return nil }, nil)
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(200*time.Millisecond, cancel)
		began := time.Now()
		if err := f(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > 1500*time.Millisecond {
			t.Errorf("%s: after %v", name, took)
		}
	}
}

func TestCameraThatComesBackBeginsAnEpoch(t *testing.T) {
	c := cameratest.Start(t, cameratest.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var events []Event
	again := make(chan *cameratest.Camera, 1)
	enough := errors.New("enough")
	err := Run(ctx, Options{URL: c.URL(), Timeout: 3 * time.Second, RetryFirst: 200 * time.Millisecond}, func(p *frames.Picture) error {
		switch m := p.Meta; {
		case m.Epoch == 0 && m.Frame == 5:
			c.Close()
			time.AfterFunc(500*time.Millisecond, func() { again <- cameratest.Start(t, cameratest.Options{Address: c.Address}) })
		case m.Epoch == 1 && m.Frame == 5:
			return enough
		case m.Epoch > 1:
			t.Errorf("epoch %d", m.Epoch)
		}
		return nil
	}, func(e Event) { events = append(events, e) })
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	<-again
	var story []string
	for _, e := range events {
		if e.Kind == Down {
			if e.Err == nil || e.Retry < 160*time.Millisecond {
				t.Errorf("%+v", e)
			}
			if len(story) > 0 && story[len(story)-1] == "down" {
				continue // any number of attempts
			}
		}
		story = append(story, strings.TrimSpace(e.Kind.String()+" "+e.Reason))
	}
	if got := strings.Join(story, ", "); got != "up, down, up, epoch reconnect" {
		t.Errorf("events: %s", got)
	}
}

func TestCameraThatGoesQuietIsLeft(t *testing.T) {
	c := cameratest.Start(t, cameratest.Options{})
	r, err := Open(t.Context(), Options{URL: c.URL(), Timeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c.Stall()
	for {
		p, err := r.Next(t.Context())
		if err != nil {
			if !errors.Is(err, ErrTimeout) {
				t.Errorf("got %v", err)
			}
			break
		}
		p.Release()
	}
}

func TestOpeningAndClosingLeavesNothingBehind(t *testing.T) {
	path := clip(t, "a.mp4", append(smooth("160x90", 0.3), "-c:v", "libx264", "-pix_fmt", "yuv420p")...)
	once := func() {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := Open(ctx, Options{URL: path})
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		p.Release()
		_ = r.Close()
		if _, err := Open(ctx, Options{URL: "rtsp://127.0.0.1:1/"}); err == nil {
			t.Fatal("somebody is there")
		}
	}
	once()
	before, resident := runtime.NumGoroutine(), residentKiB(t)
	for range 150 {
		once()
	}
	time.Sleep(50 * time.Millisecond)
	if after := runtime.NumGoroutine(); after > before+2 {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
	if grown := residentKiB(t) - resident; grown > 12<<10 {
		t.Errorf("the process grew by %d KiB", grown)
	} else {
		t.Logf("the process grew by %d KiB over 150 connections", grown)
	}
}
