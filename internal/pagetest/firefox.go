package pagetest

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/browser"

	"github.com/coder/websocket"
)

// firefox is a tab of Firefox, by WebDriver BiDi.
type firefox struct {
	problems
	conn *websocket.Conn
	tab  string

	mu      sync.Mutex
	last    int
	waiting map[int]chan said
}

// said is a message of the browser: an answer, or an event.
type said struct {
	ID      int             `json:"id"`
	Type    string          `json:"type"`
	Result  json.RawMessage `json:"result"`
	Error   string          `json:"error"`
	Message string          `json:"message"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// mostMessage is more than a picture of a page.
const mostMessage = 32 << 20

// Firefox opens a tab in Firefox; where there is none the test is skipped.
func Firefox(t testing.TB, dark bool) Tab {
	t.Helper()
	for _, o := range found(t) {
		if o.Kind == browser.Firefox {
			return startFirefox(t, o.Path, dark)
		}
	}
	t.Skip("Firefox is not installed: pages were not tried in it (on Debian: apt install firefox-esr)")
	return nil
}

// settings keep it quiet, and choose the scheme.
func settings(dark bool) string {
	scheme := 1
	if dark {
		scheme = 0
	}
	return fmt.Sprintf(`user_pref("layout.css.prefers-color-scheme.content-override", %d);
user_pref("remote.active-protocols", 1);
user_pref("app.update.enabled", false);
user_pref("browser.aboutwelcome.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("services.settings.server", "");
user_pref("toolkit.telemetry.enabled", false);
`, scheme)
}

func startFirefox(t testing.TB, path string, dark bool) Tab {
	t.Helper()
	profile := t.TempDir()
	if err := os.WriteFile(filepath.Join(profile, "user.js"), []byte(settings(dark)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0")
	cmd.Env = append(os.Environ(), "MOZ_CRASHREPORTER_DISABLE=1", "HOME="+profile)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	f := &firefox{waiting: map[int]chan said{}}
	if err := f.greet(t.Context(), listening(out)); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return f
}

// listening is the address that Firefox prints.
func listening(out interface{ Read([]byte) (int, error) }) <-chan string {
	address := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if _, at, found := strings.Cut(lines.Text(), "WebDriver BiDi listening on "); found {
				address <- at
			}
		}
		close(address)
	}()
	return address
}

func (f *firefox) greet(ctx context.Context, address <-chan string) error {
	at, ok := <-address
	if !ok {
		return fmt.Errorf("it ended before it was ready")
	}
	var err error
	if f.conn, _, err = websocket.Dial(ctx, at+"/session", nil); err != nil {
		return err
	}
	f.conn.SetReadLimit(mostMessage)
	go f.read() //nolint:gosec // the connection outlives the start, whose context that is
	if err := f.call(ctx, "session.new", map[string]any{"capabilities": map[string]any{}}, nil); err != nil {
		return err
	}
	if err := f.call(ctx, "session.subscribe", map[string]any{"events": []string{"log.entryAdded", "network.beforeRequestSent"}}, nil); err != nil {
		return err
	}
	var made struct{ Context string }
	err = f.call(ctx, "browsingContext.create", map[string]any{"type": "tab"}, &made)
	f.tab = made.Context
	return err
}

func (f *firefox) read() {
	for {
		_, text, err := f.conn.Read(context.Background())
		if err != nil {
			return
		}
		var m said
		if json.Unmarshal(text, &m) != nil {
			continue
		}
		if m.Type == "event" {
			f.event(m)
			continue
		}
		f.mu.Lock()
		if c := f.waiting[m.ID]; c != nil {
			c <- m
			delete(f.waiting, m.ID)
		}
		f.mu.Unlock()
	}
}

func (f *firefox) event(m said) {
	var e struct {
		Level, Text, Context string
		Request              struct{ URL string }
	}
	if json.Unmarshal(m.Params, &e) != nil {
		return
	}
	switch m.Method {
	case "log.entryAdded":
		if e.Level == "error" || e.Level == "warn" {
			f.add("log: %s: %s", e.Level, e.Text)
		}
	case "network.beforeRequestSent":
		if e.Context == f.tab {
			f.asked(e.Request.URL)
		}
	}
}

// call sends a command and waits for its answer.
func (f *firefox) call(ctx context.Context, method string, params, into any) error {
	answer := make(chan said, 1)
	f.mu.Lock()
	f.last++
	id := f.last
	f.waiting[id] = answer
	f.mu.Unlock()
	text, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err != nil {
		return err
	}
	if err := f.conn.Write(ctx, websocket.MessageText, text); err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Type == "error" {
			return fmt.Errorf("%s: %s: %s", method, m.Error, m.Message)
		}
		if into == nil {
			return nil
		}
		return json.Unmarshal(m.Result, into)
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer within %v", method, patience)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Open goes to an address. The scheme was chosen when the browser was started.
func (f *firefox) Open(ctx context.Context, address string, v View) error {
	if err := f.call(ctx, "browsingContext.setViewport", map[string]any{"context": f.tab, "viewport": map[string]int{"width": v.Width, "height": v.Height}}, nil); err != nil {
		return err
	}
	for _, at := range []string{"about:blank", address} {
		if err := f.call(ctx, "browsingContext.navigate", map[string]any{"context": f.tab, "url": at, "wait": "complete"}, nil); err != nil {
			return err
		}
	}
	return nil
}

// Eval runs an expression, or statements, which a page's policy would not let eval run: their value must be a
// number, a text or a truth.
func (f *firefox) Eval(ctx context.Context, expression string) (json.RawMessage, error) {
	var r struct {
		Type             string
		Result           struct{ Value json.RawMessage }
		ExceptionDetails struct{ Text string }
	}
	statements := strings.Contains(expression, ";")
	text := expression
	if !statements {
		text = "Promise.resolve((() => { return " + wrapped(expression) + " })()).then((v) => JSON.stringify(v === undefined ? null : v))"
	}
	err := f.call(ctx, "script.evaluate", map[string]any{"expression": text, "awaitPromise": true, "target": map[string]string{"context": f.tab}}, &r)
	if err == nil && r.Type == "exception" {
		err = fmt.Errorf("in the page: %s", r.ExceptionDetails.Text)
	}
	if statements || err != nil {
		return r.Result.Value, err
	}
	var value string
	err = json.Unmarshal(r.Result.Value, &value)
	return json.RawMessage(value), err
}

// Type writes into what has the focus.
func (f *firefox) Type(ctx context.Context, text string) error {
	var keys []map[string]string
	for _, r := range text {
		keys = append(keys, map[string]string{"type": "keyDown", "value": string(r)}, map[string]string{"type": "keyUp", "value": string(r)})
	}
	return f.call(ctx, "input.performActions", map[string]any{"context": f.tab, "actions": []any{map[string]any{"type": "key", "id": "keys", "actions": keys}}}, nil)
}

// Shot is a picture.
func (f *firefox) Shot(ctx context.Context) ([]byte, error) {
	var r struct{ Data string }
	if err := f.call(ctx, "browsingContext.captureScreenshot", map[string]any{"context": f.tab}, &r); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(r.Data)
}
