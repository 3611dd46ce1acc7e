package control

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// route is one line of the control table.
type route struct {
	method, path string
	verb         Verb
	body         func(*http.Request) ([]byte, error) // the verb's JSON
}

// controlTable is contract.md's, as HTTP sees it.
func controlTable() []route {
	const s = "/api/streams/{stream}"
	return []route{
		{http.MethodGet, "/api/streams", List, noBody},
		{http.MethodGet, s, Status, noBody},
		{http.MethodPut, s, Add, requestBody},
		{http.MethodDelete, s, Drop, noBody},
		{http.MethodPost, s + "/prompts", Prompt, requestBody},
		{http.MethodDelete, s + "/objects/{object}/prompts", Clear, pathBody},
		{http.MethodDelete, s + "/objects/{object}", Remove, pathBody},
		{http.MethodPost, s + "/reverse", Reverse, requestBody},
		{http.MethodPost, s + "/discover", Discover, requestBody},
		{http.MethodPost, s + "/reset", Reset, requestBody},
	}
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range controlTable() {
		mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, request *http.Request) { s.control(w, request, r) })
		methods[r.path] = append(methods[r.path], r.method)
	}
	mux.HandleFunc("GET /preview/{file}", s.preview)
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", s.metrics)
	for _, path := range []string{"/preview/{file}", "/healthz", "/readyz", "/metrics"} {
		methods[path] = []string{http.MethodGet}
	}
	maps.Copy(methods, s.whepRoutes(mux))
	for path, known := range methods {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(known, ", "))
			writeError(w, Errorf(MethodNotAllowed, "%s is not for this address: use %s", r.Method, strings.Join(known, " or ")))
		})
	}
	mux.Handle("GET /{$}", page())
	mux.Handle("GET /page/", page())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, Errorf(NotFound, "there is nothing at %.120q", r.URL.Path))
	})
	return mux
}

func (s *Server) control(w http.ResponseWriter, r *http.Request, line route) {
	r.Body = http.MaxBytesReader(w, r.Body, BodyLimit)
	body, err := line.body(r)
	var reply any
	if err == nil {
		reply, err = s.service.Call(r.Context(), line.verb, r.PathValue("stream"), body)
	}
	if err != nil {
		e := toError(err)
		level := slog.LevelDebug
		if cause := errors.Unwrap(e); cause != nil { // the answer sends people to the log
			level, err = slog.LevelError, cause
		}
		s.options.Log.Log(r.Context(), level, "request refused", "verb", line.verb, "stream", r.PathValue("stream"), "code", e.Code, "error", err)
		writeError(w, e)
		return
	}
	writeJSON(w, http.StatusOK, reply)
}

func noBody(*http.Request) ([]byte, error) { return nil, nil }

func requestBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, Errorf(TooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	case err != nil:
		return nil, Errorf(BadRequest, "the body did not arrive whole")
	}
	return body, nil
}

// pathBody makes the verb's JSON of the object in the path and the frame in the query.
func pathBody(r *http.Request) ([]byte, error) {
	object, err := strconv.Atoi(r.PathValue("object"))
	if err != nil {
		return nil, Errorf(BadRequest, "object %.40q: ids are numbers from 0 to %d", r.PathValue("object"), maxObject)
	}
	fields := map[string]any{"object": object}
	switch frame := r.URL.Query().Get("frame"); {
	case frame == "":
	case frame == "latest":
		fields["frame"] = frame
	default:
		n, err := strconv.Atoi(frame)
		if err != nil {
			return nil, Errorf(BadRequest, `frame %.40q is neither "latest" nor a number from 0`, frame)
		}
		fields["frame"] = n
	}
	return json.Marshal(fields)
}

func (s *Server) preview(w http.ResponseWriter, r *http.Request) {
	name, ok := strings.CutSuffix(r.PathValue("file"), ".mjpeg")
	if !ok {
		writeError(w, Errorf(NotFound, "there is nothing at %.120q: previews are at /preview/<stream>.mjpeg", r.URL.Path))
		return
	}
	handler, err := s.service.Preview(name)
	if err != nil {
		writeError(w, toError(err))
		return
	}
	handler.ServeHTTP(w, r)
}

func writeError(w http.ResponseWriter, e *Error) {
	writeJSON(w, e.Code.HTTPStatus(), errorBody{e})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Time", strconv.FormatInt(time.Now().UnixMilli(), 10)) // for the page, whose clock may be another
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // the client may have gone, and there is nobody else to tell
}
