package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/coder/websocket"
)

// bidi is a client of WebDriver BiDi: commands with an answer each, and events,
// over one websocket.
type bidi struct {
	conn  *websocket.Conn
	event func(method string, params json.RawMessage) // called one at a time
	gone  chan struct{}                               // closed when the connection ended

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply
}

// reply is a message of the browser: an answer, or an event.
type reply struct {
	ID      *int            `json:"id"`
	Type    string          `json:"type"`
	Result  json.RawMessage `json:"result"`
	Error   string          `json:"error"`
	Message string          `json:"message"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// messageLimit is more than any answer to what is asked here.
const messageLimit = 16 << 20

func dialBiDi(ctx context.Context, url string, event func(string, json.RawMessage)) (*bidi, error) {
	conn, _, err := websocket.Dial(ctx, url, nil) //nolint:bodyclose // the library closes it
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(messageLimit)
	b := &bidi{conn: conn, event: event, gone: make(chan struct{}), waiting: map[int]chan reply{}}
	go b.read() //nolint:gosec // the connection outlives the start, whose context that is
	return b, nil
}

// read hands messages on until the connection ends. A browser may be silent for
// as long as its pages run, so there is no limit here.
func (b *bidi) read() {
	defer close(b.gone)
	for {
		_, data, err := b.conn.Read(context.Background())
		if err != nil {
			return
		}
		var m reply
		if json.Unmarshal(data, &m) != nil {
			continue
		}
		if m.Type == "event" {
			b.event(m.Method, m.Params)
		} else if m.ID != nil {
			b.answer(*m.ID, m)
		}
	}
}

func (b *bidi) answer(id int, m reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := b.waiting[id]; ok {
		c <- m // has room for one
		delete(b.waiting, id)
	}
}

// errLost is the answer to what was asked of a browser that is gone.
var errLost = errors.New("the connection to the browser is lost")

// call sends a command and decodes its answer into result, unless that is nil.
func (b *bidi) call(ctx context.Context, method string, params, result any) error {
	c := make(chan reply, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.waiting[id] = c
	b.mu.Unlock()
	defer func() { b.mu.Lock(); delete(b.waiting, id); b.mu.Unlock() }()
	text, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		return err
	}
	// A write whose context ends closes the connection, so it has none of its own.
	if err := b.conn.Write(context.Background(), websocket.MessageText, text); err != nil {
		return errors.Join(errLost, err)
	}
	select {
	case m := <-c:
		return m.into(method, result)
	case <-b.gone:
		return errLost
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m reply) into(method string, result any) error {
	if m.Type == "error" {
		return fmt.Errorf("%s: %s: %s", method, m.Error, m.Message)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(m.Result, result)
}

func (b *bidi) close() { _ = b.conn.CloseNow() }
