//go:build integration

package browser

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is for what a browser on a busy machine must do soon.
const patience = 30 * time.Second

// site serves pages that tell when they run, by fetching a path.
func site(t *testing.T) (url string, seen <-chan string) {
	t.Helper()
	paths := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, ok := strings.CutPrefix(r.URL.Path, "/runs/"); ok {
			paths <- name
			return
		}
		w.Header().Set("Content-Type", "text/html")
		script := "fetch('/runs" + r.URL.Path + "')"
		if strings.HasPrefix(r.URL.Path, "/hangs") {
			script += ".then(() => { for (;;); })"
		}
		if _, err := w.Write([]byte("<script>" + script + "</script>")); err != nil {
			t.Log(err)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, paths
}

func started(t *testing.T, o Options) *Browser {
	t.Helper()
	b, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func opened(t *testing.T, b *Browser, url string) *Page {
	t.Helper()
	p, err := b.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func await[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s: not within %v", what, patience)
		panic("unreachable")
	}
}

// clean checks that nothing of a browser is left.
func clean(t *testing.T, b *Browser) {
	t.Helper()
	await(t, "the browser's end", b.Gone())
	if left := b.driver.group().processes(); len(left) > 0 {
		t.Errorf("processes are left: %+v", left)
	}
	for _, path := range []string{b.profile.dir, b.profile.lock.Name()} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left (%v)", path, err)
		}
	}
}

func TestIntegrationPages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o Options) {
		url, seen := site(t)
		b := started(t, o)
		if !strings.Contains(b.Version(), ".") || b.PID() <= 1 {
			t.Errorf("version %q, process %d", b.Version(), b.PID())
		}
		one, two := opened(t, b, url+"/one"), opened(t, b, url+"/two")
		ran := map[string]bool{await(t, "a page", seen): true, await(t, "another page", seen): true}
		if !ran["one"] || !ran["two"] {
			t.Errorf("these pages ran: %v", ran)
		}
		if err := one.Close(); err != nil {
			t.Error(err)
		}
		if why := await(t, "the page's end", one.Gone()); !errors.Is(why, ErrPageClosed) {
			t.Errorf("the closed page is gone because %v", why)
		}
		select {
		case why := <-two.Gone():
			t.Errorf("the other page is gone too: %v", why)
		default:
		}
		if now, most := b.MemoryBytes(), b.PeakBytes(); now == nil || most == nil || *now < 20e6 || *most < *now/2 {
			t.Errorf("memory %v now, %v at most", now, most)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if why := await(t, "the other page's end", two.Gone()); !errors.Is(why, ErrClosed) {
			t.Errorf("the other page is gone because %v", why)
		}
		if _, err := b.Open(t.Context(), url); !errors.Is(err, ErrClosed) {
			t.Errorf("a closed browser opened a page: %v", err)
		}
		clean(t, b)
	})
}

func TestIntegrationCrashCostsOnePage(t *testing.T) {
	t.Parallel()
	perFamily(t, func(t *testing.T, o Options) {
		url, seen := site(t)
		b := started(t, o)
		victim := opened(t, b, url+"/victim")
		await(t, "the page", seen)
		kill(t, content(t, b)...)
		if why := await(t, "the crash", victim.Gone()); !strings.Contains(why.Error(), "crashed") {
			t.Errorf("the page is gone because %v", why)
		}
		if err := victim.Close(); err != nil {
			t.Errorf("closing what crashed: %v", err)
		}
		opened(t, b, url+"/next")
		if name := await(t, "the next page", seen); name != "next" {
			t.Errorf("%s ran", name)
		}
	})
}

func TestIntegrationHungPage(t *testing.T) {
	t.Parallel()
	perFamily(t, func(t *testing.T, o Options) {
		url, seen := site(t)
		b := started(t, o)
		hung := opened(t, b, url+"/hangs")
		await(t, "the page", seen)
		opened(t, b, url+"/next")
		if name := await(t, "a page beside it", seen); name != "next" {
			t.Errorf("%s ran", name)
		}
		begin := time.Now()
		if err := hung.Close(); err != nil && time.Since(begin) > closeLimit+time.Second {
			t.Errorf("closing took %v: %v", time.Since(begin), err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		clean(t, b)
	})
}

func TestIntegrationKilledBrowser(t *testing.T) {
	t.Parallel()
	perFamily(t, func(t *testing.T, o Options) {
		url, seen := site(t)
		b := started(t, o)
		p := opened(t, b, url+"/page")
		await(t, "the page", seen)
		kill(t, b.PID())
		if why := await(t, "the page's end", p.Gone()); !strings.Contains(why.Error(), "the browser died: signal: killed") {
			t.Errorf("the page is gone because %v", why)
		}
		clean(t, b)
		if _, err := b.Open(t.Context(), url); err == nil {
			t.Error("a dead browser opened a page")
		}
	})
}

func TestIntegrationCancelled(t *testing.T) {
	t.Parallel()
	perFamily(t, func(t *testing.T, o Options) {
		url, seen := site(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b, err := Start(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		p := opened(t, b, url+"/page")
		await(t, "the page", seen)
		cancel()
		if why := await(t, "the page's end", p.Gone()); !errors.Is(why, context.Canceled) {
			t.Errorf("the page is gone because %v", why)
		}
		clean(t, b)
	})
}

func kill(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
}

// content returns the processes that run pages.
func content(t *testing.T, b *Browser) []int {
	t.Helper()
	var found []int
	for _, p := range b.driver.group().processes() {
		line, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
		if err == nil && (strings.Contains(string(line), "--type=renderer") || strings.HasSuffix(strings.TrimRight(string(line), "\x00"), "tab")) {
			found = append(found, p.pid)
		}
	}
	if len(found) == 0 {
		t.Fatal("no process runs the page")
	}
	return found
}
