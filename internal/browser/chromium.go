package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// chromium drives a browser of Chromium's family through chromedp, over a
// pipe. It speaks to the browser alone and attaches to no page: an attached
// debugger keeps copies of what a page loads.
type chromium struct {
	cdp     *chromedp.Browser
	stop    func() // kills the browser's main process and waits for it
	command *exec.Cmd
	tree    *group
	output  *words
	number  string

	mu      sync.Mutex
	tabs    map[target.ID]func(error)
	opening int                                     // pages that are being opened
	early   map[target.ID]target.EventTargetCrashed // what ended while some were
}

func startChromium(ctx context.Context, o Options, profile string) (driver, error) {
	c := &chromium{tree: &group{}, output: &words{}, tabs: map[target.ID]func(error){}, early: map[target.ID]target.EventTargetCrashed{}}
	// The browser outlives its start, so its context is not the start's.
	life, kill := context.WithCancel(context.Background())
	alloc, stopAlloc := chromedp.NewExecAllocator(life, c.allocator(o, profile)...)
	tabs, stopTabs := chromedp.NewContext(alloc, chromedp.WithErrorf(func(string, ...any) {}))
	c.stop = func() { kill(); stopTabs(); stopAlloc() }
	limit := context.AfterFunc(ctx, kill)
	err := c.greet(tabs)
	limit()
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", &brief{err}, c.end())
	}
	return c, nil
}

// brief is an error in its first line. chromedp puts all that the browser
// printed into the others, and its last output is reported anyway.
type brief struct{ err error }

func (b *brief) Error() string {
	first, _, _ := strings.Cut(b.err.Error(), "\n")
	return strings.TrimSuffix(first, ":")
}

func (b *brief) Unwrap() error { return b.err }

// allocator is how chromedp starts it. None of chromedp's own flags are taken:
// they name features of their own, and the last list of features wins.
func (c *chromium) allocator(o Options, profile string) []chromedp.ExecAllocatorOption {
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(o.Path), chromedp.CombinedOutput(c.output), chromedp.NoInheritEnv, chromedp.Env(environ(confine(profile), o.Env)...),
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
			c.command = cmd
			cmd.Args = append(cmd.Args, o.Args...)
			c.tree.prepare(cmd)
		}),
	}
	for _, f := range flags(o, profile) {
		options = append(options, chromedp.Flag(f.name, f.value))
	}
	return options
}

// greet starts the browser, asks for its version, and follows its pages.
func (c *chromium) greet(ctx context.Context) error {
	is, err := chromedp.CallBrowser(ctx, cdpbrowser.GetVersion, cdp.Empty{})
	if err != nil {
		return err
	}
	_, c.number, _ = strings.Cut(is.Product, "/")
	c.cdp = chromedp.FromContext(ctx).Browser
	if err := c.tree.adopt(c.cdp.Process()); err != nil {
		return err
	}
	crashed, _ := c.cdp.Subscribe("Target.targetCrashed")
	closed, _ := c.cdp.Subscribe("Target.targetDestroyed")
	go follow(crashed, c.gone)
	go follow(closed, c.gone)
	_, err = cdp.Call(ctx, c.cdp, target.SetDiscoverTargets, target.SetDiscoverTargetsParams{Discover: true})
	return err
}

// follow hands events on until the browser is lost.
func follow[E ~[]byte](events <-chan E, each func(target.EventTargetCrashed)) {
	for raw := range events {
		var event target.EventTargetCrashed
		if json.Unmarshal(raw, &event) == nil {
			each(event)
		}
	}
}

// gone tells a page that it is no more. Only a crash has a status.
func (c *chromium) gone(event target.EventTargetCrashed) {
	c.mu.Lock()
	tell := c.tabs[event.TargetID]
	delete(c.tabs, event.TargetID)
	if tell == nil && c.opening > 0 {
		c.early[event.TargetID] = event
	}
	c.mu.Unlock()
	if tell != nil {
		tell(ended(event))
	}
}

func ended(event target.EventTargetCrashed) error {
	if event.Status != "" {
		return fmt.Errorf("the page crashed: %s (%d)", event.Status, event.ErrorCode)
	}
	return errors.New("the page was closed from within the browser")
}

func (c *chromium) open(ctx context.Context, url string, gone func(error)) (tab, error) {
	c.mu.Lock()
	c.opening++
	c.mu.Unlock()
	// Of two pages in one window one is hidden, and hidden ones are slowed down.
	own := true
	made, err := cdp.Call(ctx, c.cdp, target.CreateTarget, target.CreateTargetParams{URL: url, NewWindow: &own})
	if event, over := c.opened(made.TargetID, gone, err == nil); over {
		gone(ended(event))
	}
	if err != nil {
		return nil, err
	}
	return chromiumTab{c, made.TargetID}, nil
}

// opened takes a page in whose name is known from now on, unless it has ended
// before its name was told.
func (c *chromium) opened(id target.ID, gone func(error), ok bool) (event target.EventTargetCrashed, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ok {
		if event, over = c.early[id]; !over {
			c.tabs[id] = gone
		}
	}
	if c.opening--; c.opening == 0 {
		clear(c.early)
	}
	return event, over
}

type chromiumTab struct {
	*chromium
	id target.ID
}

func (t chromiumTab) close(ctx context.Context) error {
	t.mu.Lock()
	_, open := t.tabs[t.id]
	delete(t.tabs, t.id)
	t.mu.Unlock()
	_, err := cdp.Call(ctx, t.cdp, target.CloseTarget, target.CloseTargetParams{TargetID: t.id})
	if !open && ctx.Err() == nil {
		return nil // a crash may have left an empty page, or none
	}
	return err
}

func (c *chromium) version() string       { return c.number }
func (c *chromium) pid() int              { return c.cdp.Process().Pid }
func (c *chromium) group() *group         { return c.tree }
func (c *chromium) lost() <-chan struct{} { return c.cdp.LostConnection }

func (c *chromium) end() string {
	if c.cdp != nil {
		c.tree.kill() // all at once, so that nobody sees a part die
	}
	c.stop()
	if c.cdp == nil && c.command != nil && c.command.Process != nil {
		_ = c.tree.adopt(c.command.Process)
		c.tree.kill()
	}
	return ending(state(c.command), c.output)
}

// state is how a command ended, nil where it ended well.
func state(cmd *exec.Cmd) error {
	if cmd == nil || cmd.ProcessState == nil {
		return errors.New("it did not start")
	}
	if cmd.ProcessState.Success() {
		return nil
	}
	return &exec.ExitError{ProcessState: cmd.ProcessState}
}
