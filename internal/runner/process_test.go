package runner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

var quick = Limits{Start: 5 * time.Second, Grace: 200 * time.Millisecond}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ behaviour, want string }{
		{"newer", "version 2 of the runner protocol and this assay version 1: update assay"},
		{"older", "version 0 of the runner protocol and this assay version 1: update the runner"},
		{"no hello", "first line is not a hello"},
		{"chatter", `"Welcome to Python!" is not a JSON object`},
		{"long hello", "line too long"},
		{"dead at once", "ended before it was ready; its last output: no torch for you"},
		{"half a line", "ended before it was ready"},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			t.Parallel()
			p, err := Start(t.Context(), as(t, c.behaviour), quick)
			var failed *StartError
			if p != nil || !errors.As(err, &failed) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a StartError with %q", err, c.want)
			}
		})
	}
}

func TestStartLimits(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), as(t, "never ready"), Limits{Start: 100 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "not ready within 100ms") {
		t.Errorf("got %v, want that it was not ready", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, as(t, "never ready"), quick); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	if _, err := Start(t.Context(), Command{Path: "/nowhere/python"}, quick); err == nil || !strings.Contains(err.Error(), "/nowhere/python") {
		t.Errorf("got %v, want an error that names the program", err)
	}
}

func TestRunnerIsLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		behaviour, want string
		started         bool
	}{
		{"dies at a job", "exit status 9); its last output: I die", false},
		{"dies after started", "exit status 9); its last output: I die", true},
		{"unknown ev", "unknown ev", false},
		{"garbage", "is not a JSON object", false},
		{"unknown job", "not running", false},
		{"two hellos", "hello twice", false},
		{"deaf", "did not end a job within", true},
		{"stubborn", "did not end a job within", true},
		{"mute", "closed its output", false},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			t.Parallel()
			p := mustStart(t, c.behaviour)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := p.Run(ctx, Job{Kind: NoopJob}, nil)
			var lost *LostError
			if !errors.As(err, &lost) || !strings.Contains(err.Error(), c.want) || lost.Started != c.started {
				t.Fatalf("got %v (%+v), want a LostError with %q, started %v", err, lost, c.want, c.started)
			}
			if _, err := p.Run(t.Context(), Job{}, nil); !errors.As(err, &lost) {
				t.Errorf("a dead runner gave %v", err)
			}
		})
	}
}

func TestExitTwiceKillsOnlyTheRunner(t *testing.T) {
	t.Parallel()
	p := mustStart(t, "two exits")
	exit, err := p.Run(t.Context(), Job{Kind: NoopJob}, nil)
	if err != nil || exit.Outcome() != Finished {
		t.Fatalf("%v, %v: the first exit stands", exit, err)
	}
	<-p.Done()
}

func TestMessageTooLong(t *testing.T) {
	t.Parallel()
	p := mustStart(t, "good")
	job := Job{Options: map[string]any{"text": strings.Repeat("x", MaxLine)}}
	if _, err := p.Run(t.Context(), job, nil); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("got %v, want that the message is too long", err)
	}
	if exit, err := p.Run(t.Context(), Job{}, nil); err != nil || exit.Outcome() != Finished {
		t.Errorf("the runner did not outlive a message that was never sent: %v, %v", exit, err)
	}
}

func TestCloseIsQuickAndFinal(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"good", "deaf", "stubborn"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := mustStart(t, name)
			begin := time.Now()
			for range 2 {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
			if took := time.Since(begin); took > 3*time.Second {
				t.Errorf("closing took %v", took)
			}
		})
	}
}

func mustStart(t *testing.T, name string) *Process {
	t.Helper()
	p, err := Start(t.Context(), as(t, name), quick)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	var kept tail
	for range 1000 {
		if n, err := kept.Write([]byte(strings.Repeat("abcdefgh", 37))); n != 37*8 || err != nil {
			t.Fatal(n, err)
		}
	}
	if n, _ := kept.Write([]byte(strings.Repeat("y", 2*tailSize) + "the end")); n != 2*tailSize+7 {
		t.Fatal(n)
	}
	if s := kept.String(); len(s) != tailSize || !strings.HasSuffix(s, "yythe end") || strings.Contains(s, "a") {
		t.Errorf("%d bytes kept, ending in %q", len(s), s[len(s)-10:])
	}
}
