package rle

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Message is what travels: Data is one line of JSON without the line's end, ID its Nats-Msg-Id.
type Message struct {
	ID      string
	Data    []byte
	Omitted []int // of a frame of results: ids of objects that fitted no message, see [EncodeFrame]
}

// Marshal is json.Marshal without the escapes for HTML: counts are full of '<' and '>', which those make six times as long.
// Both forms say the same.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// MarshalJSON writes times in UTC and an empty list where there are no objects.
func (f Frame) MarshalJSON() ([]byte, error) {
	type plain Frame // one without this method
	f.Objects, f.Received = orEmpty(f.Objects), f.Received.UTC()
	if f.Captured != nil {
		captured := f.Captured.UTC()
		f.Captured = &captured
	}
	return Marshal(plain(f))
}

// MarshalJSON writes an empty list where nothing remains.
func (r Removed) MarshalJSON() ([]byte, error) {
	type plain Removed
	r.Remaining = orEmpty(r.Remaining)
	return Marshal(plain(r))
}

// MarshalJSON writes the time in UTC.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	e.Time = e.Time.UTC()
	return Marshal(plain(e))
}

// MarshalJSON writes the time in UTC, an empty list where there are no objects, and an empty table where nothing was dropped.
func (s Status) MarshalJSON() ([]byte, error) {
	type plain Status
	s.Time, s.Objects = s.Time.UTC(), orEmpty(s.Objects)
	if s.Dropped == nil {
		s.Dropped = map[string]int64{}
	}
	return Marshal(plain(s))
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// EncodeEvent encodes e. The caller has taken its headers off limit (0: none); an event that is larger wraps [ErrLimit].
func EncodeEvent(e Event, limit int) (Message, error) {
	data, err := e.MarshalJSON()
	if err != nil {
		return Message{}, fmt.Errorf("event %d of %s: %w", e.N, e.Stream, err)
	}
	if !fits(len(data), limit) {
		return Message{}, fmt.Errorf("event %d of %s: %w: %d bytes, and %d are allowed", e.N, e.Stream, ErrLimit, len(data), limit)
	}
	return Message{ID: fmt.Sprintf("%s/%s/event/%d", e.Stream, e.Run, e.N), Data: data}, nil
}

// fits says whether size bytes may go in one message. A limit of 0 is none.
func fits(size, limit int) bool { return limit <= 0 || size <= limit }
