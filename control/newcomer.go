package control

import (
	"context"
	"strings"

	"github.com/nats-io/nats.go"
)

// newcomers adds streams that no tracker has. Of several trackers that share a server and a prefix, one gets the request; where somebody
// has the stream, its own endpoint answers.
type newcomers struct {
	*natsDoor
	asked *nats.Subscription
	lane  lane
}

func (d *natsDoor) welcome() (*newcomers, error) {
	n := &newcomers{natsDoor: d, lane: lane{most: maxWaiting, workers: &d.lanes}}
	var err error
	n.asked, err = d.options.Connection.Client().QueueSubscribe(d.options.Prefix+".ctl.*."+string(Add), "add", n.handle)
	return n, err
}

func (n *newcomers) handle(m *nats.Msg) {
	name, _, _ := strings.Cut(strings.TrimPrefix(m.Subject, n.options.Prefix+".ctl."), ".")
	if m.Reply == "" || n.has(name) {
		return
	}
	waits := n.lane.add(func() error {
		// One that was added a moment ago may have no endpoint yet, and adding it again does nothing.
		if _, err := n.NATS.service.stream(name); err != nil && n.owner(name) == nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(n.ctx, Add.timeout())
		defer cancel()
		e := &endpoint{natsDoor: n.natsDoor, verb: Add, stream: name}
		return e.answer(ctx, m.Reply, m.Data)
	})
	if !waits {
		n.refuse(m.Reply, Errorf(Busy, "%d streams are being added already: try again in a moment", maxWaiting))
	}
}

func (n *newcomers) close() {
	if err := n.asked.Unsubscribe(); err != nil {
		n.options.Log.Debug("NATS control service did not end well", "error", err) // the connection is closed
	}
}
