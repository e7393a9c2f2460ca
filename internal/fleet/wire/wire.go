// Package wire carries what coordinator, workers and users say to each other
// over NATS: requests and answers in JSON, one subject for each kind with the name of who
// speaks behind it, so that a server lets each speak for itself
// alone. What is too large for a message goes in several.
package wire

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// The subjects. The name of who speaks stands behind those of the desk and of the office.
const (
	Root   = "assay.v1."
	Desk   = Root + "desk."
	Office = Root + "office."
	News   = Root + "news" // workers should ask for orders
)

// Nobody speaks at an office that asks for no keys, or is its coordinator.
const Nobody = "nobody"

// The headers of messages that have no body but a reason.
const (
	failed = "Assay-Error" // asking again does not help
	later  = "Assay-Later" // it may
)

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
