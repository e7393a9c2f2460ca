//go:build unix

package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script is a program that is not a browser. It writes down its process and what
// it takes for its home, so that a test can see whether they are gone.
func script(t *testing.T, body string) (o Options, left func() []string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "browser")
	// A child forked by another test while the script is open for writing
	// would hold it open, and it could not be started.
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(fmt.Sprintf("#!/bin/sh\ncd %q\necho $$ > pid.new\necho $HOME > home\nmv pid.new pid\n%s\n", dir, body)), 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return Options{Path: path}, func() []string { return remains(t, dir) }
}

func remains(t *testing.T, dir string) []string {
	t.Helper()
	var left []string
	if pid, err := strconv.Atoi(word(t, dir, "pid")); err == nil {
		for _, p := range below(pid, everyone()) {
			left = append(left, fmt.Sprintf("process %d", p.pid))
		}
	}
	home := word(t, dir, "home")
	if _, err := os.Stat(home); home == "" || err == nil {
		left = append(left, "profile "+home)
	}
	return left
}

func word(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{Chromium, Firefox} {
		for name, c := range map[string]struct{ body, says string }{
			"it dies at once":                {"echo no display >&2; exit 3", "no display"},
			"it ends well":                   {"exit 0", "could not be started"},
			"it says something else":         {"echo hello; exec sleep 60", "deadline exceeded"},
			"it hangs":                       {"exec sleep 60", "deadline exceeded"},
			"it hangs with children":         {"sleep 60 & sleep 60 & wait", "deadline exceeded"},
			"it floods":                      {"yes >&2", "deadline exceeded"},
			"its address leads nowhere":      {"echo 'WebDriver BiDi listening on ws://127.0.0.1:1' >&2; exec sleep 60", "could not be started"},
			"its address is not a websocket": {"echo 'WebDriver BiDi listening on nonsense' >&2; exec sleep 60", "deadline exceeded"},
		} {
			t.Run(kind+": "+name, func(t *testing.T) {
				t.Parallel()
				o, left := script(t, c.body)
				o.Kind = kind
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				begin := time.Now()
				b, err := Start(ctx, o)
				if b != nil || err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want %q", err, c.says)
				}
				if strings.Contains(fmt.Sprint(err), "\n") {
					t.Errorf("it is more than a sentence: %v", err)
				}
				if took := time.Since(begin); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
				if left := left(); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
}

func TestStartNeedsAProgram(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{Packed, Firefox} {
		if _, err := Start(t.Context(), Options{Kind: kind, Path: "/nowhere/browser"}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := Start(t.Context(), Options{Kind: "lynx"}); err == nil || !strings.Contains(err.Error(), "choose packed, chromium") {
		t.Errorf("an unknown kind: %v", err)
	}
}

func TestStartCancelled(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{Chromium, Firefox} {
		o, left := script(t, "exec sleep 60")
		o.Kind = kind
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(300*time.Millisecond, cancel)
		if _, err := Start(ctx, o); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", kind, err)
		}
		if left := left(); len(left) > 0 {
			t.Errorf("%s left behind: %v", kind, left)
		}
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	all := []running{{pid: 1}, {pid: 10, parent: 1, group: 10}, {pid: 11, parent: 10, group: 10}, {pid: 12, parent: 11, group: 12},
		{pid: 13, parent: 1, group: 10}, {pid: 20, parent: 1, group: 20}, {pid: 21, parent: 20, group: 20}}
	var got []int
	for _, p := range below(10, all) {
		got = append(got, p.pid)
	}
	// The group, what left it, and what lost its parent.
	if fmt.Sprint(got) != "[10 11 12 13]" {
		t.Errorf("got %v", got)
	}
}
