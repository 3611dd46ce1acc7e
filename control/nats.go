package control

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/micro"

	"maskstream/rle"
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
// and requests of one stream do not wait for another's. There is no queue group: with two trackers on a server, each answers.
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
	// pendingRequests is how many requests wait for one verb of one stream; further ones are dropped, and their clients time out.
	pendingRequests = 64
	// replyRoom is kept free of every reply for its headers, longestMessage is of an error's in bytes.
	replyRoom, longestMessage = 1024, 600
)

// Run answers requests until ctx ends.
func (n *NATS) Run(ctx context.Context) error {
	door := &natsDoor{NATS: n, ctx: ctx}
	defer door.close()
	for {
		names, changed := n.service.names()
		if err := door.open(names); err != nil {
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
	streams []string        // that have endpoints
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
		d.streams = append(d.streams, name)
	}
	return nil
}

// start begins the service with what belongs to no stream.
func (d *natsDoor) start() (err error) {
	d.service, err = micro.AddService(d.options.Connection.Client(), micro.Config{
		Name: "tracker", Version: semantic(d.options.Version), Description: "masks of the objects you point at: prompts and control",
		QueueGroupDisabled: true,
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) {
			d.options.Log.Warn("NATS control request lost", "subject", err.Subject, "error", err.Description)
		},
	})
	if err != nil {
		return err
	}
	return d.add("_", List)
}

func (d *natsDoor) add(stream string, verb Verb) error {
	name := stream
	if verb == List {
		name = "" // of no stream
	}
	return d.service.AddEndpoint(string(verb), micro.HandlerFunc(func(r micro.Request) { d.answer(r, verb, name) }),
		micro.WithEndpointSubject(d.options.Prefix+".ctl."+stream+"."+string(verb)),
		micro.WithEndpointMetadata(map[string]string{"stream": stream}),
		micro.WithEndpointPendingLimits(pendingRequests, pendingRequests*BodyLimit))
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
	d.service, d.streams = nil, nil
}

// answer does one request.
func (d *natsDoor) answer(r micro.Request, verb Verb, stream string) {
	reply, err := d.NATS.service.Call(d.ctx, verb, stream, r.Data())
	if err == nil {
		err = d.reply(r, reply)
	}
	if err != nil {
		e := toError(err)
		d.options.Log.Debug("request refused", "verb", verb, "stream", stream, "code", e.Code, "error", err)
		err = d.refuse(r, e)
	}
	if err != nil {
		d.options.Log.Debug("NATS reply did not go out", "verb", verb, "stream", stream, "error", err)
	}
}

// reply sends what a verb returned. The error is one that the client has not been told.
func (d *natsDoor) reply(r micro.Request, reply any) error {
	room := int(d.options.Connection.Client().MaxPayload()) - replyRoom
	var messages []rle.Message
	var err error
	if frame, ok := reply.(*rle.Frame); ok {
		messages, err = rle.EncodeFrame(frame, max(1, room))
	} else {
		var data []byte
		data, err = rle.Marshal(reply)
		messages = []rle.Message{{Data: data}}
	}
	if err != nil {
		return err
	}
	for _, m := range messages {
		if len(m.Data) > room {
			return Errorf(TooLarge, "the answer has %d bytes, the NATS server takes %d: ask over HTTP, or raise its max_payload", len(m.Data), room)
		}
	}
	for _, m := range messages {
		if err := r.Respond(m.Data, micro.WithHeaders(jsonHeader())); err != nil {
			d.options.Log.Debug("NATS reply did not go out", "subject", r.Subject(), "error", err)
			return nil // there is no way to tell
		}
	}
	return nil
}

// refuse sends an error. Its message may quote the request, so it is cut to what a header may be.
func (d *natsDoor) refuse(r micro.Request, e *Error) error {
	oneLine := strings.Join(strings.Fields(e.Message), " ")
	if len(oneLine) > longestMessage {
		oneLine = strings.ToValidUTF8(oneLine[:longestMessage], "") + "…"
	}
	body, err := rle.Marshal(errorBody{&Error{Code: e.Code, Message: oneLine}})
	if err != nil {
		return err
	}
	return r.Error(strconv.Itoa(e.Code.HTTPStatus()), oneLine, body, micro.WithHeaders(jsonHeader()))
}

func jsonHeader() micro.Headers { return micro.Headers{"Content-Type": []string{"application/json"}} }

// semanticVersion is what a micro service demands of its version (semver.org).
var semanticVersion = regexp.MustCompile(`^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// semantic is a version as a micro service takes it.
func semantic(version string) string {
	version = strings.TrimPrefix(version, "v")
	if semanticVersion.MatchString(version) {
		return version
	}
	build := strings.Trim(regexp.MustCompile(`[^0-9A-Za-z]+`).ReplaceAllString(version, "-"), "-")
	return "0.0.0+" + cmp.Or(build, "unknown")
}
