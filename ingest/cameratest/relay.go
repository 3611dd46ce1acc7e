package cameratest

import (
	"os/exec"
	"sync"
	"testing"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
)

// Relay is a media server: it has a picture only while somebody publishes one to it, and hands on what comes as it is.
type Relay struct {
	Options
	server *gortsplib.Server

	mu     sync.Mutex
	source *gortsplib.ServerSession // that publishes; nil where nobody does
	stream *gortsplib.ServerStream
}

// StartRelay starts a relay. It ends with the test.
func StartRelay(t testing.TB) *Relay {
	t.Helper()
	r := &Relay{Options: Options{}.withDefaults(t)}
	r.server = &gortsplib.Server{Handler: r, RTSPAddress: r.Address}
	if err := r.server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.server.Close)
	return r
}

// Push has FFmpeg publish a test picture to the relay, coded with the given arguments, until the returned function is called.
func (r *Relay) Push(t testing.TB, coded ...string) (stop func()) {
	t.Helper()
	arguments := append([]string{"-loglevel", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=" + r.Size + ":rate=10"}, coded...)
	push := exec.Command("ffmpeg", append(arguments, "-f", "rtsp", "-rtsp_transport", "tcp", r.URL())...)
	if err := push.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = push.Process.Kill()
		_ = push.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// ok is a new answer each time, since the server fills it in.
func ok() *base.Response { return &base.Response{StatusCode: base.StatusOK} }

// handOn writes whatever packets are received.
func handOn[Packet any](write func(*description.Media, Packet) error) func(*description.Media, format.Format, Packet) {
	return func(media *description.Media, _ format.Format, packet Packet) {
		_ = write(media, packet) // fails once nobody publishes
	}
}

// OnAnnounce implements gortsplib.ServerHandlerOnAnnounce.
func (r *Relay) OnAnnounce(ctx *gortsplib.ServerHandlerOnAnnounceCtx) (*base.Response, error) {
	stream := &gortsplib.ServerStream{Server: r.server, Desc: ctx.Description}
	if err := stream.Initialize(); err != nil {
		return &base.Response{StatusCode: base.StatusBadRequest}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.source, r.stream = ctx.Session, stream
	return ok(), nil
}

// OnRecord implements gortsplib.ServerHandlerOnRecord.
func (r *Relay) OnRecord(ctx *gortsplib.ServerHandlerOnRecordCtx) (*base.Response, error) {
	_, stream := r.published()
	ctx.Session.OnPacketRTPAny(handOn(stream.WritePacketRTP))
	return ok(), nil
}

// OnSessionClose implements gortsplib.ServerHandlerOnSessionClose.
func (r *Relay) OnSessionClose(ctx *gortsplib.ServerHandlerOnSessionCloseCtx) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Session == r.source {
		r.stream.Close()
		r.source, r.stream = nil, nil
	}
}

// OnDescribe implements gortsplib.ServerHandlerOnDescribe.
func (r *Relay) OnDescribe(*gortsplib.ServerHandlerOnDescribeCtx) (*base.Response, *gortsplib.ServerStream, error) {
	answer, stream := r.published()
	return answer, stream, nil
}

// OnSetup implements gortsplib.ServerHandlerOnSetup.
func (r *Relay) OnSetup(ctx *gortsplib.ServerHandlerOnSetupCtx) (*base.Response, *gortsplib.ServerStream, error) {
	if ctx.Session.State() == gortsplib.ServerSessionStatePreRecord {
		return ok(), nil, nil
	}
	answer, stream := r.published()
	return answer, stream, nil
}

// OnPlay implements gortsplib.ServerHandlerOnPlay.
func (r *Relay) OnPlay(*gortsplib.ServerHandlerOnPlayCtx) (*base.Response, error) { return ok(), nil }

func (r *Relay) published() (*base.Response, *gortsplib.ServerStream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stream == nil {
		return &base.Response{StatusCode: base.StatusNotFound}, nil
	}
	return ok(), r.stream
}
