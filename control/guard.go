package control

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
)

// policy is what a browser may do with our pages: nothing but what this server serves, and no inline script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; media-src 'self' blob:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard refuses what must not come through before any handler sees it: a foreign Host (a page that points its own name at
// this machine), a foreign Origin, and a request without the token.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		if !s.knownHost(r.Host) {
			writeError(w, Errorf(Forbidden, "host %.80q is not this server: use its address, or list the name's origin in http.allow_origins", r.Host))
			return
		}
		origin := r.Header.Get("Origin")
		allowed := slices.Contains(s.options.AllowOrigins, origin)
		switch {
		case allowed:
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", "Location, ETag")
			h.Set("Vary", "Origin")
			if r.Method == http.MethodOptions {
				h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
				h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		case len(s.options.AllowOrigins) == 0:
			h.Set("Cross-Origin-Resource-Policy", "same-origin")
		}
		if !allowed && foreign(r, origin) {
			writeError(w, Errorf(Forbidden, "requests from other pages are refused: list %.80q in http.allow_origins", origin))
			return
		}
		if needsToken(r) && !s.authorized(r) {
			h.Set("WWW-Authenticate", `Bearer realm="tracker"`)
			writeError(w, Errorf(Unauthorized, "a token is required: send it as Authorization: Bearer"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// foreign says whether a browser sent the request for another site's page. Programs send neither header.
func foreign(r *http.Request, origin string) bool {
	if origin != "" {
		u, err := url.Parse(origin)
		return err != nil || u.Host != r.Host
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate"
}

// knownHost takes addresses, which nobody can point elsewhere, and names that are known to be ours.
func (s *Server) knownHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	listen, _, _ := net.SplitHostPort(s.options.Listen)
	machine, err := os.Hostname()
	switch {
	case net.ParseIP(host) != nil, host == "localhost", host != "" && host == listen, err == nil && host == machine:
		return true
	}
	return slices.ContainsFunc(s.options.AllowOrigins, func(origin string) bool {
		u, err := url.Parse(origin)
		return err == nil && u.Hostname() == host
	})
}

// needsToken leaves the page's own files and the plain sign of life open: they tell nothing, and the page asks for the token.
func needsToken(r *http.Request) bool {
	return r.URL.Path != "/healthz" && !isPage(r.URL.Path)
}

func (s *Server) authorized(r *http.Request) bool {
	if s.options.Token == "" {
		return true
	}
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok = ok && strings.EqualFold(scheme, "Bearer"); !ok {
		token = ""
	}
	if !ok && r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/preview/") {
		token = r.URL.Query().Get("token") // an <img> element cannot send a header
	}
	// Digests have one length, so that the comparison does not tell the token's.
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.options.Token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
