package cameratest

import (
	"bytes"
	"crypto/tls"
	"fmt"
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
	"github.com/bluenviron/gortsplib/v5/pkg/format/rtph264"
	"github.com/bluenviron/gortsplib/v5/pkg/liberrors"
)

// Camera is gortsplib's server.
type Camera struct {
	Options
	CertificateFile string // with Options.TLS

	server  *gortsplib.Server
	ready   sync.RWMutex // held until stream is there: clients may come before
	stream  *gortsplib.ServerStream
	once    sync.Once
	stop    chan struct{}
	playing sync.WaitGroup
}

// Start starts a camera. It ends with the test, or with Close.
func Start(t testing.TB, o Options) *Camera {
	t.Helper()
	o = o.withDefaults(t)
	c := &Camera{Options: o, stop: make(chan struct{})}
	c.server = &gortsplib.Server{Handler: c, RTSPAddress: o.Address, AuthMethods: map[string][]auth.VerifyMethod{
		"digest": {auth.VerifyMethodDigestMD5}, "basic": {auth.VerifyMethodBasic}, "sha256": {auth.VerifyMethodDigestSHA256},
	}[o.Auth]}
	if o.TLS {
		var certificate tls.Certificate
		certificate, c.CertificateFile, _ = Certificate(t, o.Any)
		c.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	}
	if o.UDP {
		c.server.UDPRTPAddress, c.server.UDPRTCPAddress = freePair(t)
	}
	c.ready.Lock()
	defer c.ready.Unlock()
	if err := c.server.Start(); err != nil {
		t.Fatal(err)
	}
	media, show := c.film(t)
	c.stream = &gortsplib.ServerStream{Server: c.server, Desc: &description.Session{Medias: []*description.Media{media}}}
	if err := c.stream.Initialize(); err != nil {
		t.Fatal(err)
	}
	c.playing.Go(func() { c.play(show) })
	t.Cleanup(c.Close)
	return c
}

// Stall ends the pictures, and keeps the connections.
func (c *Camera) Stall() {
	c.once.Do(func() { close(c.stop) })
	c.playing.Wait()
}

// Close takes the camera off the network. Closing twice is harmless.
func (c *Camera) Close() {
	c.Stall()
	c.stream.Close()
	c.server.Close()
}

// film is what the camera shows: show sends the nth picture.
func (c *Camera) film(t testing.TB) (media *description.Media, show func(n int)) {
	t.Helper()
	media = &description.Media{Type: description.MediaTypeVideo}
	var units [][][]byte
	encode := new(rtph264.Encoder).Encode // the others' are of the same type
	use := func(err error, f format.Format) {
		if err != nil {
			t.Fatal(err)
		}
		media.Formats = []format.Format{f}
	}
	filler := [][][]byte{{bytes.Repeat([]byte{0x55}, 800)}} // nobody shall decode it
	switch c.Codec {
	case "h264":
		units = accessUnits(clip(t, c.Options, "1", "h264"), func(nal []byte) bool { return nal[0]&31 == 9 })
		f := &format.H264{PayloadTyp: 96, PacketizationMode: 1, SPS: units[0][0], PPS: units[0][1]}
		encoder, err := f.CreateEncoder()
		use(err, f)
		encode = encoder.Encode
	case "h265":
		units = accessUnits(clip(t, c.Options, "1", "hevc"), func(nal []byte) bool { return nal[0]>>1&63 == 35 })
		f := &format.H265{PayloadTyp: 96, VPS: units[0][0], SPS: units[0][1], PPS: units[0][2]}
		encoder, err := f.CreateEncoder()
		use(err, f)
		encode = encoder.Encode
	case "av1": // which FFmpeg 5.1 does not take over RTP
		units = filler
		f := &format.AV1{PayloadTyp: 96}
		encoder, err := f.CreateEncoder()
		use(err, f)
		encode = encoder.Encode
	case "audio":
		units, media.Type = filler, description.MediaTypeAudio
		f := &format.G711{PayloadTyp: 0, MULaw: true, SampleRate: 8000, ChannelCount: 1}
		encoder, err := f.CreateEncoder()
		use(err, f)
		encode = first(encoder.Encode)
	default:
		t.Fatalf("the codec %q", c.Codec)
	}
	return media, func(n int) {
		packets, err := encode(units[n%len(units)])
		if err != nil {
			panic(fmt.Sprintf("a picture that does not fit RTP: %v", err))
		}
		for _, p := range packets {
			p.Timestamp = uint32(n) * 9000
			_ = c.stream.WritePacketRTP(media, p) // fails once the server is closed
		}
	}
}

func first[Packets any](encode func([]byte) (Packets, error)) func([][]byte) (Packets, error) {
	return func(unit [][]byte) (Packets, error) { return encode(unit[0]) }
}

// accessUnits splits an Annex B stream with access unit delimiters.
func accessUnits(stream []byte, delimiter func(nal []byte) bool) (units [][][]byte) {
	for _, nal := range bytes.Split(bytes.ReplaceAll(stream, []byte{0, 0, 0, 1}, []byte{0, 0, 1}), []byte{0, 0, 1}) {
		switch {
		case len(nal) == 0:
		case delimiter(nal):
			units = append(units, nil)
		default:
			units[len(units)-1] = append(units[len(units)-1], nal)
		}
	}
	return units
}

func (c *Camera) play(show func(n int)) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-c.stop:
			return
		case <-ticker.C:
		}
		show(n)
	}
}

// freePair is two free UDP ports, of which the first is even, as RTP wants them.
func freePair(t testing.TB) (rtpAddress, rtcpAddress string) {
	t.Helper()
	for range 100 {
		first, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := first.LocalAddr().(*net.UDPAddr).Port &^ 1
		_ = first.Close()
		rtpAddress, rtcpAddress = fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("127.0.0.1:%d", port+1)
		one, err1 := net.ListenPacket("udp", rtpAddress)
		two, err2 := net.ListenPacket("udp", rtcpAddress)
		for _, c := range []net.PacketConn{one, two} {
			if c != nil {
				_ = c.Close()
			}
		}
		if err1 == nil && err2 == nil {
			return rtpAddress, rtcpAddress
		}
	}
	t.Fatal("no two neighbouring UDP ports are free")
	return "", ""
}

// OnDescribe implements gortsplib.ServerHandlerOnDescribe.
func (c *Camera) OnDescribe(ctx *gortsplib.ServerHandlerOnDescribeCtx) (*base.Response, *gortsplib.ServerStream, error) {
	if c.User != "" && !ctx.Conn.VerifyCredentials(ctx.Request, c.User, c.Password) {
		return &base.Response{StatusCode: base.StatusUnauthorized}, nil, liberrors.ErrServerAuth{}
	}
	if !strings.HasPrefix(ctx.Path, "/main") {
		return &base.Response{StatusCode: base.StatusNotFound}, nil, nil
	}
	c.ready.RLock()
	defer c.ready.RUnlock()
	return &base.Response{StatusCode: base.StatusOK}, c.stream, nil
}

// OnSetup implements gortsplib.ServerHandlerOnSetup.
func (c *Camera) OnSetup(*gortsplib.ServerHandlerOnSetupCtx) (*base.Response, *gortsplib.ServerStream, error) {
	c.ready.RLock()
	defer c.ready.RUnlock()
	return &base.Response{StatusCode: base.StatusOK}, c.stream, nil
}

// OnPlay implements gortsplib.ServerHandlerOnPlay.
func (c *Camera) OnPlay(*gortsplib.ServerHandlerOnPlayCtx) (*base.Response, error) {
	return &base.Response{StatusCode: base.StatusOK}, nil
}
