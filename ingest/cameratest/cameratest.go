// Package cameratest runs real cameras for tests: RTSP servers on loopback that play a clip over and over, in real time. One is
// gortsplib's, in this process; one is GStreamer's, in a process of its own. Both do the same things, in their own ways.
//
//	camera := cameratest.Start(t, cameratest.Options{User: "admin", Password: "geheim"})
//	ingest.Open(ctx, ingest.Options{URL: camera.URL(), Username: "admin", Password: "geheim"})
package cameratest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Options say what a camera is like. The zero value is one of 160×90 pixels at 10 pictures a second that asks for no password.
type Options struct {
	Address  string // host:port; empty takes a free one
	User     string // empty: no password is asked for
	Password string
	Auth     string // "digest" (default), "basic", "sha256"
	TLS      bool   // rtsps
	Any      bool   // of certificates: one that names no host, as cameras make them for themselves
	UDP      bool   // over TCP, too, without
	Codec    string // "h264" (default), "h265", "av1", "audio" (no picture at all)
	Size     string // "160x90"
}

func (o Options) withDefaults(t testing.TB) Options {
	if o.Address == "" {
		o.Address = FreeAddress(t)
	}
	if o.Auth == "" {
		o.Auth = "digest"
	}
	if o.Codec == "" {
		o.Codec = "h264"
	}
	if o.Size == "" {
		o.Size = "160x90"
	}
	return o
}

// URL is a camera's address without user and password.
func (o Options) URL() string {
	if o.TLS {
		return "rtsps://" + o.Address + "/main"
	}
	return "rtsp://" + o.Address + "/main"
}

// FreeAddress is a port on loopback that nobody listens at.
func FreeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// clip makes a moving picture of the given length.
func clip(t testing.TB, o Options, seconds, format string, arguments ...string) []byte {
	t.Helper()
	encoder := map[string][]string{
		"h264": {"-c:v", "libx264", "-x264-params", "aud=1:repeat-headers=1:bframes=0"},
		"h265": {"-c:v", "libx265", "-x265-params", "aud=1:repeat-headers=1:bframes=0:log-level=error"},
	}[o.Codec]
	path := filepath.Join(t.TempDir(), "clip."+format)
	arguments = append(append([]string{
		"-hide_banner", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=size=" + o.Size + ":rate=10:duration=" + seconds,
		"-preset", "ultrafast", "-tune", "zerolatency", "-g", "5", "-pix_fmt", "yuv420p", "-threads", "1",
	}, encoder...), append(arguments, path)...)
	if output, err := exec.Command("ffmpeg", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, output)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Certificate is a camera's own, for loopback or, as cameras have them, for no host at all.
func Certificate(t testing.TB, anyHost bool) (certificate tls.Certificate, certificateFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "camera"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if !anyHost {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	certificateFile, keyFile = filepath.Join(folder, "camera.pem"), filepath.Join(folder, "camera.key")
	certificatePEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	for path, text := range map[string][]byte{certificateFile: certificatePEM, keyFile: keyPEM} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if certificate, err = tls.X509KeyPair(certificatePEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return certificate, certificateFile, keyFile
}
