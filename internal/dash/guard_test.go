package dash

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// TestGuards: each kind of attack is refused, and the same request without what makes
// it one is answered.
func TestGuards(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	own := strings.TrimPrefix(x.url, "http://")
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		want                     int
	}{
		{"plain", "GET", "/v1/overview", "", nil, 200},
		{"own page", "GET", "/v1/overview", "", []string{"Origin", x.url, "Sec-Fetch-Site", "same-origin"}, 200},
		{"foreign origin reads", "GET", "/v1/overview", "", []string{"Origin", "https://evil.example"}, 403},
		{"foreign page without an origin", "GET", "/v1/overview", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"another port of this host", "GET", "/v1/overview", "", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"a link to the API", "GET", "/v1/overview", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 403},
		{"a link to a page", "GET", "/matrix", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		{"a frame of a page", "GET", "/matrix", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		{"foreign origin writes", "POST", "/v1/query", `{"sql":"select 1"}`, []string{"Origin", "https://evil.example"}, 403},
		{"null origin writes", "POST", "/v1/query", `{"sql":"select 1"}`, []string{"Origin", "null"}, 403},
		{"own page writes", "POST", "/v1/query", `{"sql":"select 1"}`, []string{"Origin", x.url}, 200},
		{"a form writes", "POST", "/v1/query", `{"sql":"select 1"}`, []string{"Content-Type", "text/plain"}, 415},
		{"rebound name", "GET", "/v1/overview", "", []string{"Host", "evil.example"}, 403},
		{"rebound name with its own origin", "GET", "/v1/overview", "", []string{"Host", "evil.example:80", "Origin", "http://evil.example:80"}, 403},
		{"a link that writes", "POST", "/matrix", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 403},
		{"a form cancels", "POST", "/v1/runs/b/cancel", "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"a form without a type retries", "POST", "/v1/runs/b/retry", "a=b", []string{"Content-Type", ""}, 415},
		{"localhost", "GET", "/v1/overview", "", []string{"Host", "localhost:" + own[strings.LastIndex(own, ":")+1:]}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := &tester{x.Server, x.url, x.past, x.lab, x.pool, t}
			x.must(c.want, c.method, c.path, c.body, c.headers...)
		})
	}
}

// TestOneOrigin: several origins are nobody's, though each of them is ours.
func TestOneOrigin(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	for n, want := range map[int]int{0: 200, 1: 200, 2: 403} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, x.url+"/v1/overview", nil)
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			r.Header.Add("Origin", x.url)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%d origins: %s", n, answer.Status)
		}
	}
}

// TestNames: a name is the whole of a name, and a certificate's star one label.
func TestNames(t *testing.T) {
	t.Parallel()
	names := []string{"localhost", "lab.example", "*.lab.example"}
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "localhost.": true, "127.0.0.1:1": true, "[::1]:1": true, "192.168.1.7": true, "lab.example:443": true, "a.lab.example": true, "A.Lab.Example": true,
		"evillocalhost": false, "localhost.evil.example": false, "evil.localhost": false, "evillab.example": false, "a.b.lab.example": false, ".lab.example": false, "": false, "127.0.0.1.evil.example": false,
		"2130706433.evil": false, "lab.example.evil": false,
	} {
		if isHome(names, host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	x := start(t, func(o *Options) { o.Token = "secret-token" })
	x.must(401, "GET", "/v1/overview", "")
	x.must(401, "GET", "/", "")
	x.must(401, "GET", "/openapi.json", "")
	x.must(401, "GET", "/v1/overview", "", "Authorization", "Bearer wrong")
	x.must(401, "GET", "/?token=wrong", "")
	x.must(401, "POST", "/v1/query?token=secret-token", `{"sql":"select 1"}`)
	x.must(200, "GET", "/v1/overview", "", "Authorization", "Bearer secret-token")
	status, h, _ := x.ask("GET", "/matrix?token=secret-token&x=1", "")
	if status != 303 || h.Get("Location") != "/matrix?x=1" {
		t.Fatalf("%d to %q", status, h.Get("Location"))
	}
	set := h.Get("Set-Cookie")
	for _, want := range []string{"assay_token=secret-token", "HttpOnly", "SameSite=Strict"} {
		if !strings.Contains(set, want) {
			t.Errorf("the cookie %q lacks %s", set, want)
		}
	}
	x.must(200, "GET", "/v1/overview", "", "Cookie", "assay_token=secret-token")
	x.must(401, "GET", "/v1/overview", "", "Cookie", "assay_token=other")
	if status, h, _ := x.ask("GET", "//evil.example/?token=secret-token", ""); status == 303 && strings.HasPrefix(h.Get("Location"), "//") {
		t.Errorf("a link led away to %s", h.Get("Location"))
	}
}

// TestPolicy: no page may load what is not ours, run what is inline, or be framed elsewhere.
func TestPolicy(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	for _, path := range []string{"/", "/matrix", "/model/owner/Name-1.1B", "/app.css", "/v1/overview", "/nothing.js", "/v1/nothing"} {
		_, h, _ := x.ask("GET", path, "")
		policy := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'self'", "base-uri 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q lacks %s", path, policy, want)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %v", path, h)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
	_, h, _ := x.ask("GET", "/v1/reports/preview?format=html", "")
	if p := h.Get("Content-Security-Policy"); !strings.HasPrefix(p, "sandbox allow-scripts;") || strings.Contains(p, "allow-same-origin") {
		t.Errorf("a report has the policy %q", p)
	}
}

// TestTraversal: no address leads out of the pages and the reports.
func TestTraversal(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	for _, path := range []string{
		"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd", "/data/..%2f..%2fetc%2fpasswd", "/v1/reports/..%2f..%2fetc/passwd",
		"/v1/reports/%2e%2e/passwd", "/v1/reports/x/..%2f..%2fpasswd", "/v1/results/..%2f..%2fetc%2fpasswd", "/v1/models/..%2f..%2fetc%2fpasswd", "/v1/models/%2Fetc%2Fpasswd",
		"/v1/compare?a=file:/etc/passwd&b=latest", "/v1/compare?a=latest&b=file:passwd", "/v1/compare?a=/etc/passwd&b=latest", "/model/../../etc/passwd",
	} {
		status, _, text := x.ask("GET", path, "")
		if strings.Contains(text, "root:") || status == 200 && !strings.Contains(text, "<title>page</title>") || status >= 500 {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	for _, body := range []string{
		`{"models":["/etc/passwd"]}`, `{"models":["../x"]}`, `{"models":["./config.json"]}`, `{"models":["bert"],"weights":"/root"}`, `{"models":["model.onnx"]}`,
		`{"cells":[{"type":"bert","checkpoint":"/etc/passwd","size":"full"}]}`, `{"cells":[{"type":"bert","weights":"/root"}]}`,
		`{"models":["bert"],"weights":"testdata"}`, `{"cells":[{"type":"bert","weights":"testdata"}]}`, `{"cells":[{"type":"bert","platform":"nowhere"}]}`,
	} {
		x.must(422, "POST", "/v1/runs", body)
	}
	x.must(422, "POST", "/v1/reports", `{"name":"../../x"}`)
	x.must(422, "DELETE", "/v1/reports/..%2f..", "")
	x.must(404, "POST", "/v1/models/%2Fetc%2Fpasswd/run", `{"input":"x"}`)
}

// TestHTMLInNames: names come back as JSON, escaped, and never as a page.
func TestHTMLInNames(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	evil := result("r9", "b", "bert", "cpu", "works", time.Now())
	evil.Result.Cell.Checkpoint = `<script>alert(1)</script>`
	evil.Result.Cell.Size = "full"
	x.past.results = append(x.past.results, evil)
	x.past.stamp.Add(1)
	for _, path := range []string{"/v1/results/r9", "/v1/results?model=%3Cscript%3E", "/v1/models/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/v1/runs/%3Cscript%3E"} {
		_, h, text := x.ask("GET", path, "")
		if kind := h.Get("Content-Type"); !strings.Contains(kind, "json") {
			t.Errorf("%s is %s", path, kind)
		}
		if strings.Contains(text, "<script") {
			t.Errorf("%s is not escaped: %s", path, text)
		}
	}
	if text := x.must(200, "POST", "/v1/query", `{"sql":"select '<script>' as x"}`); strings.Contains(text, "<script") || !strings.Contains(text, `\u003cscript`) {
		t.Errorf("an answer in SQL is not escaped: %s", text)
	}
	page := x.must(200, "GET", "/v1/reports/preview?format=html", "")
	if strings.Contains(page, "<script>alert(1)") {
		t.Error("a report has a model's name as markup")
	}
}

// endless is a body without end.
type endless struct{ read atomic.Int64 }

func (e *endless) Read(b []byte) (int, error) {
	e.read.Add(int64(len(b)))
	return len(b), nil
}

// TestLargeBodies: a gigabyte is refused after as much as is allowed, whether its
// length was told or not.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	for _, told := range []bool{true, false} {
		for _, path := range []string{"/v1/query", "/v1/models/bert/run", "/v1/runs", "/v1/runs/b/cancel"} { // the last one takes none
			if path == "/v1/runs/b/cancel" && !told {
				continue // it is answered, and the connection ends: nothing of the body is read
			}
			body := &endless{}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, x.url+path, io.LimitReader(body, 1<<30))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			if told {
				r.ContentLength = 1 << 30
			}
			answer, err := http.DefaultClient.Do(r)
			if err == nil {
				_ = answer.Body.Close()
				if answer.StatusCode != http.StatusRequestEntityTooLarge {
					t.Errorf("%s, told %v: %s", path, told, answer.Status)
				}
			}
			if taken := body.read.Load(); taken > 128<<20 {
				t.Errorf("%s, told %v: %d bytes were taken", path, told, taken)
			}
		}
	}
}

// TestBodiesHaveTime: an operation gives a body as long as the server does: those of large inputs take a while.
func TestBodiesHaveTime(t *testing.T) {
	t.Parallel()
	for path, item := range start(t, nil).api.OpenAPI().Paths {
		for _, o := range []*huma.Operation{item.Get, item.Post, item.Delete} {
			if o != nil && o.BodyReadTimeout != readLimit {
				t.Errorf("%s %s: %v", o.Method, path, o.BodyReadTimeout)
			}
		}
	}
}

// TestBodiesEnd: no operation can read more than any may take, whatever limits of its own it has.
func TestBodiesEnd(t *testing.T) {
	t.Parallel()
	body := &endless{}
	var got int64
	var failed error
	h := start(t, nil).bounded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, failed = io.Copy(io.Discard, r.Body) }))
	r := httptest.NewRequest(http.MethodPost, "/v1/query", io.LimitReader(body, 1<<30))
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = -1
	h.ServeHTTP(httptest.NewRecorder(), r)
	if large := (*http.MaxBytesError)(nil); !errors.As(failed, &large) || got > mostBody {
		t.Errorf("%d bytes were read, %v", got, failed)
	}
}

// TestSlowClients: who sends a header slowly, or reads nothing, is let go.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := x.server()
	defer server.Close()
	if server.ReadHeaderTimeout == 0 || server.ReadTimeout == 0 || server.IdleTimeout == 0 || server.MaxHeaderBytes == 0 {
		t.Errorf("a limit is missing: %+v", server)
	}
	server.ReadHeaderTimeout = 100 * time.Millisecond
	go func() { _ = server.Serve(l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /v1/overview HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.ReadAll(bufio.NewReader(c)); err != nil {
		t.Errorf("the connection stayed open: %v", err)
	}
}

// TestWritesHaveALimit: every write renews the limit, also that of events, whatever is asked for.
func TestWritesHaveALimit(t *testing.T) {
	t.Parallel()
	limits := 0
	h := paced(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("a"))
		_, _ = w.Write([]byte("b"))
		_ = http.NewResponseController(w).Flush()
	}))
	h.ServeHTTP(&limited{httptest.NewRecorder(), &limits}, httptest.NewRequest(http.MethodGet, "/", nil))
	if limits != 3 {
		t.Errorf("%d limits for two writes and a flush", limits)
	}
	x := start(t, nil)
	for _, path := range []string{"/", "/v1/overview", "/v1/nothing", "/app.css"} {
		limits = 0
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "localhost"
		x.Handler().ServeHTTP(&limited{httptest.NewRecorder(), &limits}, r)
		if limits == 0 {
			t.Errorf("%s may be read as slowly as the client likes", path)
		}
	}
}

// TestQueriesWait: a question in SQL may take the memory that questions have: there is one at a time,
// and none takes longer than it may.
func TestQueriesWait(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	var begun atomic.Int64
	x.past.query = func(context.Context) error { begun.Add(1); return nil }
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	x.asking <- struct{}{} // somebody else's question
	for range 50 {
		r := httptest.NewRequestWithContext(gone, http.MethodPost, "/v1/query", strings.NewReader(`{"sql":"select 2"}`))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		x.Handler().ServeHTTP(httptest.NewRecorder(), r)
	}
	if n := begun.Load(); n != 0 {
		t.Errorf("%d questions began beside another one", n)
	}
	<-x.asking
	x.must(200, "POST", "/v1/query", `{"sql":"select 1"}`)
	x.must(200, "POST", "/v1/query", `{"sql":"select 1"}`)
	if n := begun.Load(); n != 2 {
		t.Errorf("%d of 2 questions were asked", n)
	}
	x.waitFor = 10 * time.Millisecond
	x.asking <- struct{}{}
	if status, h, text := x.ask("POST", "/v1/query", `{"sql":"select 1"}`); status != http.StatusServiceUnavailable || h.Get("Retry-After") == "" {
		t.Errorf("%d %s", status, text)
	}
	<-x.asking
	x.must(422, "POST", "/v1/query", `{"sql":"select '`+strings.Repeat("x", 20_000)+`'"}`) // longer than a question may be
	y := start(t, nil)
	y.answerIn = 50 * time.Millisecond
	y.past.query = func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
	if text := y.must(422, "POST", "/v1/query", `{"sql":"select 1"}`); !strings.Contains(text, "longer than 50ms") {
		t.Error(text)
	}
}

// serve has a handler answer, and counts the limits of writing that were set.
func serve(h http.Handler, limits *int) {
	h.ServeHTTP(&limited{httptest.NewRecorder(), limits}, httptest.NewRequest(http.MethodGet, "/", nil))
}

type limited struct {
	http.ResponseWriter
	limits *int
}

func (l *limited) SetWriteDeadline(time.Time) error {
	*l.limits++
	return nil
}
