package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// webdriver is a session of WebDriver over HTTP. Its commands act on one
// current window, so that they go one after the other.
type webdriver struct {
	base    string // http://127.0.0.1:4444
	session string
	version string
	mu      sync.Mutex
}

// newSession asks for a session whose navigations do not wait for the page.
func newSession(ctx context.Context, base, browserName string) (*webdriver, error) {
	w := &webdriver{base: base}
	var made struct {
		ID           string `json:"sessionId"`
		Capabilities struct {
			Version string `json:"browserVersion"`
		} `json:"capabilities"`
	}
	want := map[string]any{"alwaysMatch": map[string]any{"browserName": browserName, "pageLoadStrategy": "none"}}
	if err := w.call(ctx, http.MethodPost, "/session", map[string]any{"capabilities": want}, &made); err != nil {
		return nil, err
	}
	if made.ID == "" {
		return nil, fmt.Errorf("the driver of %s gave no session", browserName)
	}
	w.session, w.version = "/session/"+made.ID, made.Capabilities.Version
	return w, nil
}

// ready reports whether the driver takes a new session.
func ready(ctx context.Context, base string) bool {
	var is struct {
		Ready bool `json:"ready"`
	}
	return (&webdriver{base: base}).call(ctx, http.MethodGet, "/status", nil, &is) == nil && is.Ready
}

// open opens an address in a window of its own and returns its handle.
func (w *webdriver) open(ctx context.Context, url string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var made struct {
		Handle string `json:"handle"`
	}
	if err := w.call(ctx, http.MethodPost, w.session+"/window/new", map[string]any{"type": "window"}, &made); err != nil {
		return "", err
	}
	if err := w.choose(ctx, made.Handle); err != nil {
		return "", err
	}
	return made.Handle, w.call(ctx, http.MethodPost, w.session+"/url", map[string]any{"url": url}, nil)
}

func (w *webdriver) close(ctx context.Context, handle string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.choose(ctx, handle); err != nil {
		return err
	}
	return w.call(ctx, http.MethodDelete, w.session+"/window", nil, nil)
}

func (w *webdriver) choose(ctx context.Context, handle string) error {
	return w.call(ctx, http.MethodPost, w.session+"/window", map[string]any{"handle": handle}, nil)
}

// windows lists the handles of the open windows.
func (w *webdriver) windows(ctx context.Context) ([]string, error) {
	var handles []string
	err := w.call(ctx, http.MethodGet, w.session+"/window/handles", nil, &handles)
	return handles, err
}

func (w *webdriver) quit(ctx context.Context) error {
	return w.call(ctx, http.MethodDelete, w.session, nil, nil)
}

// call does one command and decodes its value.
func (w *webdriver) call(ctx context.Context, method, path string, params, result any) error {
	var body bytes.Buffer
	if method == http.MethodPost {
		if err := json.NewEncoder(&body).Encode(params); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, w.base+path, &body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Value json.RawMessage `json:"value"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, response.Body, messageLimit)).Decode(&answer); err != nil {
		return fmt.Errorf("%s %s: the driver's answer is not JSON: %w", method, path, err)
	}
	if response.StatusCode != http.StatusOK {
		return refusal(path, answer.Value)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Value, result)
}

// refusal is a command that the driver did not carry out.
func refusal(path string, value json.RawMessage) error {
	var is struct{ Error, Message string }
	if json.Unmarshal(value, &is) != nil || is.Error == "" {
		is.Error = string(value)
	}
	return fmt.Errorf("%s: %s: %s", path, is.Error, is.Message)
}
