package ingest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// encrypted says whether a source is reached over TLS.
func (t *target) encrypted() bool {
	return t.kind == kindNetwork && (t.scheme == "rtsps" || t.scheme == "https" || t.scheme == "rtmps")
}

// dialTLS connects to the source's host and checks its certificate, unless any will do. The error says which of both failed.
func dialTLS(ctx context.Context, o Options, t *target) (*tls.Conn, error) {
	config, err := tlsConfig(o, t)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	plain, err := (&net.Dialer{}).DialContext(limited, "tcp", net.JoinHostPort(t.host, t.port))
	if err == nil {
		connection := tls.Client(plain, config)
		if err = connection.HandshakeContext(limited); err == nil {
			return connection, nil
		}
		_ = plain.Close()
	}
	return nil, t.tlsFailure(ctx, limited, err, o.Timeout)
}

func (t *target) tlsFailure(ctx, limited context.Context, err error, limit time.Duration) error {
	e := &Error{Op: "opening", Source: t.shown, Detail: err.Error()}
	var certificate *tls.CertificateVerificationError
	var untrusted *certificateError
	var operation *net.OpError
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Detail = ctx.Err(), ""
	case limited.Err() != nil:
		e.Kind, e.Detail, e.Hint = ErrTimeout, fmt.Sprintf("no answer within %v", limit), "check that the source is on, the address right, and that the port speaks TLS"
	case errors.As(err, &untrusted), errors.As(err, &certificate):
		e.Kind, e.Hint = ErrCertificate, "give the authority's certificate, or the camera's own, as tls.ca_file; or set tls.verify: false"
	case errors.As(err, &operation) && operation.Op == "dial":
		e.Kind, e.Hint = ErrUnreachable, "check that the source is on and the address is right"
		e.Detail = operation.Err.Error()
	default:
		e.Kind, e.Hint = ErrTLS, "check that the port speaks TLS"
	}
	return e
}

// certificateError is what is wrong with a server's certificate.
type certificateError struct{ error }

func (e *certificateError) Unwrap() error { return e.error }

// tlsConfig trusts the system's authorities or those of the file. A camera's own certificate in the file is enough as it is:
// such certificates name no host that anybody would write.
func tlsConfig(o Options, t *target) (*tls.Config, error) {
	if o.AnyCertificate {
		return &tls.Config{ServerName: t.host, InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}, nil
	}
	if o.CAFile == "" {
		return &tls.Config{ServerName: t.host}, nil
	}
	wrong := func(detail string) (*tls.Config, error) {
		return nil, &Error{Op: "opening", Source: t.shown, Kind: ErrInvalid, Detail: "tls.ca_file: " + detail, Hint: "give a PEM file with a certificate"}
	}
	text, err := os.ReadFile(o.CAFile)
	if err != nil {
		return wrong(err.Error())
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return wrong(o.CAFile + " holds no certificate")
	}
	return &tls.Config{ServerName: t.host, InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
		leaf := s.PeerCertificates[0]
		if holds(text, leaf.Raw) {
			return nil
		}
		options := x509.VerifyOptions{Roots: roots, DNSName: t.host, Intermediates: x509.NewCertPool()}
		for _, c := range s.PeerCertificates[1:] {
			options.Intermediates.AddCert(c)
		}
		if _, err := leaf.Verify(options); err != nil {
			return &certificateError{err}
		}
		return nil
	}}, nil
}

// holds says whether a PEM text has this very certificate.
func holds(text, certificate []byte) bool {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" && bytes.Equal(block.Bytes, certificate) {
			return true
		}
	}
	return false
}
