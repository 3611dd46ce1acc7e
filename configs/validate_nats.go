package configs

import (
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

func (v validator) nats(n *NATS) error {
	for part := range strings.SplitSeq(string(n.URL), ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return v.errorf("nats.url", "%s: write nats://host:4222 (or tls, ws, wss), percent-encoded, several with commas", n.URL)
		}
		if n.Embedded && !loopback(u.Hostname()) {
			return v.errorf("nats.url", "the embedded server listens on loopback only, not on %s", u.Hostname())
		}
	}
	if err := CheckPrefix(n.Prefix); err != nil {
		return v.errorf("nats.prefix", "%w", err)
	}
	switch {
	case n.Embedded && strings.Contains(string(n.URL), ","):
		return v.errorf("nats.url", "the embedded server has one address, here are several")
	case n.Embedded && n.URL.Port() > math.MaxUint16:
		return v.errorf("nats.url", "%d is no port: they go to 65535", n.URL.Port())
	case n.Batch.Count < 1:
		return v.errorf("nats.batch.count", "%d: at least 1", n.Batch.Count)
	case n.Batch.Bytes < 1024:
		return v.errorf("nats.batch.bytes", "%d: at least 1KiB", n.Batch.Bytes)
	}
	return firstError(func() error { return v.identity(n) }, func() error { return v.tls(n.TLS) }, func() error { return v.stored(n) })
}

// identity refuses two ways to say who we are, and half a one.
func (v validator) identity(n *NATS) error {
	var given []string
	for key, set := range map[string]bool{
		"username": n.Username != "", "token_file": n.TokenFile != "", "nkey_file": n.NkeyFile != "", "credentials_file": n.CredentialsFile != "",
		"url": n.URL.hasUser(),
	} {
		if set {
			given = append(given, key)
		}
	}
	slices.Sort(given)
	switch {
	case n.Embedded && (len(given) > 0 || n.Password != "" || n.PasswordFile != "" || n.TLS != (TLS{})):
		return v.errorf("nats.embedded", "the embedded server takes no credentials and no TLS")
	case len(given) > 1:
		return v.errorf("nats."+given[0], "%s exclude each other: the server knows us by one of them", strings.Join(given, " and "))
	case n.Password != "" && n.PasswordFile != "":
		return v.errorf("nats.password_file", "password and password_file exclude each other")
	case (n.Password != "" || n.PasswordFile != "") && n.Username == "":
		return v.errorf("nats.username", "there is a password and no username")
	}
	return nil
}

// storeName is what JetStream takes as a stream's name and every tool can type.
var storeName = regexp.MustCompile(`^[A-Za-z0-9_-]{0,255}$`)

func (v validator) stored(n *NATS) error {
	switch {
	case !storeName.MatchString(n.Store.Name):
		return v.errorf("nats.store.name", "%q: use A–Z a–z 0–9 _ -", n.Store.Name)
	case n.Spool.Bytes < 1<<20:
		return v.errorf("nats.spool.bytes", "%d: at least 1MiB", n.Spool.Bytes)
	}
	return nil
}

func (v validator) tls(t TLS) error {
	if (t.CertFile == "") != (t.KeyFile == "") {
		return v.errorf("nats.tls", "cert_file and key_file go together: the certificate that we show and its key")
	}
	return nil
}
