package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// desk answers as the W3C's WebDriver says that a driver does, and as
// safaridriver's manual shows; nobody here has a Mac to record one.
type desk struct {
	mu      sync.Mutex
	windows []string
	current string
	said    []string // the commands, in order
	refuse  string   // the session, with this message
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var params map[string]any
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&params); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	command := r.Method + " " + r.URL.Path
	d.said = append(d.said, command)
	status, value := http.StatusOK, any(nil)
	switch command {
	case "GET /status":
		value = map[string]any{"ready": true, "message": "No sessions are active."}
	case "POST /session":
		value = map[string]any{"sessionId": "S1", "capabilities": map[string]any{"browserName": "Safari", "browserVersion": "26.1"}}
		if d.refuse != "" {
			status, value = http.StatusInternalServerError, map[string]any{"error": "session not created", "message": d.refuse}
		}
	case "POST /session/S1/window/new":
		d.windows = append(d.windows, fmt.Sprintf("page-%d", len(d.said)))
		value = map[string]any{"handle": d.windows[len(d.windows)-1], "type": "window"}
	case "POST /session/S1/window":
		d.current = params["handle"].(string)
	case "POST /session/S1/url":
		d.said[len(d.said)-1] += " " + params["url"].(string)
	case "GET /session/S1/window/handles":
		value = d.windows
	case "DELETE /session/S1/window":
		d.windows = slices.DeleteFunc(d.windows, func(h string) bool { return h == d.current })
		value = d.windows
	case "DELETE /session/S1":
	default:
		status, value = http.StatusNotFound, map[string]any{"error": "unknown command", "message": command}
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"value": value})
}

func (d *desk) lose(handle string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.windows = slices.DeleteFunc(d.windows, func(h string) bool { return h == handle })
}

func (d *desk) heard(command string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.said, command)
}

func TestSafariPages(t *testing.T) {
	t.Parallel()
	d := &desk{}
	server := httptest.NewServer(d)
	defer server.Close()
	s, err := greetSafari(t.Context(), server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	if s.version() != "26.1" {
		t.Errorf("version %q", s.version())
	}
	gone := make(chan error, 1)
	one, err := s.open(t.Context(), "http://127.0.0.1/one", func(error) { t.Error("the closed page was told that it is gone") })
	if err != nil {
		t.Fatal(err)
	}
	two, err := s.open(t.Context(), "http://127.0.0.1/two", func(err error) { gone <- err })
	if err != nil {
		t.Fatal(err)
	}
	if !d.heard("POST /session/S1/url http://127.0.0.1/two") {
		t.Error("the second page was not navigated")
	}
	if err := one.close(t.Context()); err != nil {
		t.Error(err)
	}
	d.lose(two.(safariTab).handle)
	select {
	case why := <-gone:
		if !strings.Contains(why.Error(), "crashed") {
			t.Error(why)
		}
	case <-time.After(10 * time.Second):
		t.Error("a lost page was not noticed")
	}
	if err := two.close(t.Context()); err != nil {
		t.Errorf("closing what is lost: %v", err)
	}
}

func TestSafariIsLost(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&desk{})
	s, err := greetSafari(t.Context(), server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	server.CloseClientConnections()
	server.Close()
	select {
	case <-s.lost():
	case <-time.After(10 * time.Second):
		t.Error("a driver that is gone was not noticed")
	}
}

func TestSafariRefuses(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&desk{refuse: "You must enable 'Allow remote automation' in the Developer section of Safari Settings"})
	defer server.Close()
	if _, err := greetSafari(t.Context(), server.URL, nil); err == nil || !strings.Contains(err.Error(), "Allow remote automation") {
		t.Errorf("got %v", err)
	}
	died := make(chan struct{})
	close(died)
	if _, err := greetSafari(t.Context(), "http://127.0.0.1:1", died); err == nil || !strings.Contains(err.Error(), "before it was ready") {
		t.Errorf("got %v", err)
	}
}
