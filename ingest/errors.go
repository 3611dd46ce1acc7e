package ingest

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/asticode/go-astiav"
)

// What can be wrong with a source. Every error of this package that concerns one wraps one of these, or the context's error.
var (
	ErrInvalid     = errors.New("invalid source")
	ErrNotFound    = errors.New("not found")
	ErrUnreachable = errors.New("unreachable")
	ErrRefused     = errors.New("refused by the server")
	ErrAuth        = errors.New("access denied")
	ErrTimeout     = errors.New("timed out")
	ErrCertificate = errors.New("certificate not trusted")
	ErrTLS         = errors.New("no TLS connection")
	ErrUnsupported = errors.New("not supported")
	ErrCodec       = errors.New("codec not supported")
	ErrNoVideo     = errors.New("no video")
	ErrCorrupt     = errors.New("damaged")
	ErrTooLarge    = errors.New("picture too large")
)

// Error is one line that says what was tried, where, what is wrong and what to do. It never holds credentials.
type Error struct {
	Op     string // "opening", "reading"
	Source string // the URL without its credentials
	Kind   error  // one of the sentinels, or the context's error
	Detail string // may be empty
	Hint   string // what to do; may be empty
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s %s: %v", e.Op, e.Source, e.Kind)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap is the sentinel.
func (e *Error) Unwrap() error { return e.Kind }

// codes name the sentinels for programs: in events, in the state of a stream, and as labels of metrics.
var codes = []struct {
	kind error
	code string
}{
	{ErrInvalid, "invalid_source"},
	{ErrNotFound, "not_found"},
	{ErrUnreachable, "connection_failed"},
	{ErrRefused, "refused"},
	{ErrAuth, "auth_failed"},
	{ErrTimeout, "timeout"},
	{ErrCertificate, "tls_certificate"},
	{ErrTLS, "tls_handshake"},
	{ErrUnsupported, "unsupported"},
	{ErrCodec, "codec_unsupported"},
	{ErrNoVideo, "no_video"},
	{ErrCorrupt, "damaged"},
	{ErrTooLarge, "too_large"},
}

// Code is a word for the kind of error, of a small fixed set; empty where a context ended.
func (e *Error) Code() string {
	for _, c := range codes {
		if errors.Is(e.Kind, c.kind) {
			return c.code
		}
	}
	return ""
}

// failure is the error of one FFmpeg call on a target. FFmpeg's own code is the last to be asked: it calls a time-out
// invalid data.
func (t *target) failure(ctx context.Context, op string, err error, expired bool, limit time.Duration) error {
	e := &Error{Op: op, Source: t.shown}
	var code astiav.Error
	switch {
	case ctx.Err() != nil:
		e.Kind = ctx.Err()
	case expired:
		e.Kind, e.Detail, e.Hint = ErrTimeout, fmt.Sprintf("no answer within %v", limit), "check that the source is on and the address is right"
		if op == "reading" {
			e.Detail = fmt.Sprintf("no picture within %v", limit)
		}
	case errors.As(err, &code):
		e.Kind, e.Hint = t.classify(code)
		e.Detail = scrub(code.Error(), t.secrets)
	default:
		e.Kind, e.Detail = ErrUnsupported, scrub(err.Error(), t.secrets)
	}
	return e
}

func (t *target) classify(code astiav.Error) (kind error, hint string) {
	switch code {
	case astiav.ErrHttpUnauthorized, astiav.ErrHttpForbidden:
		return ErrAuth, "check username and password"
	case astiav.ErrHttpNotFound, astiav.ErrStreamNotFound:
		return ErrNotFound, "check the path of the URL"
	case astiav.ErrHttpBadRequest, astiav.ErrHttpOther4Xx, astiav.ErrHttpServerError:
		return ErrRefused, "look into the server's log"
	case astiav.ErrDecoderNotFound, astiav.ErrDemuxerNotFound, astiav.ErrProtocolNotFound, astiav.ErrPatchwelcome, astiav.ErrOptionNotFound:
		return ErrUnsupported, "this FFmpeg cannot read it; convert it with the ffmpeg command"
	case astiav.ErrInvaliddata:
		if t.live {
			return ErrUnreachable, "the source answers with something that is no video; check the URL and the transport"
		}
		return ErrCorrupt, "check that it is a video and complete"
	}
	switch errno := syscall.Errno(-code); errno {
	case syscall.ENOENT, syscall.ENXIO, syscall.ENODEV:
		return ErrNotFound, "check the name"
	case syscall.EACCES, syscall.EPERM:
		return ErrAuth, "check the permissions"
	case syscall.ETIMEDOUT, syscall.EAGAIN:
		return ErrTimeout, "check that the source is on and the address is right"
	case syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EPIPE, syscall.EIO:
		return ErrUnreachable, "check that the source is on and the address is right"
	case syscall.EPROTONOSUPPORT:
		return ErrRefused, "the source does not offer this transport; try tcp or auto"
	case syscall.EINVAL, syscall.ENOSYS:
		return ErrUnsupported, ""
	}
	if t.live {
		return ErrUnreachable, ""
	}
	return ErrCorrupt, "check that it is a video and complete"
}
