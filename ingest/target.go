package ingest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kind is what a source is, which decides who reads it.
type kind uint8

const (
	kindFile kind = iota
	kindImages
	kindDevice
	kindNetwork
	kindScene
)

// target is a source's address, understood.
type target struct {
	kind    kind
	scheme  string   // of kindNetwork
	host    string   // of kindNetwork, without port
	port    string   // of kindNetwork, its scheme's where the URL names none; empty where there is no connection to it
	open    string   // what FFmpeg is given, credentials included: never shown
	bare    string   // the same without credentials
	login   string   // the credentials as a URL has them, with the @; empty where there are none
	shown   string   // what errors and logs may show
	secrets []string // what scrub takes out of foreign texts
	path    string   // of a named pipe; empty otherwise
	live    bool
	options [][2]string // of kindDevice, for FFmpeg
}

// networkScheme is a protocol a source may come by.
type networkScheme struct {
	name string
	live bool   // others are where they have no duration
	port string // of TCP, where the URL names none; "" for what is no TCP connection
}

// networkSchemes are all of them. Everything else FFmpeg knows (concat, subfile, pipe, …) is refused: sources are added by
// remote control too.
var networkSchemes = []networkScheme{
	{"rtsp", true, "554"}, {"rtsps", true, "322"}, {"rtmp", true, "1935"}, {"rtmps", true, "443"}, {"tcp", true, "0"},
	{"srt", true, ""}, {"udp", true, ""}, {"rtp", true, ""}, {"http", false, "80"}, {"https", false, "443"},
}

func parseTarget(o Options) (*target, error) {
	invalid := func(kind error, detail, hint string) (*target, error) {
		return nil, &Error{Op: "opening", Source: redact(o.URL), Kind: kind, Detail: detail, Hint: hint}
	}
	scheme, _, hasScheme := strings.Cut(o.URL, ":")
	hasScheme = hasScheme && schemePattern.MatchString(scheme)
	switch {
	case o.URL == "":
		return invalid(ErrInvalid, "the address is empty", "give a file, a folder of images or a URL")
	case o.URL == "pipe:0" || o.URL == "-":
		return standardInput(o.URL)
	case !hasScheme || exists(o.URL):
		return pathTarget(o.URL)
	case scheme == "testscene":
		return &target{kind: kindScene, open: o.URL, shown: o.URL}, nil
	case scheme == "file":
		u, err := url.Parse(o.URL)
		if err != nil || (u.Host != "" && u.Host != "localhost") {
			return invalid(ErrInvalid, "a file URL has three slashes and no host", "write file:///path/to/video.mp4 or the plain path")
		}
		return pathTarget(u.Path + u.Opaque)
	}
	for _, s := range networkSchemes {
		if strings.EqualFold(s.name, scheme) {
			return networkTarget(o, s)
		}
	}
	return invalid(ErrUnsupported, fmt.Sprintf("the scheme %q", scheme), "use a file, rtsp(s), http(s), rtmp(s), srt, udp, rtp, tcp, /dev/video…, pipe:0 or testscene:")
}

var schemePattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]+$`)

// Recorded says whether an address names a recording on this machine, a file or a folder of images: it waits for its reader.
func Recorded(address string) bool {
	t, err := parseTarget(Options{URL: address}.withDefaults())
	return err == nil && (t.kind == kindFile || t.kind == kindImages)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func pathTarget(path string) (*target, error) {
	if t, ok, err := deviceTarget(path); ok {
		return t, err
	}
	t := &target{kind: kindFile, open: "file:" + path, shown: path}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, &Error{Op: "opening", Source: redact(path), Kind: ErrAuth, Hint: "check the permissions"}
	case err != nil:
		return nil, &Error{Op: "opening", Source: redact(path), Kind: ErrNotFound, Hint: "check the name"}
	case info.Mode()&fs.ModeNamedPipe != 0:
		t.path = path
	case info.IsDir() || isImage(path):
		t.kind, t.open = kindImages, path
	}
	return t, nil
}

// transports are the ways RTSP brings its pictures.
var transports = []string{"tcp", "udp", "auto", "http"}

func networkTarget(o Options, known networkScheme) (*target, error) {
	scheme := known.name
	const encode = "percent-encode special characters of user name and password (@ is %40, # is %23), or give them as fields of their own"
	bad := func(detail, hint string) (*target, error) {
		return nil, &Error{Op: "opening", Source: scheme + "://…", Kind: ErrInvalid, Detail: detail, Hint: hint}
	}
	if !slices.Contains(transports, o.Transport) {
		return bad(fmt.Sprintf("the transport %q", o.Transport), "use "+strings.Join(transports, ", "))
	}
	rest, ok := strings.CutPrefix(o.URL[len(scheme):], "://")
	if !ok {
		return bad("a URL needs // after the scheme", "write "+scheme+"://host/path")
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	at := strings.LastIndexByte(authority, '@')
	credentials, hostPort := "", authority
	if at >= 0 {
		credentials, hostPort = authority[:at], authority[at+1:]
	}
	// A raw @ or # in a password moves what looks like the host: then nothing of the URL may be shown, and nothing tried.
	// So with user:12/34@host, where user looks like a host and 12 like its port.
	_, fragment, _ := strings.Cut(path, "#")
	switch {
	case strings.Contains(credentials, "@") || at >= 0 && strings.Contains(path, "@"):
		return bad("the URL has more than one @", encode)
	case strings.Contains(fragment, "@") || strings.Contains(authority, ":") && strings.Contains(path, "@"):
		return bad("the URL has an @ behind its first / ? or #", encode)
	}
	u, err := url.Parse(scheme + "://" + hostPort)
	if err != nil || u.Hostname() == "" || (u.Port() == "" && strings.HasSuffix(hostPort, ":")) {
		return bad("there is no host, or its port is not a number", encode)
	}
	user, password, hasPassword := strings.Cut(credentials, ":")
	rawUser, err1 := url.PathUnescape(user)
	rawPassword, err2 := url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return bad("a % in user name or password is not followed by two hex digits", encode)
	}
	written := password
	if o.Username != "" {
		rawUser = o.Username
	}
	if o.Password != "" {
		rawPassword, hasPassword = o.Password, true
	}
	t := &target{kind: kindNetwork, scheme: scheme, host: u.Hostname(), port: known.port, live: known.live, shown: redact(scheme + "://" + hostPort + path)}
	if p := u.Port(); p != "" && t.port != "" {
		t.port = p
	}
	if rawUser != "" || hasPassword {
		t.login = percentEncode(rawUser) + ":" + percentEncode(rawPassword) + "@"
	}
	t.bare = scheme + "://" + hostPort + path
	t.open = scheme + "://" + t.login + hostPort + path
	t.secrets = append(secretsOf(rawUser, rawPassword), queryValues(path)...)
	if written != "" {
		t.secrets = append(t.secrets, written)
	}
	t.secrets = longestFirst(t.secrets)
	return t, nil
}

// percentEncode leaves letters, digits and -._~ alone: what is left means the same to every parser.
func percentEncode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(0x100|uint64(c), 16)[1:]))
		}
	}
	return b.String()
}

// secretsOf is the password in every spelling that a foreign text may hold it in.
func secretsOf(user, password string) []string {
	if password == "" {
		return nil
	}
	encoded := percentEncode(password)
	return []string{
		password, encoded, lowerHex(encoded), url.QueryEscape(password), url.PathEscape(password),
		base64.StdEncoding.EncodeToString([]byte(user + ":" + password)),
	}
}

var hexPattern = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerHex(s string) string { return hexPattern.ReplaceAllStringFunc(s, strings.ToLower) }

var secretParameter = regexp.MustCompile(`(?i)((?:pass(?:word|wd)?|pwd|token|key|secret|auth)=)([^&;/?#\s]+)`)

// queryValues are the passwords that cameras want in path or query, like /user=admin&password=x.
func queryValues(path string) (values []string) {
	for _, m := range secretParameter.FindAllStringSubmatch(path, -1) {
		values = append(values, m[2])
	}
	return values
}

var credentialsPattern = regexp.MustCompile(`//[^/\s]*@`)

// redact is a URL that may be shown: without user, password, query and fragment.
func redact(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 && strings.Contains(s[:i], ":") {
		scheme, _, found := strings.Cut(s, "://")
		if s = s[i+1:]; found {
			s = scheme + "://" + s
		} else { // the scheme was forgotten or mistyped, as in admin:password@host
			s = "…@" + s
		}
	}
	if i := strings.IndexAny(s, "?#"); i >= 0 && strings.Contains(s, "://") {
		s = s[:i]
	}
	return secretParameter.ReplaceAllString(s, "$1***")
}

// scrub takes the secrets, and whatever looks like credentials of a URL, out of a text of somebody else.
func scrub(s string, secrets []string) string {
	for _, secret := range longestFirst(secrets) {
		s = strings.ReplaceAll(s, secret, "***")
	}
	return credentialsPattern.ReplaceAllString(secretParameter.ReplaceAllString(s, "$1***"), "//")
}

// longestFirst drops empty and double ones; a secret within another must not be taken out first.
func longestFirst(secrets []string) []string {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return s == "" })
	slices.SortFunc(secrets, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(secrets)
}
