package session

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"assay/internal/cell"
	"assay/internal/lab"
	"assay/internal/pages"
	"assay/internal/platform"
	"assay/internal/runner"
)

// Holder is a child that holds models open and answers requests to them. It ends
// with Close, or with the session.
type Holder struct {
	PID int

	line   net.Conn
	cancel context.CancelFunc
	ended  chan struct{} // closed when the child is gone
	exit   runner.Exit
	failed error

	mu sync.Mutex // one question at a time
}

// mostAnswered bounds one answer of a child.
const mostAnswered = 64 << 20

// connectLimit is how long a child may take to connect: it imports first.
const connectLimit = 2 * time.Minute

// Hold starts a child that holds models, with so many threads.
func (s *Session) Hold(ctx context.Context, threads int) (*Holder, error) {
	r, err := s.runner(ctx, false)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a child: %w", err)
	}
	defer listener.Close()
	secret := rand.Text()
	life, cancel := context.WithCancel(context.Background())
	h := &Holder{cancel: cancel, ended: make(chan struct{})}
	started := make(chan int, 1)
	job := runner.Job{Kind: runner.HoldJob, Threads: threads, Options: map[string]any{"address": listener.Addr().String(), "secret": secret, "exports": s.exports()}}
	go func() {
		defer close(h.ended)
		h.exit, h.failed = r.Run(life, job, func(e runner.Event) {
			if b, ok := e.(runner.Started); ok {
				select {
				case started <- b.PID:
				default:
				}
			}
		})
	}()
	if err := h.connect(ctx, listener, secret); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.PID = <-started // it was said before the child could connect
	return h, nil
}

// connect waits for the child. Whoever does not know the secret is turned away.
func (h *Holder) connect(ctx context.Context, listener net.Listener, secret string) error {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	limit := time.AfterFunc(connectLimit, func() { _ = listener.Close() })
	defer limit.Stop()
	gone := make(chan struct{})
	defer close(gone)
	go func() {
		select {
		case <-h.ended:
			_ = listener.Close()
		case <-gone:
		}
	}()
	for {
		line, err := listener.Accept()
		if err != nil {
			return errors.Join(context.Cause(ctx), errors.New("the child did not connect"), h.why())
		}
		var said struct{ Secret string }
		_ = line.SetDeadline(time.Now().Add(10 * time.Second))
		if err := receive(line, &said); err != nil || subtle.ConstantTimeCompare([]byte(said.Secret), []byte(secret)) != 1 {
			_ = line.Close()
			continue
		}
		_ = line.SetDeadline(time.Time{})
		h.line = line
		return nil
	}
}

// why is how the child ended, if it has.
func (h *Holder) why() error {
	select {
	case <-h.ended:
	case <-time.After(2 * time.Second):
		return nil
	}
	if h.failed != nil {
		return h.failed
	}
	last := h.exit.Log
	if len(last) > 500 {
		last = last[len(last)-500:]
	}
	return fmt.Errorf("the child %s: %s", h.exit, last)
}

// Held is a child's answer: a value, or the kind of its error.
type Held struct {
	Value       json.RawMessage `json:"value"`
	Kind        string          `json:"kind"`
	Error       string          `json:"error"`
	DeviceBytes *int64          `json:"device_bytes"`
}

// Ask asks the child. When ctx ends first, the child is ended: nobody could tell
// later answers from this one's.
func (h *Holder) Ask(ctx context.Context, question any) (Held, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { _ = h.line.Close() })
	defer stop()
	var answer Held
	err := send(h.line, question)
	if err == nil {
		err = receive(h.line, &answer)
	}
	if err != nil {
		h.cancel()
		return answer, errors.Join(context.Cause(ctx), fmt.Errorf("the model's process ended: %w", errors.Join(err, h.why())))
	}
	return answer, nil
}

// Close ends the child and waits until it is gone.
func (h *Holder) Close() error {
	if h.line != nil {
		_ = h.line.Close() // which the child takes as the end
		select {
		case <-h.ended:
		case <-time.After(2 * time.Second): // it computes
		}
	}
	h.cancel()
	<-h.ended
	return nil
}

func send(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	_, err = w.Write(append(frame, body...))
	return err
}

func receive(r io.Reader, into any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > mostAnswered {
		return fmt.Errorf("an answer of %d bytes is too long", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// Recipe is a cell's recipe with its weights, on this disk. say hears of downloads.
func (s *Session) Recipe(ctx context.Context, c cell.Cell, say func(string)) (lab.Recipe, error) {
	r, err := s.runner(ctx, false)
	if err != nil {
		return lab.Recipe{}, err
	}
	return s.weighted(r, say).Recipe(ctx, c)
}

// Visit opens the way to a page where a target says, for a child that the caller
// started. Where no browser has it, missing says why. The caller closes the visit.
func (s *Session) Visit(ctx context.Context, t platform.Target) (v *pages.Visit, missing string, err error) {
	w, err := s.browsers.Get(ctx)
	if err != nil {
		return nil, "", err
	}
	if here := w.presence(t); !here.Present {
		return nil, here.Reason, nil
	}
	return w.host.Visit(context.WithoutCancel(ctx), pages.Where{Target: t}), "", nil
}

// Share waits until something that is not timed may run here, and keeps what is timed
// waiting until what it returns is called: in this program and in others.
func (s *Session) Share(ctx context.Context) (release func(), err error) {
	leave, err := s.admission.Share(ctx)
	if err != nil {
		return nil, err
	}
	loud, err := lab.Hush(os.TempDir())(ctx, false, func(string) {})
	if err != nil {
		leave()
		return nil, err
	}
	return func() { loud(); leave() }, nil
}
