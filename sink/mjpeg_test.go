package sink

import (
	"context"
	"image/jpeg"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"maskstream/frames"
	"maskstream/rle"
)

// viewer reads pictures as a browser does.
type viewer struct {
	response *http.Response
	parts    *multipart.Reader
}

func watch(t *testing.T, url string) *viewer {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	_, parameters, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	return &viewer{response, multipart.NewReader(response.Body, parameters["boundary"])}
}

// next is the size and the centre's colour of the next picture.
func (v *viewer) next(t *testing.T) (seq string, width, height int, centre [3]uint32) {
	t.Helper()
	part, err := v.parts.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	img, err := jpeg.Decode(part)
	if err != nil {
		t.Fatal(err)
	}
	width, height = img.Bounds().Dx(), img.Bounds().Dy()
	centre[0], centre[1], centre[2], _ = img.At(width/2, height/2).RGBA()
	return part.Header.Get("X-Seq"), width, height, centre
}

func preview(t *testing.T, o MJPEGOptions) (*MJPEG, *httptest.Server, *pictures) {
	t.Helper()
	noGoroutinesLeft(t)
	o.Log = quiet()
	m := NewMJPEG(o)
	var pool pictures
	server := httptest.NewUnstartedServer(m)
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if err := c.(*net.TCPConn).SetWriteBuffer(16 << 10); err != nil {
			t.Error(err)
		}
		return ctx
	}
	server.Config.ReadTimeout = 300 * time.Millisecond
	server.Start()
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
		server.Close()
		http.DefaultClient.CloseIdleConnections()
		if n := pool.live.Load(); n != 0 {
			t.Errorf("%d pictures were not released", n)
		}
	})
	return m, server, &pool
}

func show(t *testing.T, m *MJPEG, pool *pictures, n, width, height int, masks ...rle.Mask) {
	t.Helper()
	item := Item{Result: result(n, masks...), Picture: pool.new(width, height)}
	defer item.Release()
	if err := m.Write(t.Context(), item); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsEncodedWithoutAViewerAndOnceForTwo(t *testing.T) {
	m, server, pool := preview(t, MJPEGOptions{})
	for n := range 10 {
		show(t, m, pool, n, 64, 48)
	}
	if m.Pictures() != 0 {
		t.Errorf("%d pictures encoded for nobody", m.Pictures())
	}
	a, b := watch(t, server.URL), watch(t, server.URL)
	for n := 9; n < 14; n++ {
		if n > 9 {
			show(t, m, pool, n, 64, 48)
		}
		for _, v := range []*viewer{a, b} {
			if seq, w, h, _ := v.next(t); seq != strconv.Itoa(n) || w != 64 || h != 48 {
				t.Errorf("picture %s of %d×%d", seq, w, h)
			}
		}
	}
	if m.Pictures() != 5 || m.Viewers() != 2 {
		t.Errorf("%d pictures for %d viewers, want 5 for 2", m.Pictures(), m.Viewers())
	}
	a.response.Body.Close()
	b.response.Body.Close()
	until(t, "the viewers to be gone", func() bool { return m.Viewers() == 0 })
}

func TestPictureIsScaledAndItsMaskDrawn(t *testing.T) {
	m, server, pool := preview(t, MJPEGOptions{Longest: 160})
	full := rle.Mask{Height: 180, Width: 320, Runs: []uint32{0, 180 * 320}}
	show(t, m, pool, 0, 320, 180, full)
	_, w, h, got := watch(t, server.URL).next(t)
	if w != 160 || h != 90 {
		t.Errorf("picture of %d×%d, want 160×90", w, h)
	}
	colour := frames.Colour(1)
	for i, c := range []uint8{colour.R, colour.G, colour.B} {
		if far := int(c)-90 > 40; far && got[i]>>8 < 100 || int(c)-90 < -40 && got[i]>>8 > 80 {
			t.Errorf("channel %d is %d: grey 90 with the colour %v over it", i, got[i]>>8, colour)
		}
	}
}

func TestViewerThatStopsReadingDelaysNobodyAndThenSeesTheNewest(t *testing.T) {
	m, server, pool := preview(t, MJPEGOptions{})
	slow := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ReadBufferSize: 4096,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err == nil {
				err = c.(*net.TCPConn).SetReadBuffer(4096)
			}
			return c, err
		}}}
	response, err := slow.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	const pictures = 25 // of about 45 kB: more than a socket with a small buffer takes
	quick := watch(t, server.URL)
	mask := noise(180, 320, 1)
	for n := range pictures {
		show(t, m, pool, n, 320, 180, mask)
		if seq, _, _, _ := quick.next(t); seq != strconv.Itoa(n) {
			t.Fatalf("the quick viewer saw picture %s instead of %d", seq, n)
		}
	}
	late := &viewer{response, multipart.NewReader(response.Body, boundary)}
	seen, seq := 0, ""
	for ; seq != strconv.Itoa(pictures-1); seen++ {
		seq, _, _, _ = late.next(t)
	}
	if seen >= pictures {
		t.Errorf("the slow viewer saw %d pictures, none was left out", seen)
	}
	t.Logf("the slow viewer saw %d of %d", seen, pictures)
}

func TestViewersBeyondTheLimitAreSentAway(t *testing.T) {
	m, server, pool := preview(t, MJPEGOptions{MaxViewers: 1})
	show(t, m, pool, 0, 8, 8)
	first := watch(t, server.URL)
	first.next(t)
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d", response.StatusCode)
	}
	first.response.Body.Close()
	until(t, "the place to be free", func() bool { return m.Viewers() == 0 })
	watch(t, server.URL).next(t)
}

func TestViewerOutlastsTheServersReadTimeout(t *testing.T) {
	m, server, pool := preview(t, MJPEGOptions{})
	show(t, m, pool, 0, 8, 8)
	v := watch(t, server.URL)
	v.next(t)
	time.Sleep(2 * server.Config.ReadTimeout)
	show(t, m, pool, 1, 8, 8)
	if seq, _, _, _ := v.next(t); seq != "1" {
		t.Errorf("picture %s", seq)
	}
}

func TestHeadOfAPreviewEndsAtOnce(t *testing.T) {
	_, server, _ := preview(t, MJPEGOptions{})
	response, err := http.Head(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("status %d", response.StatusCode)
	}
}

func TestEndOfTheStreamEndsItsViewers(t *testing.T) {
	m, server, pool := preview(t, MJPEGOptions{})
	show(t, m, pool, 0, 8, 8)
	v := watch(t, server.URL)
	v.next(t)
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(v.response.Body); err != nil {
		t.Errorf("the answer did not end cleanly: %v", err)
	}
}

func TestPictureThatCannotBeDrawnIsLeftOut(t *testing.T) {
	m, server, pool := preview(t, MJPEGOptions{})
	broken := result(0, small())
	broken.Objects[0].Segmentation.Counts = "\x01"
	item := Item{Result: broken, Picture: pool.new(8, 8)}
	if err := m.Write(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	item.Release()
	v := watch(t, server.URL)
	shown := make(chan struct{})
	time.AfterFunc(50*time.Millisecond, func() { show(t, m, pool, 1, 8, 8); close(shown) })
	defer func() { <-shown }()
	if seq, _, _, _ := v.next(t); seq != "1" {
		t.Errorf("picture %s", seq)
	}
}

func BenchmarkPreviewPicture720p(b *testing.B) {
	var pool pictures
	m := NewMJPEG(MJPEGOptions{Log: quiet()})
	mask := rle.Mask{Height: 720, Width: 1280, Runs: []uint32{720 * 300, 720 * 200, 720 * 780}}
	item := Item{Result: result(0, mask), Picture: pool.new(1280, 720)}
	defer item.Release()
	for b.Loop() {
		if err := m.Write(b.Context(), item); err != nil {
			b.Fatal(err)
		}
		if m.picture().jpeg == nil {
			b.Fatal("no picture")
		}
	}
}
