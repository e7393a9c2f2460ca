package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

// firefox drives Firefox by WebDriver BiDi, which is built in.
type firefox struct {
	*process
	bidi   *bidi
	number string

	mu   sync.Mutex
	tabs map[string]func(error)
}

// listening is how Firefox says where it can be talked to.
var listening = regexp.MustCompile(`^WebDriver BiDi listening on (ws://\S+)`)

// softwareVulkan leaves Mesa's software driver as the only one that the
// Vulkan loader finds.
var softwareVulkan = []string{"VK_LOADER_DRIVERS_SELECT=*lvp*"}

func startFirefox(ctx context.Context, o Options, profile string) (driver, error) {
	if err := writePreferences(profile); err != nil {
		return nil, err
	}
	address := make(chan string, 1)
	output := &words{line: func(line string) {
		if m := listening.FindStringSubmatch(line); m != nil {
			address <- m[1]
		}
	}}
	p, err := launch(firefoxCommand(o, profile), output)
	if err != nil {
		return nil, err
	}
	f := &firefox{process: p, tabs: map[string]func(error){}}
	if err := f.greet(ctx, address); err != nil {
		return nil, fmt.Errorf("%w (%s)", err, f.end())
	}
	return f, nil
}

func firefoxCommand(o Options, profile string) *exec.Cmd {
	args := []string{"--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0"}
	cmd := exec.Command(o.Path, append(args, o.Args...)...)
	cmd.Env = environ(confine(profile), []string{"MOZ_CRASHREPORTER_DISABLE=1"})
	if o.Software && runtime.GOOS == "linux" {
		cmd.Env = append(cmd.Env, softwareVulkan...)
	}
	cmd.Env = append(cmd.Env, o.Env...)
	return cmd
}

// greet waits until Firefox listens, opens a session and follows its pages.
func (f *firefox) greet(ctx context.Context, address <-chan string) error {
	var url string
	select {
	case url = <-address:
	case <-f.done:
		return errors.New("it ended before it was ready")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	var err error
	if f.bidi, err = dialBiDi(ctx, url+"/session", f.event); err != nil {
		return err
	}
	var session struct {
		Capabilities struct {
			Version string `json:"browserVersion"`
		} `json:"capabilities"`
	}
	if err := f.bidi.call(ctx, "session.new", map[string]any{"capabilities": map[string]any{}}, &session); err != nil {
		return err
	}
	f.number = session.Capabilities.Version
	events := []string{pageDestroyed, pageCommitted}
	return f.bidi.call(ctx, "session.subscribe", map[string]any{"events": events}, nil)
}

// The events that tell of a page's end. What crashed is not destroyed: it
// shows a page of Firefox's own that says so.
const (
	pageDestroyed = "browsingContext.contextDestroyed"
	pageCommitted = "browsingContext.navigationCommitted"
	crashPage     = "about:tabcrashed"
)

// event tells a page that it is gone.
func (f *firefox) event(method string, params json.RawMessage) {
	var is struct {
		Context string `json:"context"`
		URL     string `json:"url"`
	}
	if json.Unmarshal(params, &is) != nil {
		return
	}
	switch {
	case method == pageDestroyed:
		f.gone(is.Context, errors.New("the page was closed from within the browser"))
	case strings.HasPrefix(is.URL, crashPage):
		f.gone(is.Context, errors.New("the page crashed: its process ended"))
	}
}

func (f *firefox) gone(context string, why error) {
	f.mu.Lock()
	tell := f.tabs[context]
	delete(f.tabs, context)
	f.mu.Unlock()
	if tell != nil {
		tell(why)
	}
}

func (f *firefox) open(ctx context.Context, url string, gone func(error)) (tab, error) {
	var made struct {
		Context string `json:"context"`
	}
	// Of two pages in one window one is hidden, and hidden ones are slowed down.
	if err := f.bidi.call(ctx, "browsingContext.create", map[string]any{"type": "window"}, &made); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.tabs[made.Context] = gone
	f.mu.Unlock()
	t := firefoxTab{f, made.Context}
	if err := f.bidi.call(ctx, "browsingContext.navigate", map[string]any{"context": made.Context, "url": url, "wait": "none"}, nil); err != nil {
		return nil, errors.Join(err, t.close(ctx))
	}
	return t, nil
}

type firefoxTab struct {
	*firefox
	context string
}

func (t firefoxTab) close(ctx context.Context) error {
	t.mu.Lock()
	_, open := t.tabs[t.context]
	delete(t.tabs, t.context)
	t.mu.Unlock()
	err := t.bidi.call(ctx, "browsingContext.close", map[string]any{"context": t.context}, nil)
	if !open && ctx.Err() == nil {
		return nil // a crash may have left an empty page, or none
	}
	return err
}

func (f *firefox) version() string       { return f.number }
func (f *firefox) pid() int              { return f.cmd.Process.Pid }
func (f *firefox) group() *group         { return f.tree }
func (f *firefox) lost() <-chan struct{} { return f.bidi.gone }

func (f *firefox) end() string {
	if f.bidi != nil {
		defer f.bidi.close()
	}
	return f.process.end()
}
