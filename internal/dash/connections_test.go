package dash

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"assay/internal/pool"
)

// quick serves a server's handler with limits that are short enough to be passed in a test.
func quick(t *testing.T, x *tester) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := x.server()
	server.ReadTimeout, server.ReadHeaderTimeout = 200*time.Millisecond, 0
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// TestAnswersOutliveReading: the limit of sending a request says nothing of its answer. Events go on after it, and
// a model that takes long is not asked for in vain.
func TestAnswersOutliveReading(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	c := quick(t, x)
	fmt.Fprint(c, "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	lines := bufio.NewScanner(c)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "retry:") {
	}
	time.Sleep(500 * time.Millisecond)
	x.must(202, "POST", "/v1/runs", `{"models":["bert"],"targets":["cpu"]}`)
	heard := false
	for !heard && lines.Scan() {
		heard = lines.Text() == "event: finished"
	}
	if !heard {
		t.Errorf("the events ended with the limit of reading: %v", lines.Err())
	}
	for _, body := range []string{"Content-Length: 13\r\n\r\n" + `{"input":"x"}`, "Transfer-Encoding: chunked\r\n\r\nd\r\n" + `{"input":"x"}` + "\r\n0\r\n\r\n"} {
		y := start(t, nil)
		y.pool.takes = 500 * time.Millisecond
		c := quick(t, y)
		fmt.Fprint(c, "POST /v1/models/bert/run HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"+body)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Errorf("%d %s", r.StatusCode, text)
		}
	}
}

// TestLargeAnswersArePaced: who reads slowly, but reads, is not cut off in the middle of a large answer.
func TestLargeAnswersArePaced(t *testing.T) {
	t.Parallel()
	limits := 0
	serve(paced(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 3*mostPart+1)) })), &limits)
	if limits != 4 {
		t.Errorf("a large answer has %d limits", limits)
	}
}

// TestBrokenBodies: a body that is none is the asker's fault, and no fault of the server's.
func TestBrokenBodies(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	for name, rest := range map[string]string{
		"no chunks":      "Transfer-Encoding: chunked\r\n\r\nzz\r\nnothing\r\n",
		"a torn chunk":   "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"inXXX\r\n",
		"ends too early": "Content-Length: 100\r\n\r\n{\"sql\":",
	} {
		c := quick(t, x)
		fmt.Fprint(c, "POST /v1/query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"+rest)
		_ = c.(*net.TCPConn).CloseWrite()
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if r.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "body") {
			t.Errorf("%s: %d %s", name, r.StatusCode, text)
		}
	}
}

// TestEventsOfAnotherServer: a page that was open while the server was started again hears of what happens now.
func TestEventsOfAnotherServer(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, x.url+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Last-Event-ID", "5000")
	answer, err := http.DefaultClient.Do(r) //nolint:bodyclose // it is closed below; the goroutine only reads
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	heard := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() {
			if lines.Text() == "event: finished" {
				heard <- true
				return
			}
		}
		heard <- false
	}()
	x.must(202, "POST", "/v1/runs", `{"models":["bert"],"targets":["cpu"]}`)
	select {
	case ok := <-heard:
		if !ok {
			t.Error("the events ended")
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing was heard")
	}
}

// TestLater: what another program keeps from being answered is no fault of the server's.
func TestLater(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	for _, err := range []error{&LaterError{fmt.Errorf("the database is in use")}, &pool.BusyError{Why: "the pool is closing"}} {
		x.pool.err = err
		status, h, text := x.ask("POST", "/v1/models/bert/run", `{"input":"x"}`)
		if status != http.StatusServiceUnavailable || h.Get("Retry-After") == "" {
			t.Errorf("%d %s", status, text)
		}
	}
}

// TestLongAddresses: a report of as many models as it may be of can be previewed; what no description allows is refused.
func TestLongAddresses(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	for name, want := range map[string]int{"bert," + strings.Repeat("google-bert%2Fbert-base-uncased,", 999): http.StatusOK, strings.Repeat("x", 2*mostHeader): http.StatusRequestHeaderFieldsTooLarge} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := x.server()
		defer server.Close()
		go func() { _ = server.Serve(l) }()
		r, err := http.Get("http://" + l.Addr().String() + "/v1/reports/preview?models=" + strings.TrimSuffix(name, ","))
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%d bytes: %s", len(name), r.Status)
		}
	}
}
