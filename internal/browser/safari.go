package browser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"
)

// safari drives Safari through safaridriver, which every Mac has. It differs
// from the others in three ways. Safari has no mode without a window. The
// system starts it, not we, so that its processes are not below ours and their
// memory is not known. It tells nothing by itself, so that it is asked now and
// then which pages are left.
type safari struct {
	*process
	driver *webdriver
	gone   chan struct{}
	stop   context.CancelFunc

	mu   sync.Mutex
	tabs map[string]func(error)
}

// safariDriver is beside no browser: it is part of macOS.
const safariDriver = "/usr/bin/safaridriver"

// safariAsk is how often Safari is asked for its pages.
const safariAsk = time.Second

const enableSafari = "allow it once: safaridriver --enable, and in Safari's settings for developers, allow remote automation"

func startSafari(ctx context.Context, o Options, profile string) (driver, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(safariDriver, append([]string{"--port", strconv.Itoa(port)}, o.Args...)...)
	// Safari's settings are the user's: it takes no other profile, and clears
	// what an automated session did by itself.
	cmd.Env = environ([]string{"TMPDIR=" + profile}, o.Env)
	p, err := launch(cmd, &words{})
	if err != nil {
		return nil, err
	}
	base := "http://127.0.0.1:" + strconv.Itoa(port)
	s, err := greetSafari(ctx, base, p.done)
	if err != nil {
		return nil, fmt.Errorf("%w; %s (%s)", err, enableSafari, p.end())
	}
	s.process = p
	return s, nil
}

// greetSafari opens a session with a driver that is starting, and follows its pages.
func greetSafari(ctx context.Context, base string, died <-chan struct{}) (*safari, error) {
	for !ready(ctx, base) {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-died:
			return nil, errors.New("safaridriver ended before it was ready")
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	w, err := newSession(ctx, base, "safari")
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	s := &safari{driver: w, gone: make(chan struct{}), stop: stop, tabs: map[string]func(error){}}
	go s.follow(life)
	return s, nil
}

// freePort asks the system for a port that nobody uses.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// follow asks for the pages until the session ends.
func (s *safari) follow(ctx context.Context) {
	defer close(s.gone)
	for {
		select {
		case <-time.After(safariAsk):
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, openLimit)
		open, err := s.driver.windows(limited)
		cancel()
		if err != nil {
			return
		}
		s.miss(open)
	}
}

// miss tells the pages that are no longer open.
func (s *safari) miss(open []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for handle, tell := range s.tabs {
		if !slices.Contains(open, handle) {
			delete(s.tabs, handle)
			go tell(errors.New("the page crashed or was closed from within the browser"))
		}
	}
}

func (s *safari) open(ctx context.Context, url string, gone func(error)) (tab, error) {
	handle, err := s.driver.open(ctx, url)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tabs[handle] = gone
	return safariTab{s, handle}, nil
}

type safariTab struct {
	*safari
	handle string
}

func (t safariTab) close(ctx context.Context) error {
	t.mu.Lock()
	_, open := t.tabs[t.handle]
	delete(t.tabs, t.handle)
	t.mu.Unlock()
	if !open {
		return nil
	}
	return t.driver.close(ctx, t.handle)
}

func (s *safari) version() string       { return s.driver.version }
func (s *safari) pid() int              { return s.cmd.Process.Pid }
func (s *safari) group() *group         { return nil }
func (s *safari) lost() <-chan struct{} { return s.gone }

// end quits the session, which closes Safari's windows, and then the driver.
func (s *safari) end() string {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	_ = s.driver.quit(ctx) // a driver that is gone has nothing to quit
	return s.process.end()
}
