package ingest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/asticode/go-astiav"
)

// resolve asks for the host's address in Go, where it can be cancelled; FFmpeg's own question cannot.
func resolve(ctx context.Context, o Options, t *target) error {
	if t.kind != kindNetwork || net.ParseIP(t.host) != nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if _, err := net.DefaultResolver.LookupHost(limited, t.host); err != nil {
		e := &Error{Op: "opening", Source: t.shown, Kind: ErrNotFound, Detail: fmt.Sprintf("no address is known for %q", t.host), Hint: "check the host's name"}
		switch {
		case ctx.Err() != nil:
			e = &Error{Op: "opening", Source: t.shown, Kind: ctx.Err()}
		case limited.Err() != nil:
			e.Kind = ErrTimeout
		}
		return e
	}
	return nil
}

// passedDown are options that one protocol hands to the next below it and leaves where they were.
var passedDown = []string{"tls_verify", "ca_file"}

// inputOptions are FFmpeg's, by what valid on versions 5.1 to 7.
func inputOptions(o Options, t *target) (kv [][2]string) {
	// FFmpeg's own limits are a net under the interrupt's deadline, which knows what it was that ended.
	later := strconv.FormatInt((o.Timeout + 2*time.Second).Microseconds(), 10)
	switch {
	case t.path != "":
		return [][2]string{{"protocol_whitelist", "pipe"}}
	case t.kind == kindFile:
		return [][2]string{{"protocol_whitelist", "file,crypto,data"}}
	case t.kind == kindDevice:
		return t.options
	case t.rtsp():
		kv = [][2]string{
			{"timeout", later}, // not stimeout, not rw_timeout: neither bounds RTSP
			{"allowed_media_types", o.media},
			{"max_delay", "500000"},
			{"analyzeduration", "1000000"},
		}
		switch {
		case t.tunnelled(): // the tunnel is one connection, and the only one
			return append(kv, [2]string{"rtsp_transport", "tcp"}, [2]string{"protocol_whitelist", "rtp,rtsp,tcp"})
		case o.Transport == "auto":
			kv = append(kv, [2]string{"rtsp_flags", "prefer_tcp"})
		default:
			kv = append(kv, [2]string{"rtsp_transport", o.Transport})
		}
	case t.scheme == "https" || t.scheme == "rtmps":
		kv = [][2]string{{"rw_timeout", later}, {"tls_verify", "1"}}
		if o.AnyCertificate {
			kv[1][1] = "0"
		}
		if o.CAFile != "" {
			kv = append(kv, [2]string{"ca_file", o.CAFile})
		}
	case t.scheme == "http" || t.scheme == "udp" || t.scheme == "tcp" || t.scheme == "rtmp":
		kv = [][2]string{{"rw_timeout", later}}
	}
	// A playlist from the network must not lead to local files.
	return append(kv, [2]string{"protocol_whitelist", "rtp,srtp,rtsp,rtsps,udp,tcp,tls,crypto,http,https,httpproxy,rtmp,rtmps,srt,data"})
}

// unused is the first option that nobody has taken, and that is not passed down; nil where there is none.
func unused(options *astiav.Dictionary) *astiav.DictionaryEntry {
	every := astiav.NewDictionaryFlags(astiav.DictionaryFlagIgnoreSuffix)
	left := options.Get("", nil, every)
	for left != nil && slices.Contains(passedDown, left.Key()) {
		left = options.Get("", left, every)
	}
	return left
}
