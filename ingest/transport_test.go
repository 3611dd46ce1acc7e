package ingest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"maskstream/ingest/cameratest"
)

// cameras are the servers that everything RTSP is tried with.
var cameras = map[string]func(testing.TB, cameratest.Options) (url, certificate string){
	"gortsplib": func(t testing.TB, o cameratest.Options) (string, string) {
		c := cameratest.Start(t, o)
		return c.URL(), c.CertificateFile
	},
	"GStreamer": func(t testing.TB, o cameratest.Options) (string, string) {
		c := cameratest.StartGStreamer(t, o)
		return c.URL(), c.CertificateFile
	},
}

func TestCamerasAreReadOverEveryTransport(t *testing.T) {
	for server, start := range cameras {
		for name, c := range map[string]struct {
			camera    cameratest.Options
			transport string
		}{
			"tcp":               {cameratest.Options{}, "tcp"},
			"udp":               {cameratest.Options{UDP: true}, "udp"},
			"auto, TCP":         {cameratest.Options{}, "auto"},
			"auto, UDP":         {cameratest.Options{UDP: true}, "auto"},
			"http":              {cameratest.Options{}, "http"},
			"H.265":             {cameratest.Options{Codec: "h265"}, "tcp"},
			"Basic":             {cameratest.Options{User: "ad min", Password: "p@ss:w/#%?!", Auth: "basic"}, "tcp"},
			"Digest":            {cameratest.Options{User: "ad min", Password: "p@ss:w/#%?!", Auth: "digest"}, "tcp"},
			"Digest over UDP":   {cameratest.Options{User: "ad min", Password: "p@ss:w/#%?!", UDP: true}, "udp"},
			"Digest over HTTP":  {cameratest.Options{User: "ad min", Password: "p@ss:w/#%?!"}, "http"},
			"TLS":               {cameratest.Options{TLS: true}, "tcp"},
			"TLS, no host":      {cameratest.Options{TLS: true, Any: true}, "tcp"},
			"TLS with password": {cameratest.Options{TLS: true, User: "ad min", Password: "p@ss:w/#%?!"}, "udp"}, // TLS is TCP anyway
		} {
			t.Run(server+"/"+name, func(t *testing.T) {
				t.Parallel()
				if server == "gortsplib" && c.camera.Auth == "basic" {
					c.camera.Password = "p@ss;w/#%?!" // its server takes a colon for the end of the password
				}
				url, certificate := start(t, c.camera)
				r, err := Open(t.Context(), Options{URL: url, Username: c.camera.User, Password: c.camera.Password, Transport: c.transport, CAFile: certificate, Timeout: 20 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				codec := c.camera.Codec
				if codec == "" {
					codec = "h264"
				}
				if i := r.Info(); !i.Live || !strings.HasPrefix(i.Codec, map[string]string{"h264": "h264", "h265": "hevc"}[codec]) || i.Width != 160 || i.Height != 90 {
					t.Errorf("%+v", i)
				}
				last := time.Duration(-1)
				for range 5 {
					p, err := r.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if p.Meta.PTS <= last {
						t.Errorf("%v after %v", p.Meta.PTS, last)
					}
					last = p.Meta.PTS
					p.Release()
				}
			})
		}
	}
}

func TestWhatIsWrongWithASourceIsOneClearLine(t *testing.T) {
	const user, password = "ad min", "p@ss:w/#%?!"
	_, foreign, _ := cameratest.Certificate(t, false)
	closed := cameratest.FreeAddress(t)
	silent := blackHole(t)
	secured := httptest.NewTLSServer(http.NotFoundHandler())
	defer secured.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	empty := filepath.Join(t.TempDir(), "no.pem")
	type trouble struct {
		o    Options
		kind error
		code string
		says string
	}
	troubles := map[string]trouble{
		"nobody there":      {Options{URL: "rtsp://" + closed + "/main"}, ErrUnreachable, "connection_failed", "check that the source is on"},
		"nobody there, TLS": {Options{URL: "rtsps://" + closed + "/main"}, ErrUnreachable, "connection_failed", "check that the source is on"},
		"unknown host":      {Options{URL: "rtsp://camera.invalid/main"}, ErrNotFound, "not_found", "check the host's name"},
		"no answer":         {Options{URL: "rtsp://" + silent + "/main", Timeout: time.Second}, ErrTimeout, "timeout", "no answer within 1s"},
		"no answer, TLS":    {Options{URL: "rtsps://" + silent + "/main", Timeout: time.Second}, ErrTimeout, "timeout", "no answer within 1s"},
		"no TLS there":      {Options{URL: strings.Replace(plain.URL, "http:", "rtsps:", 1) + "/main"}, ErrTLS, "tls_handshake", "check that the port speaks TLS"},
		"https, unknown":    {Options{URL: secured.URL + "/a.mp4"}, ErrCertificate, "tls_certificate", "tls.ca_file"},
		"https, not found":  {Options{URL: secured.URL + "/a.mp4", AnyCertificate: true}, ErrNotFound, "not_found", "check the path"},
		"SHA-256 only": {Options{
			URL:      cameratest.Start(t, cameratest.Options{User: user, Password: password, Auth: "sha256"}).URL(),
			Username: user, Password: password,
		}, ErrAuth, "auth_failed", "the camera asks for Digest SHA-256"},
		"unknown codec": {Options{URL: cameratest.Start(t, cameratest.Options{Codec: "av1"}).URL()}, ErrCodec, "codec_unsupported", "set the camera to H.264"},
		"sound only":    {Options{URL: cameratest.Start(t, cameratest.Options{Codec: "audio"}).URL()}, ErrNoVideo, "no_video", "check that the source has video"},
	}
	for server, start := range cameras {
		locked, _ := start(t, cameratest.Options{User: user, Password: password})
		encrypted, own := start(t, cameratest.Options{TLS: true, User: user, Password: password})
		for name, c := range map[string]trouble{
			"wrong transport":     {Options{URL: locked, Username: user, Password: password, Transport: "udp"}, ErrRefused, "refused", "try tcp or auto"},
			"wrong password":      {Options{URL: locked, Username: user, Password: password + "x"}, ErrAuth, "auth_failed", "check username and password"},
			"no password":         {Options{URL: locked}, ErrAuth, "auth_failed", "give username and password"},
			"wrong path":          {Options{URL: strings.TrimSuffix(locked, "/main") + "/other", Username: user, Password: password}, ErrNotFound, "not_found", "check the path"},
			"unknown certificate": {Options{URL: encrypted, Username: user, Password: password}, ErrCertificate, "tls_certificate", "tls.ca_file"},
			"another's":           {Options{URL: encrypted, Username: user, Password: password, CAFile: foreign}, ErrCertificate, "tls_certificate", "tls.ca_file"},
			"no certificates":     {Options{URL: encrypted, CAFile: empty}, ErrInvalid, "invalid_source", empty},
			"wrong password, TLS": {Options{URL: encrypted, Username: user, Password: "x", CAFile: own}, ErrAuth, "auth_failed", "check username and password"},
		} {
			troubles[name+" of "+server] = c
		}
	}
	for name, c := range troubles {
		t.Run(name, func(t *testing.T) {
			if c.o.Timeout == 0 {
				c.o.Timeout = 20 * time.Second
			}
			r, err := Open(t.Context(), c.o)
			if err == nil {
				_ = r.Close()
				t.Fatal("it opens")
			}
			t.Log(err)
			var e *Error
			if !errors.Is(err, c.kind) || !errors.As(err, &e) || e.Code() != c.code || !strings.Contains(err.Error(), c.says) || strings.ContainsRune(err.Error(), '\n') {
				t.Errorf("want %q, %s, and that it says %q", c.kind, c.code, c.says)
			}
		})
	}
}

func TestAnyCertificateIsTakenWhereAskedFor(t *testing.T) {
	c := cameratest.Start(t, cameratest.Options{TLS: true})
	r, err := Open(t.Context(), Options{URL: c.URL(), AnyCertificate: true})
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
}

func TestTunnelEndsWithItsReader(t *testing.T) {
	c := cameratest.Start(t, cameratest.Options{TLS: true})
	target, err := parseTarget(Options{URL: c.URL()}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	for _, used := range []bool{false, true} {
		n, err := openTunnel(t.Context(), Options{AnyCertificate: true}.withDefaults(), target)
		if err != nil {
			t.Fatal(err)
		}
		if used {
			connection, err := net.Dial("tcp", n.listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
		}
		n.close() // hangs where something is left
	}
}

func TestConnectionsOverTLSLeaveNothingBehind(t *testing.T) {
	c := cameratest.Start(t, cameratest.Options{TLS: true})
	once := func(ctx context.Context) {
		r, err := Open(ctx, Options{URL: c.URL(), CAFile: c.CertificateFile})
		if err == nil {
			_ = r.Close()
		}
	}
	once(t.Context())
	before := runtime.NumGoroutine()
	for i := range 6 {
		ctx, cancel := context.WithCancel(t.Context())
		if i%2 == 1 { // somewhere on its way
			time.AfterFunc(time.Duration(i)*20*time.Millisecond, cancel)
		}
		once(ctx)
		cancel()
	}
	// The server's own end a moment later.
	for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
		}
	}
}
