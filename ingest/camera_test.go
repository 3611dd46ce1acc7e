package ingest

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/auth"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/gortsplib/v5/pkg/liberrors"
)

// camera is a real RTSP server on loopback that plays an H.264 clip over and over.
type camera struct {
	server   *gortsplib.Server
	ready    sync.RWMutex // held until stream is there: clients may come before
	stream   *gortsplib.ServerStream
	address  string
	user     string
	password string
	stop     chan struct{}
	playing  sync.WaitGroup
}

func (c *camera) OnDescribe(ctx *gortsplib.ServerHandlerOnDescribeCtx) (*base.Response, *gortsplib.ServerStream, error) {
	if c.user != "" && !ctx.Conn.VerifyCredentials(ctx.Request, c.user, c.password) {
		return &base.Response{StatusCode: base.StatusUnauthorized}, nil, liberrors.ErrServerAuth{}
	}
	if !strings.HasPrefix(ctx.Path, "/main") {
		return &base.Response{StatusCode: base.StatusNotFound}, nil, nil
	}
	c.ready.RLock()
	defer c.ready.RUnlock()
	return &base.Response{StatusCode: base.StatusOK}, c.stream, nil
}

func (c *camera) OnSetup(*gortsplib.ServerHandlerOnSetupCtx) (*base.Response, *gortsplib.ServerStream, error) {
	c.ready.RLock()
	defer c.ready.RUnlock()
	return &base.Response{StatusCode: base.StatusOK}, c.stream, nil
}

func (c *camera) OnPlay(*gortsplib.ServerHandlerOnPlayCtx) (*base.Response, error) {
	return &base.Response{StatusCode: base.StatusOK}, nil
}

// accessUnits splits an Annex B stream with access unit delimiters.
func accessUnits(stream []byte) (units [][][]byte) {
	for _, nal := range bytes.Split(bytes.ReplaceAll(stream, []byte{0, 0, 0, 1}, []byte{0, 0, 1}), []byte{0, 0, 1}) {
		if len(nal) == 0 {
			continue
		}
		if nal[0]&31 == 9 {
			units = append(units, nil)
			continue
		}
		units[len(units)-1] = append(units[len(units)-1], nal)
	}
	return units
}

func cameraClip(t *testing.T, size string) [][][]byte {
	t.Helper()
	return accessUnits(ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=size="+size+":rate=25:duration=1", "-c:v", "libx264", "-preset", "ultrafast",
		"-tune", "zerolatency", "-g", "10", "-pix_fmt", "yuv420p", "-x264-params", "aud=1:repeat-headers=1:bframes=0", "-f", "h264", "-"))
}

// startCamera listens at address ("127.0.0.1:0" for any port) and plays units at 25 a second.
func startCamera(t *testing.T, address string, units [][][]byte, user, password string) *camera {
	t.Helper()
	if strings.HasSuffix(address, ":0") {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		address = l.Addr().String()
		_ = l.Close()
	}
	c := &camera{address: address, user: user, password: password, stop: make(chan struct{})}
	c.server = &gortsplib.Server{Handler: c, RTSPAddress: address, AuthMethods: []auth.VerifyMethod{auth.VerifyMethodDigestMD5}}
	c.ready.Lock()
	defer c.ready.Unlock()
	if err := c.server.Start(); err != nil {
		t.Fatal(err)
	}
	media := &description.Media{Type: description.MediaTypeVideo, Formats: []format.Format{&format.H264{
		PayloadTyp: 96, PacketizationMode: 1, SPS: units[0][0], PPS: units[0][1],
	}}}
	c.stream = &gortsplib.ServerStream{Server: c.server, Desc: &description.Session{Medias: []*description.Media{media}}}
	if err := c.stream.Initialize(); err != nil {
		t.Fatal(err)
	}
	encoder, err := media.Formats[0].(*format.H264).CreateEncoder()
	if err != nil {
		t.Fatal(err)
	}
	c.playing.Go(func() {
		ticker := time.NewTicker(40 * time.Millisecond)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-c.stop:
				return
			case <-ticker.C:
			}
			packets, err := encoder.Encode(units[n%len(units)])
			if err != nil {
				t.Error(err)
				return
			}
			for _, p := range packets {
				p.Timestamp = uint32(n) * 3600
				_ = c.stream.WritePacketRTP(media, p) // fails once the server is closed
			}
		}
	})
	return c
}

func (c *camera) close() {
	close(c.stop)
	c.playing.Wait()
	c.stream.Close()
	c.server.Close()
}
