package sink

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// StoredStream is the JetStream stream that takes results and events.
type StoredStream struct {
	Name     string
	Manage   bool          // create it where no stream takes the subjects
	MaxAge   time.Duration // of what it keeps, where it is created; 0: no limit
	MaxBytes int64         // the same
}

// duplicates is for how long a created stream recognises what it has already.
const duplicates = 2 * time.Minute

// storedSubjects are all that is stored. Status is not: it is worth nothing later.
func storedSubjects(prefix string) []string {
	return []string{prefix + ".*.object.*", prefix + ".*.frame", prefix + ".*.event"}
}

// ensure finds streams that take the subjects, or creates one.
func (o StoredStream) ensure(ctx context.Context, js jetstream.JetStream, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	var missing []string
	for _, subject := range storedSubjects(prefix) {
		_, err := js.StreamNameBySubject(ctx, subject)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			missing = append(missing, subject)
		case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
			return errors.New("the server has no JetStream for us: start it with -js, or leave nats.jetstream out")
		case err != nil:
			return fmt.Errorf("looking for a JetStream stream that takes %s: %w", subject, err)
		}
	}
	wanted := strings.Join(missing, " ")
	switch {
	case len(missing) == 0:
		return nil
	case !o.Manage:
		return fmt.Errorf("no JetStream stream takes %s: create one that does, or set nats.store.manage", wanted)
	}
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: o.Name, Subjects: missing, Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
		MaxAge: o.MaxAge, MaxBytes: limitOrNone(o.MaxBytes), Duplicates: shorter(duplicates, o.MaxAge),
	})
	switch {
	case noRoom(err):
		return fmt.Errorf("creating the JetStream stream %s: the server has not %d bytes of storage left for it: lower nats.store.max_bytes, or give the server more (max_file_store, or the account's limit): %w", o.Name, o.MaxBytes, err)
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
		return fmt.Errorf("the JetStream stream %s is there and does not take %s: add them to it, or name another as nats.store.name", o.Name, wanted)
	case err != nil:
		return fmt.Errorf("creating the JetStream stream %s: %w", o.Name, err)
	}
	return nil
}

// noRoom says whether the server, or our account there, may not store as much as a stream asks for.
func noRoom(err error) bool {
	const server, account = 10047, 10002 // JetStream's codes
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == server || api.ErrorCode == account)
}

func limitOrNone(bytes int64) int64 {
	if bytes == 0 {
		return -1
	}
	return bytes
}

// shorter keeps the window of duplicates within the age, as the server demands.
func shorter(window, age time.Duration) time.Duration {
	if age > 0 {
		return min(window, age)
	}
	return window
}
