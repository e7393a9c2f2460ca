package browser

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// speaker is the browser's end of BiDi: it answers by the name of the command.
func speaker(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		for {
			_, data, err := conn.Read(context.Background())
			if err != nil {
				return
			}
			var command struct {
				ID     int    `json:"id"`
				Method string `json:"method"`
			}
			if err := json.Unmarshal(data, &command); err != nil {
				t.Error(err)
				return
			}
			for _, say := range spoken(command.Method, command.ID) {
				if say == "hang up" || conn.Write(context.Background(), websocket.MessageText, []byte(say)) != nil {
					return
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "http", "ws", 1)
}

func spoken(method string, id int) []string {
	number, _ := json.Marshal(id)
	return map[string][]string{
		"good":    {`{"type":"success","id":` + string(number) + `,"result":{"value":7}}`},
		"bad":     {`{"type":"error","id":` + string(number) + `,"error":"no such frame","message":"it is gone"}`},
		"garbage": {"no JSON", `{"type":"success","id":99999,"result":{}}`, `{"type":"success","id":` + string(number) + `,"result":{"value":8}}`},
		"event":   {`{"type":"event","method":"page.gone","params":{"context":"c"}}`, `{"type":"success","id":` + string(number) + `,"result":{}}`},
		"silence": {},
		"hang up": {"hang up"},
	}[method]
}

func TestBiDi(t *testing.T) {
	t.Parallel()
	events := make(chan string, 10)
	b, err := dialBiDi(t.Context(), speaker(t), func(method string, params json.RawMessage) { events <- method + string(params) })
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	var result struct{ Value int }
	for method, want := range map[string]int{"good": 7, "garbage": 8} {
		if err := b.call(t.Context(), method, nil, &result); err != nil || result.Value != want {
			t.Errorf("%s: %d, %v", method, result.Value, err)
		}
	}
	if err := b.call(t.Context(), "bad", nil, nil); err == nil || !strings.Contains(err.Error(), "no such frame: it is gone") {
		t.Errorf("bad: %v", err)
	}
	if err := b.call(t.Context(), "event", nil, nil); err != nil || <-events != `page.gone{"context":"c"}` {
		t.Errorf("event: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := b.call(ctx, "silence", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silence: %v", err)
	}
	if err := b.call(t.Context(), "good", nil, nil); err != nil {
		t.Errorf("after a call that was given up: %v", err)
	}
	for range 2 { // while it is lost, and after
		if err := b.call(t.Context(), "hang up", nil, nil); !errors.Is(err, errLost) {
			t.Errorf("hang up: %v", err)
		}
	}
	select {
	case <-b.gone:
	case <-time.After(10 * time.Second):
		t.Error("the end of the connection was not noticed")
	}
	if len(b.waiting) != 0 {
		t.Errorf("%d calls are still waited for", len(b.waiting))
	}
}
