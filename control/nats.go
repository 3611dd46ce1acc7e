package control

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/nats-io/nats.go/micro"

	"maskstream/sink"
)

// NATSOptions is where the NATS door is.
type NATSOptions struct {
	Connection *sink.Connection // borrowed; it may be down and come back
	Prefix     string           // first tokens of every subject
	Version    string           // of the program; what is no semantic version is shown as 0.0.0 with it as build
	Log        *slog.Logger
}

// NATS is the NATS door: the micro service "tracker" answers <prefix>.ctl.<stream>.<verb> and <prefix>.ctl._.list, and
// $SRV.PING, INFO and STATS as every micro service does. It has an endpoint for each verb of each stream, so INFO names the streams,
// and requests of one stream do not wait for another's. There is no queue group: with two trackers on a server, each answers for
// the streams that it has. What none of them has is not_found, see [stray], and one of them takes a stream that is to be added.
//
// A request never waits long for nothing: of one verb of one stream a few wait and are done in their order, and further ones are refused as
// busy. STATS therefore counts what came in and what was refused at once, and its "data" what became of the rest.
//
// A reply is the JSON of the HTTP door. An error has its code's number and its message in the service error headers, and the
// HTTP door's JSON as its body. A frame of results over the server's max_payload comes as several replies, split by objects, each with
// its part.
type NATS struct {
	service *Service
	options NATSOptions
}

// NewNATS is a door to service; Run opens it.
func NewNATS(service *Service, o NATSOptions) *NATS { return &NATS{service: service, options: o} }

const (
	// maxWaiting is how many requests of one verb of one stream wait for their turn.
	maxWaiting = 16
	// unhandled is how many requests may come in before the next is looked at, which is a matter of microseconds.
	unhandled = 4096
	// replyRoom is kept free of every reply for its headers, longestMessage is of an error's in bytes.
	replyRoom, longestMessage = 1024, 600
)

// Run answers requests until ctx ends.
func (n *NATS) Run(ctx context.Context) error {
	door := &natsDoor{NATS: n, ctx: ctx}
	defer door.lanes.end()
	defer door.close()
	stray, err := door.listen()
	if err != nil {
		return fmt.Errorf("NATS control service: %w", err)
	}
	defer stray.close()
	newcomers, err := door.welcome()
	if err != nil {
		return fmt.Errorf("NATS control service: %w", err)
	}
	defer newcomers.close()
	for {
		names, changed := n.service.names()
		if err := door.open(names); err != nil {
			return fmt.Errorf("NATS control service: %w", err)
		}
		if err := stray.own(names); err != nil {
			return fmt.Errorf("NATS control service: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// natsDoor is the door while it is open.
type natsDoor struct {
	*NATS
	ctx     context.Context // of Run, and so of the requests under way
	service micro.Service   // nil before the first open
	lanes   workers         // that answer requests

	mu      sync.Mutex // Run alone changes what it guards
	streams []string   // that have endpoints
}

// has says whether a stream has endpoints.
func (d *natsDoor) has(stream string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.streams, stream)
}

func (d *natsDoor) keep(streams []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streams = streams
}

// open gives every stream its endpoints. A micro service cannot lose endpoints, so without a stream that it had it starts anew.
func (d *natsDoor) open(streams []string) error {
	dropped := slices.ContainsFunc(d.streams, func(name string) bool { return !slices.Contains(streams, name) })
	if d.service == nil || dropped {
		d.close()
		if err := d.start(); err != nil {
			return err
		}
	}
	for _, name := range streams {
		if slices.Contains(d.streams, name) {
			continue
		}
		for _, verb := range streamVerbs() {
			if err := d.add(name, verb); err != nil {
				return err
			}
		}
		d.keep(append(slices.Clone(d.streams), name))
	}
	return nil
}

// start begins the service with what belongs to no stream.
func (d *natsDoor) start() (err error) {
	d.service, err = micro.AddService(d.options.Connection.Client(), micro.Config{
		Name: "tracker", Version: semantic(d.options.Version), Description: "masks of the objects you point at: prompts and control",
		QueueGroupDisabled: true,
		StatsHandler: func(e *micro.Endpoint) any {
			if handler, ok := e.Handler.(*endpoint); ok {
				return handler.lane.stats()
			}
			return nil
		},
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) {
			d.options.Log.Warn("NATS control request lost", "subject", err.Subject, "error", err.Description)
		},
	})
	if err != nil {
		return err
	}
	return d.add(noStream, List)
}

// noStream stands for the stream in the subjects of verbs that have none.
const noStream = "_"

func (d *natsDoor) add(stream string, verb Verb) error {
	e := &endpoint{natsDoor: d, verb: verb, stream: stream, lane: &lane{most: maxWaiting, workers: &d.lanes}}
	if verb == List {
		e.stream = ""
	}
	return d.service.AddEndpoint(string(verb), e,
		micro.WithEndpointSubject(d.options.Prefix+".ctl."+stream+"."+string(verb)),
		micro.WithEndpointMetadata(map[string]string{"stream": e.stream}),
		micro.WithEndpointPendingLimits(unhandled, unhandled*BodyLimit/16))
}

// streamVerbs are those that name a stream.
func streamVerbs() []Verb {
	return []Verb{Status, Prompt, Clear, Remove, Reverse, Discover, Reset, Add, Drop}
}

func (d *natsDoor) close() {
	if d.service == nil {
		return
	}
	if err := d.service.Stop(); err != nil {
		d.options.Log.Debug("NATS control service did not end well", "error", err) // the connection is down
	}
	d.service = nil
	d.keep(nil)
}
