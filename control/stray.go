package control

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// stray answers requests for which no endpoint is, so that whoever mistypes a name learns it at once and does not wait in vain.
//
// Several trackers may share a server and a prefix, and each sees all requests. So each also listens on <prefix>.ctl.<stream>
// for the streams that it has: whoever answers there has the request, too.
type stray struct {
	*natsDoor
	all   *nats.Subscription
	owned map[string]*nats.Subscription // by stream; only Run changes it
	asked chan struct{}                 // a place for each request that waits for an owner
}

// ownerWait is how long another tracker may take to say that it has a stream. That nobody is there the server says at once, unless
// somebody listens to everything.
const ownerWait = time.Second

// strayWaiting is how many requests may wait for that.
const strayWaiting = 1024

func (d *natsDoor) listen() (*stray, error) {
	s := &stray{natsDoor: d, owned: map[string]*nats.Subscription{}, asked: make(chan struct{}, strayWaiting)}
	var err error
	s.all, err = d.options.Connection.Client().Subscribe(d.options.Prefix+".ctl.*.*", s.handle)
	return s, err
}

// own says which streams are ours.
func (s *stray) own(streams []string) error {
	streams = append([]string{noStream}, streams...)
	for name, subscription := range s.owned {
		if !slices.Contains(streams, name) {
			s.end(subscription)
			delete(s.owned, name)
		}
	}
	for _, name := range streams {
		if s.owned[name] != nil {
			continue
		}
		subscription, err := s.options.Connection.Client().Subscribe(s.options.Prefix+".ctl."+name, func(m *nats.Msg) {
			s.send(&nats.Msg{Subject: m.Reply})
		})
		if err != nil {
			return err
		}
		s.owned[name] = subscription
	}
	return nil
}

// handle looks at every request that there is.
func (s *stray) handle(m *nats.Msg) {
	stream, verb, _ := strings.Cut(strings.TrimPrefix(m.Subject, s.options.Prefix+".ctl."), ".")
	known := slices.Contains(streamVerbs(), Verb(verb))
	if stream == noStream {
		known = Verb(verb) == List
	}
	_, err := s.NATS.service.stream(stream)
	ours := err == nil || stream == noStream
	switch {
	case m.Reply == "" || ours && known || stream != noStream && Verb(verb) == Add: // see [newcomers]
	case ours:
		s.refuse(m.Reply, Errorf(NotFound, "there is no verb %q of %q", verb, stream))
	default:
		refused := toError(err)
		select {
		case s.asked <- struct{}{}:
			began := s.lanes.start(func() {
				defer func() { <-s.asked }()
				s.unlessOwned(stream, m.Reply, refused)
			})
			if !began {
				<-s.asked
			}
		default:
			s.options.Log.Debug("NATS request for a stream that is not ours is left alone", "subject", m.Subject) // it may be somebody's
		}
	}
}

// unlessOwned refuses a request for a stream that nobody has.
func (s *stray) unlessOwned(stream, to string, refused *Error) {
	err := s.owner(stream)
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, context.DeadlineExceeded) {
		s.refuse(to, refused)
	}
}

// owner returns nil where a tracker has a stream. Nobody answers at all where somebody listens to everything, and is no tracker.
func (d *natsDoor) owner(stream string) error {
	ctx, cancel := context.WithTimeout(d.ctx, ownerWait)
	defer cancel()
	_, err := d.options.Connection.Client().RequestWithContext(ctx, d.options.Prefix+".ctl."+stream, nil)
	return err
}

func (s *stray) close() {
	s.end(s.all)
	for _, subscription := range s.owned {
		s.end(subscription)
	}
}

func (s *stray) end(subscription *nats.Subscription) {
	if err := subscription.Unsubscribe(); err != nil {
		s.options.Log.Debug("NATS control service did not end well", "error", err) // the connection is closed
	}
}
