// Package wire carries what coordinator, workers and users say to each other
// over NATS: requests and answers in JSON, one subject for each kind, and for a
// worker's its name behind it, so that a server lets each worker speak for itself
// alone. What is too large for a message goes by the object store.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// The subjects. A worker's name stands behind those of the desk.
const (
	Root   = "assay.v1."
	Desk   = Root + "desk."
	Office = Root + "office."
	News   = Root + "news" // workers should ask for orders
	// Bucket holds what is too large for a message.
	Bucket = "assay-large"
)

// The headers of messages.
const (
	failed = "Assay-Error"
	object = "Assay-Object"
)

// mostInline is how many bytes travel in a message, where the server does not
// allow less.
const mostInline = 900 << 10

// keep is how long a large message may lie in the object store.
const keep = 24 * time.Hour

// Options are how a connection is made.
type Options struct {
	Name  string        // that the server shows
	Inbox string        // prefix of subjects for answers; "" is everybody's
	Wait  time.Duration // for one answer; 0 is ten seconds
	Nats  []nats.Option // keys, certificates
	Keep  bool          // go on when the server cannot be reached at first
	On    func(string)  // hears of cuts and reconnections; nil is nobody
}

// Connect connects to a server. A connection that breaks is made again, within
// seconds of the server's return.
func Connect(url string, o Options) (*nats.Conn, error) {
	say := o.On
	if say == nil {
		say = func(string) {}
	}
	options := append([]nats.Option{
		nats.Name(o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(300 * time.Millisecond), nats.ReconnectJitter(200*time.Millisecond, 500*time.Millisecond),
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2), nats.RetryOnFailedConnect(o.Keep), nats.Timeout(3 * time.Second),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				say("cut off from the coordinator: " + err.Error())
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { say(err.Error()) }),
		nats.ReconnectHandler(func(*nats.Conn) { say("connected to the coordinator again") }),
	}, o.Nats...)
	if o.Keep { // a key may be let in after its holder has tried
		options = append(options, nats.IgnoreAuthErrorAbort())
	}
	if o.Inbox != "" {
		options = append(options, nats.CustomInboxPrefix(o.Inbox))
	}
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", url, err)
	}
	return nc, nil
}

// store opens the object store, or makes it.
func store(ctx context.Context, nc *nats.Conn, create bool, replicas int) (jetstream.ObjectStore, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	if !create {
		return js.ObjectStore(ctx, Bucket)
	}
	return js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: Bucket, Description: "results of Assay that are larger than a message", TTL: keep, Storage: jetstream.FileStorage, Replicas: max(1, replicas),
	})
}

// pack puts a value into a message, or into the object store and its name into the
// message. open is asked for the store only then.
func pack(ctx context.Context, m *nats.Msg, v any, limit int, open func() (jetstream.ObjectStore, error)) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(body) <= limit {
		m.Data = body
		return nil
	}
	s, err := open()
	if err != nil {
		return fmt.Errorf("open the object store for %d bytes: %w", len(body), err)
	}
	name := nuid.Next()
	if _, err := s.PutBytes(ctx, name, body); err != nil {
		return fmt.Errorf("put %d bytes into the object store: %w", len(body), err)
	}
	m.Header.Set(object, name)
	return nil
}

// unpack reads a message into a value.
func unpack(ctx context.Context, m *nats.Msg, v any, open func() (jetstream.ObjectStore, error)) error {
	if why := m.Header.Get(failed); why != "" {
		return &RefusedError{why}
	}
	body := m.Data
	if name := m.Header.Get(object); name != "" {
		s, err := open()
		if err != nil {
			return err
		}
		if body, err = s.GetBytes(ctx, name); err != nil {
			return fmt.Errorf("get a large message: %w", err)
		}
		_ = s.Delete(ctx, name) // else it goes when its time is over
	}
	if len(body) == 0 {
		return nil
	}
	return json.Unmarshal(body, v)
}

// RefusedError is what the coordinator says against a request.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// Refused reports whether an error is the coordinator's own answer.
func Refused(err error) bool {
	_, ok := errors.AsType[*RefusedError](err)
	return ok
}

func limitOf(nc *nats.Conn) int {
	if most := int(nc.MaxPayload()) * 9 / 10; most > 0 {
		return min(mostInline, most)
	}
	return mostInline
}

// Refused says that asking again does not help.
func (e *RefusedError) Refused() bool { return true }
