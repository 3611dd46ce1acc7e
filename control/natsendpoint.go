package control

import (
	"cmp"
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"maskstream/rle"
)

// endpoint is one verb of one stream.
type endpoint struct {
	*natsDoor
	verb   Verb
	stream string // empty for a verb of no stream
	lane   *lane
}

// Handle implements micro.Handler: it lets the request wait, or refuses it.
func (e *endpoint) Handle(r micro.Request) {
	body, reply := r.Data(), r.Reply()
	ctx, cancel := context.WithTimeout(e.ctx, e.verb.timeout()) // also of waiting: whoever asked does not wait longer
	err := checkLength(body)
	if err == nil {
		err = e.ctx.Err() // of a door that is being closed
	}
	if err == nil && !e.lane.add(func() error { defer cancel(); return e.answer(ctx, reply, body) }) {
		err = Errorf(Busy, "%d requests wait for %s of this stream already: try again in a moment", maxWaiting, e.verb)
	}
	if err == nil {
		return
	}
	cancel()
	if message, err := refusal(toError(err)); err != nil {
		e.options.Log.Debug("NATS reply did not go out", "error", err)
	} else if err := r.Error(message.Header.Get(micro.ErrorCodeHeader), message.Header.Get(micro.ErrorHeader), message.Data, micro.WithHeaders(jsonHeader())); err != nil {
		e.options.Log.Debug("NATS reply did not go out", "error", err) // it is r that counts refusals
	}
}

// answer does one request and returns what the client was told is wrong with it.
func (e *endpoint) answer(ctx context.Context, to string, body []byte) error {
	result, err := e.natsDoor.NATS.service.Call(ctx, e.verb, e.stream, body)
	if err == nil {
		err = e.reply(to, result)
	}
	if err != nil {
		refused := toError(err)
		e.options.Log.Debug("request refused", "verb", e.verb, "stream", e.stream, "code", refused.Code, "error", err)
		e.refuse(to, refused)
	}
	return err
}

// reply sends what a verb returned. The error is one that the client has not been told.
func (n *NATS) reply(to string, result any) error {
	room := int(n.options.Connection.Client().MaxPayload()) - replyRoom
	var messages []rle.Message
	var err error
	if frame, ok := result.(*rle.Frame); ok {
		messages, err = rle.EncodeFrame(frame, max(1, room))
	} else {
		var data []byte
		data, err = rle.Marshal(result)
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
		n.send(&nats.Msg{Subject: to, Header: nats.Header(jsonHeader()), Data: m.Data})
	}
	return nil
}

// refuse sends an error.
func (n *NATS) refuse(to string, e *Error) {
	message, err := refusal(e)
	if err != nil {
		n.options.Log.Debug("NATS reply did not go out", "error", err)
		return
	}
	message.Subject = to
	n.send(message)
}

// refusal is an error as a message. Its text may quote the request, so it is cut to what a header may be.
func refusal(e *Error) (*nats.Msg, error) {
	oneLine := strings.Join(strings.Fields(e.Message), " ")
	if len(oneLine) > longestMessage {
		oneLine = strings.ToValidUTF8(oneLine[:longestMessage], "") + "…"
	}
	body, err := rle.Marshal(errorBody{&Error{Code: e.Code, Message: oneLine}})
	header := nats.Header(jsonHeader())
	header[micro.ErrorHeader], header[micro.ErrorCodeHeader] = []string{oneLine}, []string{strconv.Itoa(e.Code.HTTPStatus())}
	return &nats.Msg{Header: header, Data: body}, err
}

// send answers whoever asked to be answered.
func (n *NATS) send(m *nats.Msg) {
	if m.Subject == "" {
		return
	}
	if err := n.options.Connection.Client().PublishMsg(m); err != nil {
		n.options.Log.Debug("NATS reply did not go out", "error", err) // there is no way to tell
	}
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
