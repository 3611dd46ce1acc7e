package sink

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// user makes a user's key pair.
func user(t *testing.T) (public, seed string) {
	t.Helper()
	return keyPair(t, nkeys.CreateUser)
}

func keyPair(t *testing.T, create func() (nkeys.KeyPair, error)) (public, seed string) {
	t.Helper()
	pair, err := create()
	if err != nil {
		t.Fatal(err)
	}
	if public, err = pair.PublicKey(); err != nil {
		t.Fatal(err)
	}
	text, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	return public, string(text)
}

// operator is the configuration of a server that believes an operator of ours, and the .creds of a user of its one account.
func operator(t *testing.T) (config, credentials string) {
	t.Helper()
	operatorKey, operatorSeed := keyPair(t, nkeys.CreateOperator)
	accountKey, accountSeed := keyPair(t, nkeys.CreateAccount)
	userKey, userSeed := user(t)
	sign := func(claims jwt.Claims, seed string) string {
		pair, err := nkeys.FromSeed([]byte(seed))
		if err != nil {
			t.Fatal(err)
		}
		token, err := claims.Encode(pair)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	operatorToken := sign(jwt.NewOperatorClaims(operatorKey), operatorSeed)
	accountToken := sign(jwt.NewAccountClaims(accountKey), operatorSeed)
	userClaims := jwt.NewUserClaims(userKey)
	userClaims.IssuerAccount = ""
	file, err := jwt.FormatUserConfig(sign(userClaims, accountSeed), []byte(userSeed))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("operator: %s\nresolver: MEMORY\nresolver_preload: {%s: %s}\n", operatorToken, accountKey, accountToken), string(file)
}

func TestTheServerKnowsUsByAnyOfItsWays(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	public, seed := user(t)
	_, stranger := user(t)
	trusting, credentials := operator(t)
	_, foreign := operator(t)
	cert, key := certificate(t)
	otherCert, otherKey := certificate(t)
	const password = "p@ss:w/#%?! geheim"
	verify := fmt.Sprintf("tls {cert_file: %q, key_file: %q, ca_file: %q, verify: true}", cert, key, cert)

	for name, c := range map[string]struct {
		config       string
		right, wrong NATSOptions
		says         string // of the wrong one
	}{
		"user and password": {
			`authorization {user: masks, password: "` + password + `"}`,
			NATSOptions{Username: "masks", Password: password}, NATSOptions{Username: "masks", Password: "falsch-geheim"}, "check the username and password",
		},
		"password file": {
			`authorization {user: masks, password: "` + password + `"}`,
			NATSOptions{Username: "masks", PasswordFile: file("password", password+"\n")}, NATSOptions{Username: "masks", PasswordFile: file("wrong", "falsch-geheim")}, "check the username",
		},
		"token": {
			"authorization {token: geheim}",
			NATSOptions{TokenFile: file("token", "geheim\n")}, NATSOptions{TokenFile: file("other", "falsch-geheim\n")}, "token",
		},
		"nkey": {
			"authorization {users: [{nkey: " + public + "}]}",
			NATSOptions{NkeyFile: file("seed", seed+"\n")}, NATSOptions{NkeyFile: file("stranger", stranger)}, "nkey",
		},
		"credentials": {
			trusting,
			NATSOptions{CredentialsFile: file("creds", credentials)}, NATSOptions{CredentialsFile: file("foreign", foreign)}, "credentials file",
		},
		"client certificate": {
			verify,
			NATSOptions{CAFile: cert, CertFile: cert, KeyFile: key}, NATSOptions{CAFile: cert, CertFile: otherCert, KeyFile: otherKey}, "nats.tls.cert_file",
		},
		"no client certificate": {
			verify,
			NATSOptions{CAFile: cert, CertFile: cert, KeyFile: key}, NATSOptions{CAFile: cert}, "nats.tls.cert_file",
		},
		"another authority": {
			fmt.Sprintf("tls {cert_file: %q, key_file: %q}", cert, key),
			NATSOptions{CAFile: cert}, NATSOptions{CAFile: otherCert}, "nats.tls.ca_file",
		},
		"no TLS there": {
			"",
			NATSOptions{}, NATSOptions{CAFile: cert}, "the server has no TLS",
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer(t, c.config)
			server.start()
			var log logged
			for _, o := range []*NATSOptions{&c.right, &c.wrong} {
				o.URL = "nats://" + server.address
				o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			}
			right := connect(t, c.right)
			until(t, "the connection", right.Connected)
			write(t, publisher(t, right, StreamOptions{}), Item{Result: result(1, small())})

			wrong := connect(t, c.wrong)
			defer func() {
				if t.Failed() {
					t.Log(log.String())
				}
			}()
			until(t, "the refusal", func() bool { return strings.Contains(log.String(), c.says) })
			if wrong.Connected() {
				t.Error("the server let the wrong one in")
			}
			if c.wrong.NkeyFile == "" && strings.HasPrefix(c.config, "authorization") { // the wrong one goes on trying: the operator may mend it on the server
				until(t, "several tries", func() bool { return strings.Count(server.log(), "authentication error") >= 3 })
				server.kill()
				server.reconfigure("")
				server.start()
				until(t, "the connection without credentials", wrong.Connected)
			}
			if n := strings.Count(log.String(), c.says); n != 1 && !strings.HasPrefix(name, "no client") && !strings.HasPrefix(name, "client") { // the network words those in several ways
				t.Errorf("it is said %d times:\n%s", n, log.String())
			}
			for _, secret := range []string{"geheim", seed, stranger, "BEGIN", "eyJ"} {
				if strings.Contains(log.String(), secret) {
					t.Errorf("the log holds %q: %s", secret, log.String())
				}
			}
		})
	}
}

func TestWhatTheServerForbidsIsSaidOnceAndCounted(t *testing.T) {
	server := newServer(t, `authorization {users: [{user: masks, password: a, permissions: {publish: "tracker.*.event", subscribe: "none"}}]}`)
	server.start()
	var log logged
	c := connect(t, NATSOptions{URL: "nats://" + server.address, Username: "masks", Password: "a", Log: slog.New(slog.NewTextHandler(&log, nil))})
	until(t, "the connection", c.Connected)
	n := publisher(t, c, StreamOptions{Frames: true})
	for i := range 20 {
		write(t, n, Item{Result: result(i, small(), small())})
	}
	until(t, "the refusals", func() bool { return c.Stats().Denied == 60 })
	if s := c.Stats(); s.Published != 0 || s.Failed+s.Down+s.TooLarge+s.Reconnects != 0 || !s.Connected {
		t.Errorf("stats %+v", s)
	}
	if text := log.String(); strings.Count(text, "server refuses messages") != 1 || !strings.Contains(text, "tracker.cam.object.1") {
		t.Errorf("the log: %s", text)
	}
	if _, err := c.Client().SubscribeSync("tracker.ctl._.list"); err != nil {
		t.Fatal(err)
	}
	until(t, "the refused subscription", func() bool { return strings.Contains(log.String(), "refuses a subscription") })
}

func TestFilesThatHoldNoCredentialsAreRefusedWithoutTheirText(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("geheim\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	account := filepath.Join(dir, "account")
	_, seed := keyPair(t, nkeys.CreateAccount)
	if err := os.WriteFile(account, []byte(seed), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o    NATSOptions
		says string
	}{
		"credentials":      {NATSOptions{CredentialsFile: path}, path + " is no .creds file"},
		"nkey":             {NATSOptions{NkeyFile: path}, path + " holds no user's seed"},
		"an account's":     {NATSOptions{NkeyFile: account}, account + " holds no user's seed"},
		"no nkey":          {NATSOptions{NkeyFile: "/no/such"}, "/no/such"},
		"no password":      {NATSOptions{Username: "u", PasswordFile: "/no/such"}, "NATS password"},
		"certificate":      {NATSOptions{CertFile: path, KeyFile: path}, "NATS client certificate " + path},
		"certificate gone": {NATSOptions{CertFile: "/no/such.pem", KeyFile: path}, "/no/such.pem"},
	} {
		c.o.URL, c.o.Log = "nats://127.0.0.1:1", quiet()
		_, err := Connect(c.o)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), seed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
