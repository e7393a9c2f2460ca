// Package wire carries what coordinator, workers and users say to each other
// over NATS: requests and answers in JSON, one subject for each kind with the name of who
// speaks behind it, so that a server lets each speak for itself
// alone. What is too large for a message goes in several.
package wire

import (
	"errors"
	"fmt"
	"strings"
	"sync"
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
	say := seldom(o.On)
	options := append([]nats.Option{
		nats.Name(o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(300 * time.Millisecond), nats.ReconnectJitter(200*time.Millisecond, 500*time.Millisecond),
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2), nats.RetryOnFailedConnect(o.Keep), nats.Timeout(3 * time.Second),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				say("cut off from the coordinator: " + err.Error())
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { say(because(err)) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { say("cannot connect to the coordinator: " + because(err)) }),
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
		if why := because(err); why != err.Error() { // it is there, and trying again does not help
			err = &RefusedError{why}
		}
		return nil, fmt.Errorf("connect to %s: %w", url, err)
	}
	return nc, nil
}

// because is why there is no connection, with what to do where that is known.
func because(err error) string {
	switch text := err.Error(); {
	case errors.Is(err, nats.ErrAuthorization), strings.Contains(strings.ToLower(text), "authorization violation"):
		return "it does not let this key in: a ticket is needed that it has made and not revoked (assay fleet key add NAME)"
	case strings.Contains(text, "x509:"):
		return text + ": use the ticket that the coordinator made (assay-worker also takes its certificate with --ca)"
	default:
		return text
	}
}

// again is how long the same thing is not said once more.
const again = time.Minute

// seldom says nothing twice within a while: attempts to connect are made all the time.
func seldom(say func(string)) func(string) {
	if say == nil {
		return func(string) {}
	}
	var mu sync.Mutex
	said := map[string]time.Time{}
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if at, before := said[text]; before && time.Since(at) < again {
			return
		}
		if len(said) > 100 {
			clear(said)
		}
		said[text] = time.Now()
		say(text)
	}
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
