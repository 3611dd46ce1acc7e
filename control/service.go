package control

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"maskstream/configs"
	"maskstream/frames"
)

// Verb is one thing a client can ask for.
type Verb string

const (
	List     Verb = "list"
	Status   Verb = "status"
	Prompt   Verb = "prompt"
	Clear    Verb = "clear"
	Remove   Verb = "remove"
	Reverse  Verb = "reverse"
	Discover Verb = "discover"
	Reset    Verb = "reset"
	Add      Verb = "add"
	Drop     Verb = "drop"
)

// callTimeout bounds a request: the stream may be in the middle of a long step, or stuck. Looking at a whole picture takes longer than
// any other step, and so does loading a model.
const (
	callTimeout = 10 * time.Second
	longTimeout = time.Minute
)

func (v Verb) timeout() time.Duration {
	switch v {
	case Discover, Add, Drop:
		return longTimeout
	}
	return callTimeout
}

// Service knows the streams by name and is the one table of verbs behind every door. Safe for concurrent use.
type Service struct {
	mu      sync.RWMutex
	streams map[string]Stream
	changed chan struct{} // closed and replaced where streams are added and dropped
	keeper  Keeper        // nil: streams are neither added nor dropped by request
}

// Keeper runs streams for whoever asks to add and drop them. Its methods are called from any goroutine, and add and drop the stream
// here as well. Errors that are an *Error reach the client as they are, others as "internal".
type Keeper interface {
	// Add runs a stream. One of the same name that runs with another configuration is restarted, and one that runs with this
	// configuration is left alone. The configuration is valid.
	Add(ctx context.Context, stream configs.Stream) error
	// Drop ends a stream and waits until nothing of it is left.
	Drop(ctx context.Context, name string) error
}

// NewService has no streams.
func NewService() *Service {
	return &Service{streams: map[string]Stream{}, changed: make(chan struct{})}
}

// Keep says who adds and drops streams by request. Before the doors open.
func (s *Service) Keep(keeper Keeper) { s.keeper = keeper }

// Put makes a stream known, in the place of one that had its name.
func (s *Service) Put(name string, stream Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[name] = stream
	s.tell()
}

// Add makes a stream known; a name is used once.
func (s *Service) Add(name string, stream Stream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.streams[name]; taken {
		return Errorf(Conflict, "stream %q exists already", name)
	}
	s.streams[name] = stream
	s.tell()
	return nil
}

// Drop forgets a stream. Ending it is its owner's part.
func (s *Service) Drop(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.streams[name]; !known {
		return Errorf(NotFound, "there is no stream %q", name)
	}
	delete(s.streams, name)
	s.tell()
	return nil
}

// tell wakes who waits for a change. The service is locked.
func (s *Service) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// names are the streams' in order, and changed is closed when they change.
func (s *Service) names() (names []string, changed <-chan struct{}) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.streams)), s.changed
}

func (s *Service) stream(name string) (Stream, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	stream, ok := s.streams[name]
	if !ok {
		return nil, Errorf(NotFound, "there is no stream %q: GET /api/streams lists them", name)
	}
	return stream, nil
}

// Statuses is every stream's status in the order of names.
func (s *Service) Statuses() []StreamStatus {
	s.mu.RLock()
	streams := make(map[string]Stream, len(s.streams))
	for name, stream := range s.streams {
		streams[name] = stream
	}
	s.mu.RUnlock()
	all := make([]StreamStatus, 0, len(streams))
	for name, stream := range streams {
		all = append(all, describe(name, stream))
	}
	slices.SortFunc(all, func(a, b StreamStatus) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func describe(name string, stream Stream) StreamStatus {
	status := stream.Status()
	status.Name = name
	status.Objects = append([]ObjectStatus{}, status.Objects...) // never null, and not the stream's own
	for i := range status.Objects {
		c := frames.Colour(status.Objects[i].ID)
		status.Objects[i].Color = fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
	}
	return status
}

// Preview is the stream's picture with masks.
func (s *Service) Preview(name string) (http.Handler, error) {
	stream, err := s.stream(name)
	if err != nil {
		return nil, err
	}
	if preview := stream.Preview(); preview != nil {
		return preview, nil
	}
	return nil, Errorf(NotFound, "stream %q has no preview", name)
}

// Call does one verb. body is the JSON of contract.md's table, empty where the verb takes none; reply marshals to JSON.
// Every error is an *Error.
func (s *Service) Call(ctx context.Context, verb Verb, name string, body []byte) (reply any, err error) {
	ctx, cancel := context.WithTimeout(ctx, verb.timeout())
	defer cancel()
	if reply, err = s.call(ctx, verb, name, body); err != nil {
		return nil, toError(err)
	}
	return reply, nil
}

func (s *Service) call(ctx context.Context, verb Verb, name string, body []byte) (any, error) {
	switch verb {
	case List:
		return struct {
			Streams []StreamStatus `json:"streams"`
		}{s.Statuses()}, decodeNothing(body)
	case Add, Drop:
		return s.keep(ctx, verb, name, body)
	}
	stream, err := s.stream(name)
	if err != nil {
		return nil, err
	}
	switch verb {
	case Status:
		return describe(name, stream), decodeNothing(body)
	case Prompt:
		request, err := decodePrompt(body, stream.Status().Size)
		if err != nil {
			return nil, err
		}
		return stream.Prompt(ctx, request)
	case Clear:
		object, frame, err := decodeObjectFrame(body)
		if err != nil {
			return nil, err
		}
		return stream.Clear(ctx, object, frame)
	case Remove:
		object, err := decodeObject(body)
		if err != nil {
			return nil, err
		}
		return struct {
			Removed int `json:"removed"`
		}{object}, stream.Remove(ctx, object)
	case Reset:
		if err := decodeNothing(body); err != nil {
			return nil, err
		}
		return struct{}{}, stream.Reset(ctx)
	case Reverse:
		request, err := decodeReverse(body)
		if err != nil {
			return nil, err
		}
		return struct {
			Accepted bool `json:"accepted"`
		}{true}, stream.Reverse(ctx, request)
	case Discover:
		options, err := decodeDiscover(body)
		if err != nil {
			return nil, err
		}
		return stream.Discover(ctx, options)
	case List, Add, Drop: // above
	}
	return nil, Errorf(NotFound, "there is no verb %q", fmt.Sprint(verb))
}

// keep adds or drops a stream.
func (s *Service) keep(ctx context.Context, verb Verb, name string, body []byte) (any, error) {
	if s.keeper == nil {
		return nil, Errorf(NotSupported, "streams are not added or dropped while the service runs: edit its configuration and restart it")
	}
	if verb == Drop {
		if err := decodeNothing(body); err != nil {
			return nil, err
		}
		return struct {
			Dropped string `json:"dropped"`
		}{name}, s.keeper.Drop(ctx, name)
	}
	config, err := decodeStream(name, body)
	if err != nil {
		return nil, err
	}
	if err := s.keeper.Add(ctx, config); err != nil {
		return nil, err
	}
	stream, err := s.stream(name)
	if err != nil { // dropped again
		return nil, err
	}
	return describe(name, stream), nil
}
