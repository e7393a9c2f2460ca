package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/coder/websocket"
)

// visitor stands for a browser: it connects as the page does, and answers each
// frame as the test says.
type visitor struct {
	answer func(header map[string]any, rest []byte) []byte // nil crashes
	opened chan *visitedPage
}

type visitedPage struct {
	gone   chan error
	closed chan struct{}
}

func (p *visitedPage) Gone() <-chan error { return p.gone }
func (p *visitedPage) About() About       { return About{Browser: "test", Version: "1"} }
func (p *visitedPage) PeakBytes() int64   { return 42 }
func (p *visitedPage) Close() error       { close(p.closed); return nil }

func (v *visitor) Open(ctx context.Context, _ Where, url string) (Page, error) {
	p := &visitedPage{gone: make(chan error, 1), closed: make(chan struct{})}
	c, _, err := websocket.Dial(ctx, strings.Replace(url, "http", "ws", 1)+"socket", nil) //nolint:bodyclose // the library closes it
	if err != nil {
		return nil, err
	}
	c.SetReadLimit(mostFrame)
	if err := c.Write(ctx, websocket.MessageText, []byte(`{"user_agent":"test"}`)); err != nil {
		return nil, err
	}
	go v.serve(c, p)
	if v.opened != nil {
		v.opened <- p
	}
	return p, nil
}

func (v *visitor) serve(c *websocket.Conn, p *visitedPage) {
	for {
		_, frame, err := c.Read(context.Background())
		if err != nil {
			return
		}
		header, rest, _ := cut(frame)
		var h map[string]any
		_ = json.Unmarshal(header, &h)
		out := v.answer(h, rest)
		if out == nil {
			p.gone <- errors.New("the renderer crashed")
			_ = c.CloseNow()
			return
		}
		_ = c.Write(context.Background(), websocket.MessageBinary, out)
	}
}

func host(t *testing.T, b Browsers) *Host {
	t.Helper()
	packages := t.TempDir()
	if err := os.WriteFile(filepath.Join(packages, "a.mjs"), []byte("export {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := Serve(b, Files{
		Page:    fstest.MapFS{"runner.html": {Data: []byte("<p>page</p>")}},
		Package: func(name string) (string, bool) { return packages, name == "known" || name == "@scope/known" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func post(t *testing.T, address string, body []byte) (int, []byte) {
	t.Helper()
	answer, err := http.Post(address, "", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, text
}

func call(t *testing.T, v *Visit, header string, rest string) (int, []byte) {
	t.Helper()
	return post(t, v.Address()+"/call", joined([]byte(header), []byte(rest)))
}

func asked(t *testing.T, v *Visit) {
	t.Helper()
	if status, text := post(t, v.Address()+"/page", nil); status != http.StatusOK || !bytes.Contains(text, []byte(`"browser":"test"`)) {
		t.Fatalf("page: %d %s", status, text)
	}
}

// echo answers with the header it got, and what followed it.
func echo(header map[string]any, rest []byte) []byte {
	b, _ := json.Marshal(header)
	return joined(b, rest)
}

func TestCallsGoToThePageAndBack(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(file, []byte("a graph"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := host(t, &visitor{answer: echo})
	v := h.Visit(t.Context(), Where{})
	asked(t, v)
	status, frame := call(t, v, `{"op":"create","files":{"model.onnx":"`+file+`"}}`, "tensors")
	header, rest, err := cut(frame)
	if status != http.StatusOK || err != nil || string(rest) != "tensors" {
		t.Fatalf("%d %q %v", status, frame, err)
	}
	var got struct{ Files map[string]string }
	if err := json.Unmarshal(header, &got); err != nil {
		t.Fatal(err)
	}
	served := got.Files["model.onnx"]
	if !strings.HasPrefix(served, "/pages/") || strings.Contains(string(header), file) {
		t.Fatalf("the page was told %s", header)
	}
	if status, text := get(t, h.address+served); status != http.StatusOK || text != "a graph" {
		t.Errorf("the served file: %d %q", status, text)
	}
}

func get(t *testing.T, address string) (int, string) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestEndsOfPages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		answer func(map[string]any, []byte) []byte
		header string
		status int
		kind   string
		says   string
	}{
		{"crash", func(map[string]any, []byte) []byte { return nil }, `{"op":"run"}`, http.StatusBadGateway, "gone", "the renderer crashed"},
		{"hang", func(map[string]any, []byte) []byte { time.Sleep(time.Minute); return nil }, `{"op":"create","limit_s":0.05}`,
			http.StatusGatewayTimeout, "timeout", `the call "create" within 50ms`},
		{"no frame", echo, `[`, http.StatusServiceUnavailable, "unopened", "not JSON"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := host(t, &visitor{answer: tc.answer})
			v := h.Visit(t.Context(), Where{})
			asked(t, v)
			status, text := call(t, v, tc.header, "")
			var got struct{ Kind, Error string }
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if status != tc.status || got.Kind != tc.kind || !strings.Contains(got.Error, tc.says) {
				t.Errorf("%d %+v, want %d %s: …%s…", status, got, tc.status, tc.kind, tc.says)
			}
			asked(t, v) // the visit gets another page, whatever became of the first
		})
	}
}

func TestAPageIsClosedWithItsVisit(t *testing.T) {
	t.Parallel()
	opened := make(chan *visitedPage, 2)
	h := host(t, &visitor{answer: echo, opened: opened})
	v := h.Visit(t.Context(), Where{})
	asked(t, v)
	first := <-opened
	asked(t, v)
	second := <-opened
	<-first.closed // a fresh page takes the place of the one before
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	<-second.closed
	if status, _ := call(t, v, `{"op":"run"}`, ""); status != http.StatusForbidden {
		t.Errorf("a closed visit answers with status %d", status)
	}
}

func TestOnlyWithTheSecret(t *testing.T) {
	t.Parallel()
	h := host(t, &visitor{answer: echo})
	v := h.Visit(t.Context(), Where{})
	asked(t, v)
	for _, path := range []string{"/visits/other/call", "/visits/other/page"} {
		if status, text := post(t, h.address+path, nil); status != http.StatusForbidden || !bytes.Contains(text, []byte("secret")) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	for _, path := range []string{"/pages/other/", "/pages/other/socket", "/pages/other/files/0/x"} {
		if status, _ := get(t, h.address+path); status != http.StatusForbidden {
			t.Errorf("%s: status %d", path, status)
		}
	}
	if status, _ := call(t, &Visit{host: h, token: v.token}, `{"op":"run"}`, ""); status != http.StatusOK {
		t.Errorf("with the secret: status %d", status)
	}
}

func TestAnotherSiteIsRefused(t *testing.T) {
	t.Parallel()
	h := host(t, &visitor{answer: echo})
	v := h.Visit(t.Context(), Where{})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.Address()+"/page", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("status %d", answer.StatusCode)
	}
}

func TestPackages(t *testing.T) {
	t.Parallel()
	h := host(t, &visitor{answer: echo})
	for path, want := range map[string]int{
		"/packages/known/a.mjs": http.StatusOK, "/packages/@scope/known/a.mjs": http.StatusOK,
		"/packages/other/a.mjs": http.StatusNotFound, "/packages/known/b.mjs": http.StatusNotFound, "/packages/known/": http.StatusNotFound,
		"/packages/known/../../etc/passwd": http.StatusNotFound, "/packages/known/%2e%2e/x": http.StatusNotFound,
	} {
		if status, _ := get(t, h.address+path); status != want {
			t.Errorf("%s: status %d, want %d", path, status, want)
		}
	}
}

func FuzzReaddressed(f *testing.F) {
	f.Add(joined([]byte(`{"op":"create","files":{"a":"/b"}}`), []byte("12345678")))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, frame []byte) {
		out, _, err := readdressed(frame, func(name, _ string) string { return name })
		if err != nil {
			return
		}
		_, before, _ := cut(frame)
		if _, after, err := cut(out); err != nil || !bytes.Equal(before, after) {
			t.Fatalf("%q became %q: %v", frame, out, err)
		}
	})
}

// TestLone: the program itself can call a page, with typed answers; what the
// page throws is told apart from a page that is gone.
func TestLone(t *testing.T) {
	t.Parallel()
	h := host(t, &visitor{answer: func(header map[string]any, _ []byte) []byte {
		switch header["op"] {
		case "throw":
			return joined([]byte(`{"error":{"name":"RangeError","message":"too long"}}`), nil)
		case "crash":
			return nil
		}
		text, _ := json.Marshal(header)
		return joined(text, nil)
	}})
	p, err := h.Lone(t.Context(), Where{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var told struct {
		Size  int               `json:"size"`
		Files map[string]string `json:"files"`
	}
	err = p.Ask(t.Context(), Call{Op: "echo", Files: map[string]string{"a": "/b"}, With: map[string]any{"size": 7}}, &told)
	if err != nil || told.Size != 7 || !strings.HasPrefix(told.Files["a"], "/pages/") || p.About().Browser != "test" {
		t.Errorf("%+v, %v", told, err)
	}
	var raised *RaisedError
	if err := p.Ask(t.Context(), Call{Op: "throw"}, nil); !errors.As(err, &raised) || raised.Message != "too long" || raised.Op != "throw" {
		t.Errorf("thrown: %v", err)
	}
	var gone *GoneError
	if err := p.Ask(t.Context(), Call{Op: "crash"}, nil); !errors.As(err, &gone) {
		t.Errorf("crashed: %v", err)
	}
}

// TestTuned: what was measured of a page's browser before goes to the child
// with the page, and a book that cannot be read is said.
func TestTuned(t *testing.T) {
	t.Parallel()
	h := host(t, &visitor{answer: func(map[string]any, []byte) []byte { return nil }})
	h.files.Tuned = func(about About) (any, error) { return []string{about.Browser, "128"}, nil }
	v := h.Visit(t.Context(), Where{})
	defer v.Close()
	if status, text := post(t, v.Address()+"/page", nil); status != http.StatusOK || !bytes.Contains(text, []byte(`"tuned":["test","128"]`)) {
		t.Errorf("page: %d %s", status, text)
	}
	h.files.Tuned = func(About) (any, error) { return nil, errors.New("schema 2") }
	if status, text := post(t, v.Address()+"/page", nil); status != http.StatusServiceUnavailable || !bytes.Contains(text, []byte("schema 2")) {
		t.Errorf("page: %d %s", status, text)
	}
}
