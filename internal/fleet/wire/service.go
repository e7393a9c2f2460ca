package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"assay/internal/fleet"

	"github.com/nats-io/nats.go"
)

// Service answers for a coordinator.
type Service struct {
	nc     *nats.Conn
	large  *parts
	wg     sync.WaitGroup
	subs   []*nats.Subscription
	ctx    context.Context //nolint:containedctx // of all requests: Stop ends it
	cancel context.CancelFunc
	slots  chan struct{}
}

// atOnce is how many requests are answered at the same time: those that wait for
// the disk wait together, and are written together.
const atOnce = 512

// Serve answers requests until Stop.
func Serve(ctx context.Context, nc *nats.Conn, desk fleet.Desk, office fleet.Office) (*Service, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Service{nc: nc, large: newParts(defaults), ctx: ctx, cancel: cancel, slots: make(chan struct{}, atOnce)}
	err := errors.Join(
		on(s, Desk+"hello.*", desk.Hello), on(s, Desk+"beat.*", desk.Beat), on(s, Desk+"begin.*", desk.Begin),
		on(s, Desk+"finish.*", desk.Finish), on(s, Desk+"health.*", desk.Health),
		on(s, Office+"submit.*", office.Submit), on(s, Office+"answers.*", office.Answers), on(s, Office+"tasks.*", office.Tasks), on(s, Office+"steer.*", office.Steer),
		on(s, Office+"outliers.*", func(ctx context.Context, _ struct{}) ([]fleet.Outlier, error) { return office.Outliers(ctx) }),
		on(s, Office+"status.*", func(ctx context.Context, _ struct{}) (fleet.Status, error) { return office.Status(ctx) }),
	)
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nc.Flush()
}

// on answers the requests of one subject.
func on[In, Out any](s *Service, subject string, answer func(context.Context, In) (Out, error)) error {
	sub, err := s.nc.Subscribe(subject, func(m *nats.Msg) {
		if !meant(subject, m) {
			return
		}
		body, whole, err := s.large.add(sender(m.Subject), m)
		if err != nil {
			s.respond(m, func() (any, error) { return nil, err })
			return
		}
		if !whole {
			return
		}
		// Waiting for answers may take half a minute, and must not keep workers.
		if !strings.HasPrefix(subject, Office) {
			s.slots <- struct{}{}
		}
		s.wg.Go(func() {
			if !strings.HasPrefix(subject, Office) {
				defer func() { <-s.slots }()
			}
			s.respond(m, func() (any, error) {
				var in In
				if len(body) > 0 {
					if err := json.Unmarshal(body, &in); err != nil {
						return nil, err
					}
				}
				if err := speaksForItself(m.Subject, in); err != nil {
					return nil, err
				}
				return answer(s.ctx, in)
			})
		})
	})
	if err != nil {
		return err
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return err
	}
	s.subs = append(s.subs, sub)
	return nil
}

func (s *Service) respond(m *nats.Msg, answer func() (any, error)) {
	v, err := answer()
	var out []*nats.Msg
	if err == nil {
		out, err = split(m.Reply, v, limitOf(s.nc))
	}
	if err != nil {
		header := failed
		if _, ok := errors.AsType[errLater](err); ok {
			header = later
		}
		if s.ctx.Err() != nil { // whatever it is, it is no refusal
			header, err = later, errors.New("the coordinator was stopped meanwhile: ask again")
		}
		no := nats.NewMsg(m.Reply)
		no.Header.Set(header, strings.ReplaceAll(err.Error(), "\n", "; "))
		out = []*nats.Msg{no}
	}
	for _, m := range out {
		_ = s.nc.PublishMsg(m) // who asked asks again
	}
}

// meant reports whether a message was published to a subject, with an inbox to
// answer to. A stream's consumer may deliver anything anywhere, past the rights of who
// made it, and would leave its own subject in the message; and an answer goes out with the
// coordinator's rights: to a subject of JetStream's API it would be an order.
func meant(subject string, m *nats.Msg) bool {
	prefix, star := strings.CutSuffix(subject, "*")
	published := m.Subject == subject || star && strings.HasPrefix(m.Subject, prefix)
	return published && strings.HasPrefix(m.Reply, "_INBOX")
}

// speaksForItself refuses a worker that speaks in another one's name: the server
// guards the subject, and the subject names the worker.
func speaksForItself(subject string, in any) error {
	if !strings.HasPrefix(subject, Desk) {
		return nil
	}
	who, ok := in.(interface{ By() string })
	if !ok {
		return fmt.Errorf("%T names no worker", in)
	}
	if at := sender(subject); at != who.By() {
		return fmt.Errorf("worker %s speaks as %s", at, who.By())
	}
	return nil
}

// News tells workers to ask for orders.
func (s *Service) News() { _ = s.nc.Publish(News, nil) }

// Stop answers no more.
func (s *Service) Stop() {
	for _, sub := range s.subs {
		_ = sub.Unsubscribe()
	}
	s.cancel()
	s.wg.Wait()
	s.large.close()
}
