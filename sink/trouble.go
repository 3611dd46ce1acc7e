package sink

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// trouble logs what goes wrong again and again: the same once, and after a while again.
type trouble struct {
	log *slog.Logger

	mu   sync.Mutex
	told map[string]time.Time // until when a text is not told again
}

const (
	toldFor   = 5 * time.Minute
	mostTexts = 32 // that are told in that time
)

// tell logs a message with an error that differs from those told before.
func (t *trouble) tell(message string, err error) { t.say(message+err.Error(), message, err) }

// tellOnce logs a message with its first error: further ones differ, but say no more.
func (t *trouble) tellOnce(message string, err error) { t.say(message, message, err) }

func (t *trouble) say(text, message string, err error) {
	t.mu.Lock()
	now := time.Now()
	for old, until := range t.told {
		if now.After(until) {
			delete(t.told, old)
		}
	}
	_, again := t.told[text]
	if again = again || len(t.told) >= mostTexts; !again {
		if t.told == nil {
			t.told = map[string]time.Time{}
		}
		t.told[text] = now.Add(toldFor)
	}
	t.mu.Unlock()
	if !again {
		t.log.Warn(message, "error", err)
	}
}

// over forgets what was told: if it comes again, it is news.
func (t *trouble) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = nil
}

// explain adds what to do to errors of the client library that do not say it.
func explain(err error) error {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	switch text := err.Error(); {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked),
		errors.Is(err, nats.ErrAccountAuthExpired), errors.Is(err, nats.ErrNkeysNotSupported):
		return fmt.Errorf("%w: the server does not know us: check the username and password, the token, nkey or credentials file", err)
	case errors.As(err, &authority):
		return fmt.Errorf("%w: name its authority's certificate as nats.tls.ca_file", err)
	case errors.As(err, &host):
		return fmt.Errorf("%w: use the name in the certificate in nats.url", err)
	case strings.Contains(text, "certificate required"), strings.Contains(text, "bad certificate"),
		strings.Contains(text, "after TLS handshake"): // it says so too late for a client that writes already
		return fmt.Errorf("%w: the server wants a certificate of ours that it trusts: nats.tls.cert_file and key_file", err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("%w: the server has no TLS: write nats:// and leave nats.tls out, or turn it on there", err)
	}
	return err
}
