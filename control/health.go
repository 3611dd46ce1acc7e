package control

import "net/http"

// healthz says that the process serves requests.
func healthz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, struct {
		OK bool `json:"ok"`
	}{true})
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready   bool                   `json:"ready"`
	Down    []string               `json:"down"` // names of what is not ready
	Streams map[string]streamReady `json:"streams"`
	Parts   map[string]string      `json:"parts,omitempty"` // "ok", or what is wrong
}

type streamReady struct {
	State StreamState `json:"state"`
	Code  string      `json:"code,omitempty"`
	Error string      `json:"error,omitempty"`
}

// readyz says whether every stream is up, with 503 and their names where not. A file that was read to its end is not down.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	answer := readiness{Down: []string{}, Streams: map[string]streamReady{}, Parts: map[string]string{}}
	for _, status := range s.service.Statuses() {
		answer.Streams[status.Name] = streamReady{status.State, status.Code, status.Error}
		if finished := status.State == Ended && status.Error == ""; status.State != Up && !finished {
			answer.Down = append(answer.Down, status.Name)
		}
	}
	for _, check := range s.options.Checks {
		answer.Parts[check.Name] = "ok"
		if err := check.Ready(); err != nil {
			answer.Parts[check.Name] = err.Error()
			answer.Down = append(answer.Down, check.Name)
		}
	}
	answer.Ready = len(answer.Down) == 0
	code := http.StatusOK
	if !answer.Ready {
		code = http.StatusServiceUnavailable
	}
	writeJSON(w, code, answer)
}
