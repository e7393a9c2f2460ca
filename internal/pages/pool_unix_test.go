//go:build unix

package pages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/internal/browser"
	"assay/internal/platform"
)

// program is not a browser: it notes each of its starts, and does as the body says.
func program(t *testing.T, body string) (path string, starts func() int) {
	t.Helper()
	dir := t.TempDir()
	path, noted := filepath.Join(dir, "browser"), filepath.Join(dir, "starts")
	syscall.ForkLock.RLock() // a child forked meanwhile would hold the script open
	err := os.WriteFile(path, []byte(fmt.Sprintf("#!/bin/sh\necho x >> %q\n%s\n", noted, body)), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return path, func() int {
		b, _ := os.ReadFile(noted) // absent is not a start
		return strings.Count(string(b), "x")
	}
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// TestAPoolStartsBrowsersSideBySide: a browser that hangs while it starts keeps
// nobody waiting but those who want it; they share its start; and it ends with
// the pool.
func TestAPoolStartsBrowsersSideBySide(t *testing.T) {
	t.Parallel()
	hangs, hanging := program(t, "exec sleep 600")
	ends, _ := program(t, "exit 1")
	p := NewPool(func(_ context.Context, w platform.Target) (browser.Options, error) {
		return browser.Options{Kind: browser.Chromium, Path: map[string]string{"hangs": hangs, "ends": ends}[w.Browser]}, nil
	})
	open := func(ctx context.Context, name string) error {
		_, err := p.Open(ctx, Where{Target: platform.Target{Browser: name}}, "about:blank")
		return err
	}
	var waiting sync.WaitGroup
	errs := make(chan error, 2)
	for range 2 {
		waiting.Go(func() { errs <- open(t.Context(), "hangs") })
	}
	await(t, "the browser that hangs was not started", func() bool { return hanging() > 0 })
	if err := open(t.Context(), "ends"); err == nil {
		t.Error("a program that ends at once is a browser")
	}
	brief, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := open(brief, "hangs"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who waits for another's start cannot leave: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	waiting.Wait()
	for range 2 {
		if err := <-errs; err == nil {
			t.Error("a program that hangs is a browser")
		}
	}
	if n := hanging(); n != 1 {
		t.Errorf("the browser that hangs was started %d times", n)
	}
	if err := open(t.Context(), "ends"); !errors.Is(err, errPoolClosed) {
		t.Errorf("a closed pool opens: %v", err)
	}
}
