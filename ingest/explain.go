package ingest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"time"

	"github.com/asticode/go-astiav"
)

// explain looks for the cause of a failure that FFmpeg does not tell: it asks the server once more, in Go. Where that finds
// nothing, the failure stays as it is.
func explain(ctx context.Context, o Options, t *target, failure error) error {
	var e *Error
	switch {
	case t.kind != kindNetwork || !errors.As(failure, &e) || ctx.Err() != nil:
		return failure
	case t.encrypted() && !t.tunnelled() && e.Kind == ErrUnreachable:
		connection, err := dialTLS(ctx, o, t)
		if err != nil {
			return err
		}
		_ = connection.Close()
	case t.rtsp() && e.Kind == ErrRefused && o.media == "video":
		// A camera that has sound only is asked for nothing, which it takes ill.
		o.media = "video+audio"
		d, err := openDemuxer(ctx, o, t)
		if errors.Is(err, ErrNoVideo) {
			return err
		}
		if err == nil {
			d.close()
		}
	case t.rtsp() && e.Kind == ErrAuth:
		switch methods := challenges(ctx, o, t); {
		case t.login == "":
			e.Hint = "it asks for a password: give username and password"
		case len(methods) > 0 && !understood(methods):
			e.Detail = fmt.Sprintf("the camera asks for %s, and FFmpeg %s knows Basic and Digest MD5 only", strings.Join(methods, " and "), FFmpegVersion())
			e.Hint = "set the camera's RTSP authentication to Digest MD5 or Basic"
		}
	}
	return failure
}

// challenges are the ways in which an RTSP server lets itself be convinced, like "Basic" and "Digest SHA-256".
func challenges(ctx context.Context, o Options, t *target) (methods []string) {
	limited, cancel := context.WithTimeout(ctx, min(o.Timeout, 3*time.Second))
	defer cancel()
	var connection net.Conn
	var err error
	if t.encrypted() {
		connection, err = dialTLS(limited, o, t)
	} else {
		connection, err = (&net.Dialer{}).DialContext(limited, "tcp", net.JoinHostPort(t.host, t.port))
	}
	if err != nil {
		return nil
	}
	defer connection.Close()
	defer context.AfterFunc(limited, func() { _ = connection.Close() })()
	// Whoever refused FFmpeg's question refuses this one, which has no credentials, and says how it wants them.
	if _, err := fmt.Fprintf(connection, "DESCRIBE %s RTSP/1.0\r\nCSeq: 1\r\n\r\n", t.bare); err != nil {
		return nil
	}
	reader := textproto.NewReader(bufio.NewReader(connection))
	if _, err := reader.ReadLine(); err != nil {
		return nil
	}
	header, err := reader.ReadMIMEHeader()
	if err != nil {
		return nil
	}
	for _, challenge := range header.Values("WWW-Authenticate") {
		methods = append(methods, methodOf(challenge))
	}
	return methods
}

// methodOf is the scheme of a challenge with its algorithm, where that is not MD5.
func methodOf(challenge string) string {
	scheme, parameters, _ := strings.Cut(strings.TrimSpace(challenge), " ")
	for parameter := range strings.SplitSeq(parameters, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if strings.EqualFold(key, "algorithm") {
			if value = strings.Trim(value, `" `); !strings.EqualFold(value, "MD5") && !strings.EqualFold(value, "MD5-sess") {
				return scheme + " " + value
			}
		}
	}
	return scheme
}

// understood says whether FFmpeg has an answer to one of the methods.
func understood(methods []string) bool {
	for _, m := range methods {
		if strings.EqualFold(m, "Basic") || strings.EqualFold(m, "Digest") {
			return true
		}
	}
	return false
}

// unknownCodec names the codec of the first video stream that this FFmpeg has no decoder for, as far as it has a name.
func unknownCodec(streams []*astiav.Stream) (name string, found bool) {
	for _, s := range streams {
		if c := s.CodecParameters(); c.MediaType() == astiav.MediaTypeVideo && astiav.FindDecoder(c.CodecID()) == nil {
			if name = c.CodecID().Name(); name != "none" {
				return " in " + name, true
			}
			return "", true
		}
	}
	return "", false
}
