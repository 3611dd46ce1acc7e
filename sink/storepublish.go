package sink

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"maskstream/internal/spool"
)

// sent is a record of the spool on its way: one message, or more where the server's max_payload asks for it.
type sent struct {
	record spool.Record
	acks   []jetstream.PubAckFuture
}

// publish sends what is in the spool, oldest first, until ctx ends (nil), something fails, or, where it is to drain, nothing is
// left. After a failure everything that was not acknowledged is sent again, in order: the server knows it by its id.
func (s *Store) publish(ctx context.Context, drain bool) error {
	if !s.connection.Connected() {
		return errDown
	}
	if err := s.options.Stream.ensure(ctx, s.js, s.options.Prefix); err != nil {
		return err
	}
	s.trouble.Store(new(error))
	s.spool.Rewind()
	var way []sent
	messages := 0 // of them
	for {
		for len(way) > 0 && len(way[0].acks) == 0 {
			if err := s.spool.Ack(way[0].record); err != nil {
				return err
			}
			way = way[1:]
		}
		changed := s.spool.Changed()
		for messages < onTheWay {
			record, ok, err := s.spool.Next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			acks, err := s.send(record)
			if err != nil {
				return err
			}
			way = append(way, sent{record, acks})
			messages += len(acks)
		}
		if len(way) == 0 && drain {
			return nil
		}
		var stored <-chan *jetstream.PubAck
		var refused <-chan error
		if len(way) > 0 {
			if len(way[0].acks) == 0 {
				continue
			}
			stored, refused = way[0].acks[0].Ok(), way[0].acks[0].Err()
		}
		if messages >= onTheWay {
			changed = nil
		}
		select {
		case <-ctx.Done():
			if drain {
				return ctx.Err()
			}
			return nil
		case <-changed:
			continue
		case ack := <-stored:
			s.stored.Add(1)
			if ack.Duplicate {
				s.again.Add(1)
			}
		case err := <-refused:
			if !s.never(err) {
				return s.explain(err, way[0].acks[0].Msg().Subject)
			}
		}
		way[0].acks = way[0].acks[1:]
		messages--
	}
}

// send publishes a record. One that cannot be sent whatever happens is counted and has no messages.
func (s *Store) send(record spool.Record) ([]jetstream.PubAckFuture, error) {
	l, err := unpack(record.Data)
	if err != nil {
		s.failed.Add(1)
		s.connection.trouble.tellOnce("what is in the spool is no message", err)
		return nil, nil
	}
	messages, err := l.split(s.connection.room())
	if err != nil {
		s.connection.tooLarge(err)
		return nil, nil
	}
	acks := make([]jetstream.PubAckFuture, len(messages))
	for i, m := range messages {
		s.connection.omitted(m)
		// No retries of the library's own: they would come after what follows.
		if acks[i], err = s.js.PublishMsgAsync(message(l.subject, m.ID, m.Data), jetstream.WithRetryAttempts(0)); err != nil {
			if errors.Is(err, nats.ErrReconnectBufExceeded) {
				err = errDown
			}
			return nil, err
		}
	}
	return acks, nil
}

// tooLong is JetStream's code for a message above the stream's own limit.
const tooLong = 10054

// never counts a message that the stream will not take whatever happens.
func (s *Store) never(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) || api.ErrorCode != tooLong {
		return false
	}
	s.failed.Add(1)
	s.connection.trouble.tellOnce("the JetStream stream does not take a message, which is lost: raise its max_msg_size", err)
	return true
}

func (s *Store) explain(err error, subject string) error {
	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		return fmt.Errorf("no JetStream stream takes %s: create one that covers %v, or set nats.store.manage", subject, storedSubjects(s.options.Prefix))
	case errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrConnectionReconnecting), !s.connection.Connected():
		return errDown
	}
	return err
}
