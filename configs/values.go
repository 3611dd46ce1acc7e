package configs

import (
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const hidden = "REDACTED"

// Secret is a text that nothing prints: not fmt, not slog, not YAML or JSON. string(secret) is the text itself.
type Secret string

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// LogValue hides the text from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text from YAML and JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// URL is a source or a server (several with commas), which prints without user, password and the values of query keys that
// sound like secrets. string(u) is the whole.
type URL string

// secretKey recognises query keys that carry secrets.
var secretKey = regexp.MustCompile(`(?i)pass|pwd|token|secret|auth|key|sig|user`)

func (u URL) String() string {
	var parts []string
	for part := range strings.SplitSeq(string(u), ",") {
		if len(parts) > 0 && !strings.Contains(part, "://") { // the comma is part of a password or a path
			parts[len(parts)-1] += "," + part
		} else {
			parts = append(parts, part)
		}
	}
	for i, part := range parts {
		parts[i] = redactURL(part)
	}
	return strings.Join(parts, ",")
}

// secretAssignment finds what cameras want in their paths, as in /user=admin&password=x.
var secretAssignment = regexp.MustCompile(`(?i)((?:pass(?:word|wd)?|pwd|token|key|secret|auth)=)[^&;/?#\s]+`)

// redactURL works on the text and not on a parsed URL, so that what does not parse is hidden too.
func redactURL(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		// Where the scheme is forgotten or mistyped, as in admin:password@host, the password is still there.
		if at := strings.LastIndexByte(text, '@'); at >= 0 && strings.Contains(text[:at], ":") {
			return hidden + text[at:]
		}
		return text
	}
	// A password may hold an unescaped slash or question mark, so everything up to the last @ goes.
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = hidden + "@" + rest[at+1:]
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	rest = secretAssignment.ReplaceAllString(rest, "${1}"+hidden)
	if !hasQuery {
		return scheme + "://" + rest
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if key, _, ok := strings.Cut(pair, "="); ok && secretKey.MatchString(key) {
			pairs[i] = key + "=" + hidden
		}
	}
	return scheme + "://" + rest + "?" + secretAssignment.ReplaceAllString(strings.Join(pairs, "&"), "${1}"+hidden)
}

// GoString hides secrets from %#v.
func (u URL) GoString() string { return strconv.Quote(u.String()) }

// LogValue hides secrets from slog.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }

// MarshalText hides secrets from YAML and JSON.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// hasUser says whether a URL carries a user.
func (u URL) hasUser() bool {
	parsed, err := url.Parse(string(u))
	return err == nil && parsed.User != nil
}

// Port is the port that a single address names, 0 where it names none.
func (u URL) Port() int {
	parsed, err := url.Parse(string(u))
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(parsed.Port())
	if err != nil {
		return 0
	}
	return port
}

// Duration is a time.Duration written as "10s".
type Duration time.Duration

// MarshalText writes the form that Load reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func parseDuration(text string) (Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf(`%q is no duration: write for example "10s", "500ms" or "2m"`, text)
	}
	return Duration(d), nil
}

// Size is a number of bytes written as "256KiB".
type Size int64

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}}

// MarshalText writes the form that Load reads, in the largest binary unit that is exact.
func (s Size) MarshalText() ([]byte, error) {
	for _, unit := range []int{2, 1, 0} {
		if n := sizeUnits[unit]; s > 0 && int64(s)%n.bytes == 0 {
			return fmt.Appendf(nil, "%d%s", int64(s)/n.bytes, n.suffix), nil
		}
	}
	return fmt.Appendf(nil, "%dB", int64(s)), nil
}

// ParseSize reads a size as it is written in a configuration, at least 0.
func ParseSize(text string) (Size, error) {
	for _, unit := range sizeUnits {
		number, ok := strings.CutSuffix(text, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err == nil && n >= 0 && n <= math.MaxInt64/unit.bytes {
			return Size(n * unit.bytes), nil
		}
		break
	}
	return 0, fmt.Errorf(`%q is no size: write for example "256KiB", "1MiB" or "4096"`, text)
}
