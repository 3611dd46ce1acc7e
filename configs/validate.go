package configs

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	streamName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	device     = regexp.MustCompile(`^(auto|cpu|cuda(:[0-9]+)?)$`)
	// scheme is what FFmpeg would take for a protocol: everything before the first colon that no slash precedes.
	scheme = regexp.MustCompile(`^[^/:]*:`)
	// tokens is a NATS subject without wildcards.
	tokens = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
)

// schemes are the protocols a source may use. Others of FFmpeg's (concat, subfile, crypto, …) can be made to read any file.
var schemes = []string{"rtsp", "rtsps", "rtmp", "rtmps", "srt", "udp", "rtp", "tcp", "http", "https", "file", "testscene"}

// reserved names stand at the stream's place, or behind it, in subjects.
var reserved = []string{"ctl", "object", "frame", "event", "status"}

// CheckStreamName refuses what cannot be a NATS subject token and a path segment.
func CheckStreamName(name string) error {
	switch {
	case !streamName.MatchString(name):
		return fmt.Errorf("stream name %q: use 1 to 64 of A–Z a–z 0–9 _ -", name)
	case slices.Contains(reserved, name) || name == "_":
		return fmt.Errorf("stream name %q is reserved: choose another", name)
	}
	return nil
}

// CheckPrefix refuses what cannot begin a NATS subject.
func CheckPrefix(prefix string) error {
	if !tokens.MatchString(prefix) {
		return fmt.Errorf("prefix %q: use tokens of A–Z a–z 0–9 _ - with dots between", prefix)
	}
	return nil
}

// CheckURL refuses a source whose protocol is not on the list. Text without a protocol is a path.
func CheckURL(u URL) error {
	if u == "" {
		return fmt.Errorf("a URL is missing: an rtsp:// or http:// address, a file, a folder, /dev/video0, or testscene:")
	}
	name := strings.TrimSuffix(scheme.FindString(string(u)), ":")
	if name != "" && !slices.Contains(schemes, strings.ToLower(name)) {
		return fmt.Errorf("%q is not a protocol that sources may use: known are %s; put ./ before a file name with a colon",
			name, strings.Join(schemes, ", "))
	}
	_, rest, found := strings.Cut(string(u), "://")
	if !found {
		return nil
	}
	parsed, err := url.Parse(string(u))
	if err != nil {
		return fmt.Errorf("%s does not parse: percent-encode special characters, or give user and password as keys of their own", u)
	}
	if parsed.User != nil && strings.Count(rest, "@") > 1 { // the source would refuse it, once it is too late
		return fmt.Errorf("%s has more than one @: percent-encode it in the password (%%40), or give user and password as keys of their own", u)
	}
	// An unescaped / ? or # ends what looks like the host, so that in user:12#34@host the host is user and the port 12.
	if authority, behind, _ := strings.Cut(rest, parsed.Host); parsed.User == nil && authority == "" && parsed.Port() != "" && strings.Contains(behind, "@") {
		return fmt.Errorf("%s has an @ behind its first / ? or #: percent-encode special characters of the password, or give user and password as keys of their own; an @ of the path is %%40", u)
	}
	if port, err := strconv.Atoi(parsed.Port()); err == nil && (port < 1 || port > 65535) {
		return fmt.Errorf("%s: port %d lies not in 1…65535", u, port)
	}
	return nil
}

// validator names the place of what it refuses.
type validator struct {
	file    string
	origins map[string]string
}

func (v validator) errorf(path, format string, arguments ...any) error {
	place := v.file
	for at := path; ; {
		if origin, ok := v.origins[at]; ok {
			place = origin
			break
		}
		cut := strings.LastIndexAny(at, ".[")
		if cut < 0 {
			break
		}
		at = at[:cut]
	}
	return fmt.Errorf("%s: %s: %w", place, path, fmt.Errorf(format, arguments...))
}

func (v validator) oneOf(path, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return v.errorf(path, "unknown value %q%s", value, didYouMean(value, known))
}

func (v validator) config(c *Config) error {
	if c.Streams == nil {
		return v.errorf("streams", "no stream: name at least one source, or write streams: [] where all of them are added by request")
	}
	names := map[string]bool{}
	for i := range c.Streams {
		path := "streams[" + strconv.Itoa(i) + "]"
		if err := v.stream(path, &c.Streams[i]); err != nil {
			return err
		}
		if names[c.Streams[i].Name] {
			return v.errorf(path+".name", "%q names two streams", c.Streams[i].Name)
		}
		names[c.Streams[i].Name] = true
	}
	return firstError(
		func() error { return v.nats(&c.NATS) },
		func() error { return v.http(&c.HTTP) },
		func() error { return v.address("webrtc.udp", c.WebRTC.UDP) },
		func() error { return v.oneOf("webrtc.mode", c.WebRTC.Mode, "locked", "low-latency") },
		func() error { return v.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error") },
		func() error { return v.oneOf("log.format", c.Log.Format, "text", "json") },
	)
}

func firstError(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (v validator) stream(path string, s *Stream) error {
	if err := CheckStreamName(s.Name); err != nil {
		return v.errorf(path+".name", "%w", err)
	}
	if err := CheckURL(s.URL); err != nil {
		return v.errorf(path+".url", "%w", err)
	}
	switch {
	case s.Password != "" && s.PasswordFile != "":
		return v.errorf(path+".password_file", "password and password_file exclude each other")
	case s.Username != "" && s.URL.hasUser():
		return v.errorf(path+".username", "the URL has a user already: give it in one place")
	case (s.Password != "" || s.PasswordFile != "") && s.Username == "" && !s.URL.hasUser():
		return v.errorf(path+".username", "there is a password and no username")
	case s.Timeout < Duration(100*time.Millisecond):
		return v.errorf(path+".timeout", "%v: at least 100ms", time.Duration(s.Timeout))
	case s.TLS.CAFile != "" && !s.TLS.Verify:
		return v.errorf(path+".tls.ca_file", "verify: false takes any certificate: leave one of both out")
	case s.Model == "":
		return v.errorf(path+".model", "empty: nano or a checkpoint file")
	case !device.MatchString(s.Device):
		return v.errorf(path+".device", "unknown value %q: auto, cpu, cuda or cuda:0", s.Device)
	case s.History < 1 || s.History > 1_000_000:
		return v.errorf(path+".history", "%d: keep 1 to 1000000 frames", s.History)
	case s.HistoryBytes < 0:
		return v.errorf(path+".history_bytes", "%d: a size, or 0 for as much as there is room for", s.HistoryBytes)
	case s.MaxObjects < 1 || s.MaxObjects > 10_000:
		return v.errorf(path+".max_objects", "%d: track 1 to 10000 objects at once", s.MaxObjects)
	case objects(s.Prompts) > s.MaxObjects:
		return v.errorf(path+".prompts", "they name %d objects, and max_objects is %d: raise it, or leave some out", objects(s.Prompts), s.MaxObjects)
	case s.Memory.MaxConditioning != -1 && s.Memory.MaxConditioning < 2:
		return v.errorf(path+".memory.max_conditioning", "%d: at least 2, or -1 for all", s.Memory.MaxConditioning)
	case s.Auto && len(s.Prompts) > 0:
		return v.errorf(path+".auto", "auto and prompts exclude each other")
	}
	if err := v.oneOf(path+".transport", s.Transport, "tcp", "udp", "auto", "http"); err != nil {
		return err
	}
	if err := v.oneOf(path+".policy", s.Policy, "newest", "every"); err != nil {
		return err
	}
	for i := range s.Prompts {
		if err := v.prompt(path+".prompts["+strconv.Itoa(i)+"]", &s.Prompts[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *Prompt) empty() bool {
	return p.Object == 0 && len(p.Points) == 0 && len(p.Labels) == 0 && len(p.Box) == 0 && p.Mask == nil
}

func (v validator) prompt(path string, p *Prompt) error {
	numbers := slices.Clone(p.Box)
	for _, point := range p.Points {
		numbers = append(numbers, point[:]...)
	}
	finite := !slices.ContainsFunc(numbers, func(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) })
	wrongLabel := slices.ContainsFunc(p.Labels, func(l int) bool { return l != 0 && l != 1 })
	switch {
	case p.Auto:
		return v.errorf(path, "auto stands alone: it excludes other prompts and keys")
	case p.Object < 0 || p.Object > math.MaxInt32:
		return v.errorf(path+".object", "%d: object ids go from 0 to 2147483647", p.Object)
	case len(p.Points) == 0 && len(p.Box) == 0 && p.Mask == nil:
		return v.errorf(path, "says nothing: give points, box or mask")
	case p.Mask != nil && (len(p.Points) > 0 || len(p.Box) > 0):
		return v.errorf(path+".mask", "a mask excludes points and box")
	case len(p.Labels) != len(p.Points):
		return v.errorf(path+".labels", "%d labels for %d points: one each, 1 on the object and 0 beside it", len(p.Labels), len(p.Points))
	case wrongLabel:
		return v.errorf(path+".labels", "%v: 1 on the object, 0 beside it", p.Labels)
	case !finite:
		return v.errorf(path, "coordinates have to be finite")
	case len(p.Box) != 0 && len(p.Box) != 4:
		return v.errorf(path+".box", "%d values: give x0, y0, x1, y1", len(p.Box))
	case len(p.Box) == 4 && (p.Box[0] >= p.Box[2] || p.Box[1] >= p.Box[3]):
		return v.errorf(path+".box", "%v: the first corner has to be left of and above the second", p.Box)
	case p.Mask != nil && (p.Mask.Size[0] < 1 || p.Mask.Size[1] < 1 || p.Mask.Counts == ""):
		return v.errorf(path+".mask", "size is [height, width], counts COCO's string")
	}
	return nil
}

func (v validator) http(h *HTTP) error {
	if err := v.address("http.listen", h.Listen); err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(h.Listen)
	if !loopback(host) && h.TokenFile == "" {
		return v.errorf("http.listen", "%s is not loopback: set http.token_file, so that not everybody on the network steers the tracker", h.Listen)
	}
	for i, origin := range h.AllowOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			return v.errorf("http.allow_origins["+strconv.Itoa(i)+"]", "%q: write https://host or https://host:port, without a path; * is not an origin", origin)
		}
	}
	return nil
}

func (v validator) address(path, address string) error {
	_, port, err := net.SplitHostPort(address)
	if n, number := strconv.Atoi(port); err != nil || number != nil || n < 0 || n > 65535 {
		return v.errorf(path, "%q: write host:port, for example 127.0.0.1:8080", address)
	}
	return nil
}

// loopback says whether a host is this machine only. An empty host is every address.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// objects is how many objects prompts name.
func objects(prompts []Prompt) int {
	named := map[int]bool{}
	for _, p := range prompts {
		named[p.Object] = true
	}
	return len(named)
}
