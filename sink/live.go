package sink

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"maskstream/rle"
)

// headerRoom is kept free of every message for its header: Content-Type and a Nats-Msg-Id of a stream name of 64 bytes and
// five numbers.
const headerRoom = 512

// liveOutlet publishes now or never.
type liveOutlet struct {
	connection *Connection
	base       string // <prefix>.<stream>.
}

func (l *liveOutlet) up(messages int) bool {
	if l.connection.Connected() {
		return true
	}
	l.connection.droppedDown.Add(int64(messages))
	return false
}

func (l *liveOutlet) room() int { return l.connection.room() }

// send publishes in order. Parts of one thing are worth nothing without each other, so the first that fails ends it.
func (l *liveOutlet) send(_ context.Context, kind string, messages []rle.Message, encoding error) bool {
	if encoding != nil {
		l.connection.tooLarge(encoding)
		return false
	}
	for i, m := range messages {
		l.connection.omitted(m)
		if err := l.connection.publish(message(l.base+kind, m.ID, m.Data)); err != nil {
			l.connection.droppedFailed.Add(int64(len(messages) - i - 1))
			return false
		}
	}
	return true
}

// message is one as it travels.
func message(subject, id string, data []byte) *nats.Msg {
	header := nats.Header{"Content-Type": []string{"application/json"}}
	if id != "" {
		header["Nats-Msg-Id"] = []string{id}
	}
	return &nats.Msg{Subject: subject, Header: header, Data: data}
}

// room is how many bytes of data one message may have; at least 1, since 0 would be no limit.
func (c *Connection) room() int { return max(1, c.limit()-headerRoom) }

// tooLarge counts a message that fits into no number of messages.
func (c *Connection) tooLarge(err error) {
	c.droppedLarge.Add(1)
	c.trouble.tellOnce("NATS message dropped", err)
}

// omitted counts the objects that a frame of results lacks; their masks are on the objects' own subjects.
func (c *Connection) omitted(m rle.Message) {
	if len(m.Omitted) > 0 {
		c.droppedLarge.Add(int64(len(m.Omitted)))
		c.trouble.tellOnce("NATS frame message without some objects", fmt.Errorf("objects %v: %w", m.Omitted, errTooLarge))
	}
}
