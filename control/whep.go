package control

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"

	"maskstream/sink/rtc"
)

// Live lets browsers watch streams; sink/rtc's Server is one. It is called once for each request, from any goroutine. What its errors
// wrap, of rtc's sentinels, says which code they have.
type Live interface {
	// Open answers an offer. The session is a secret that the other two know the viewer by.
	Open(ctx context.Context, stream, offer string, query url.Values) (session, answer string, err error)
	// Trickle takes more of a client's addresses.
	Trickle(session, fragment string) error
	// End ends a session.
	End(session string) error
}

const (
	offerType    = "application/sdp"
	fragmentType = "application/trickle-ice-sdpfrag"
	offerLimit   = 64 << 10 // bytes of a body
)

// whep is one request of the WHEP protocol, without its answer.
type whep func(w http.ResponseWriter, r *http.Request) error

func (s *Server) whepRoutes(mux *http.ServeMux) (methods map[string][]string) {
	const stream, session = "/whep/{stream}", "/whep/{stream}/{session}"
	for pattern, handler := range map[string]whep{
		"POST " + stream: s.whepOpen, "OPTIONS " + stream: s.whepOptions,
		"PATCH " + session: s.whepTrickle, "DELETE " + session: s.whepEnd, "OPTIONS " + session: s.whepOptions,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := handler(w, r); err != nil {
				e := liveError(err)
				s.options.Log.Log(r.Context(), slog.LevelDebug, "preview refused", "stream", r.PathValue("stream"), "code", e.Code, "error", err)
				writeError(w, e)
			}
		})
	}
	return map[string][]string{stream: {http.MethodPost, http.MethodOptions}, session: {http.MethodPatch, http.MethodDelete, http.MethodOptions}}
}

func (s *Server) whepOpen(w http.ResponseWriter, r *http.Request) error {
	stream := r.PathValue("stream")
	if _, err := s.service.stream(stream); err != nil {
		return err
	}
	if s.options.Live == nil {
		return Errorf(NotSupported, "this service has no WebRTC preview: use /preview/%s.mjpeg", stream)
	}
	offer, err := typedBody(w, r, offerType)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	session, answer, err := s.options.Live.Open(ctx, stream, offer, r.URL.Query())
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", offerType)
	h.Set("Location", "/whep/"+stream+"/"+session)
	h.Set("ETag", `"`+session+`"`)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, answer) // a client that has gone does not connect, and is forgotten
	return nil
}

func (s *Server) whepTrickle(w http.ResponseWriter, r *http.Request) error {
	if s.options.Live == nil {
		return rtc.ErrNoSession
	}
	fragment, err := typedBody(w, r, fragmentType)
	if err != nil {
		return err
	}
	if err := s.options.Live.Trickle(r.PathValue("session"), fragment); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) whepEnd(w http.ResponseWriter, r *http.Request) error {
	if s.options.Live == nil {
		return rtc.ErrNoSession
	}
	if err := s.options.Live.End(r.PathValue("session")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) whepOptions(w http.ResponseWriter, r *http.Request) error {
	if r.PathValue("session") == "" {
		w.Header().Set("Accept-Post", offerType)
	} else {
		w.Header().Set("Accept-Patch", fragmentType)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// typedBody reads a body of the given media type.
func typedBody(w http.ResponseWriter, r *http.Request, want string) (string, error) {
	if got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || got != want {
		return "", Errorf(UnsupportedType, "the body is %.80q: send %s", r.Header.Get("Content-Type"), want)
	}
	r.Body = http.MaxBytesReader(w, r.Body, offerLimit)
	body, err := requestBody(r)
	return string(body), err
}

// liveError finds the code of an error of the preview.
func liveError(err error) *Error {
	code := Code("")
	switch {
	case errors.Is(err, rtc.ErrNoStream), errors.Is(err, rtc.ErrNoSession):
		code = NotFound
	case errors.Is(err, rtc.ErrFull), errors.Is(err, rtc.ErrClosed):
		code = Unavailable
	case errors.Is(err, rtc.ErrOffer):
		code = BadRequest
	case errors.Is(err, rtc.ErrNoCodec):
		code = NotAcceptable
	case errors.Is(err, rtc.ErrRestart):
		code = MethodNotAllowed
	default:
		return toError(err)
	}
	return Errorf(code, "%v", err)
}
