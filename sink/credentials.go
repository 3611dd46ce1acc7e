package sink

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"maskstream/configs"
)

// NATSOptions is where and as whom to publish. At most one of a user, a token, an nkey and credentials is given. Files with
// secrets are read again at every reconnect, so that they may change.
type NATSOptions struct {
	URL             string // nats://, tls://, ws://, wss://; user:password@ or token@ in it; several with commas
	Username        string
	Password        string // or PasswordFile
	PasswordFile    string
	TokenFile       string
	NkeyFile        string // a user's seed
	CredentialsFile string // a user's .creds
	CAFile          string // PEM; empty: the system's
	CertFile        string // PEM, with KeyFile: what we show to the server
	KeyFile         string
	Name            string // of the connection, for the server's operator
	Log             *slog.Logger
}

// identity says who we are, after a look whether the files can be read and are what they should be.
func (o NATSOptions) identity() (nats.Option, error) {
	switch {
	case o.Username != "":
		password, err := freshSecret("password", o.Password, o.PasswordFile)
		if err != nil {
			return nil, err
		}
		return nats.UserInfoHandler(func() (string, string) { return o.Username, password() }), nil
	case o.TokenFile != "":
		token, err := freshSecret("token", "", o.TokenFile)
		if err != nil {
			return nil, err
		}
		return nats.TokenHandler(token), nil
	case o.NkeyFile != "":
		option, err := nats.NkeyOptionFromSeed(o.NkeyFile)
		if err != nil {
			return nil, fmt.Errorf("NATS nkey: %s holds no user's seed, a line that begins with SU: %w", o.NkeyFile, err)
		}
		return option, nil
	case o.CredentialsFile != "":
		text, err := configs.ReadSecret(o.CredentialsFile)
		if err != nil {
			return nil, fmt.Errorf("NATS credentials: %w", err)
		}
		if _, err := nkeys.ParseDecoratedUserNKey([]byte(text)); err != nil {
			return nil, fmt.Errorf("NATS credentials: %s is no .creds file with a user's JWT and seed", o.CredentialsFile)
		}
		return nats.UserCredentials(o.CredentialsFile), nil
	}
	return nil, nil
}

// freshSecret reads a file at every call and falls back to what it held before; without a file it is the text.
func freshSecret(what, text, file string) (func() string, error) {
	if file == "" {
		return func() string { return text }, nil
	}
	secret, err := configs.ReadSecret(file)
	if err != nil {
		return nil, fmt.Errorf("NATS %s: %w", what, err)
	}
	return func() string {
		if fresh, err := configs.ReadSecret(file); err == nil {
			secret = fresh
		}
		return secret
	}, nil
}

// transport is how the connection is secured; nil leaves it to the URL and the server.
func (o NATSOptions) transport() (nats.Option, error) {
	if o.CAFile == "" && o.CertFile == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("NATS certificate authority: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("NATS certificate authority: %s holds no PEM certificate", o.CAFile)
		}
	}
	if o.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("NATS client certificate %s with key %s: %w", o.CertFile, o.KeyFile, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return nats.Secure(config), nil
}
