package pagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"assay/internal/browser"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// chromium is a tab of Chromium.
type chromium struct {
	problems
	tab context.Context
}

// Chromium opens a tab in the packed Chromium; without one the test is skipped.
func Chromium(t testing.TB) Tab {
	t.Helper()
	for _, o := range found(t) {
		if o.Kind == browser.Packed {
			return startChromium(t, o)
		}
	}
	t.Skip("there is no packed Chromium for this system: pages were not tried in it")
	return nil
}

func startChromium(t testing.TB, o browser.Options) Tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(o.Path), chromedp.Env(o.Env...), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", false))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	alloc, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	tab, leave := chromedp.NewContext(alloc)
	t.Cleanup(leave)
	c := &chromium{tab: tab}
	if err := chromedp.Do(tab, chromedp.Func(c.follow)); err != nil {
		t.Fatal(err)
	}
	return c
}

// follow listens to everything that may go wrong in the tab.
func (c *chromium) follow(ctx context.Context, t *chromedp.Target) error {
	listen(t, runtime.ConsoleAPICalled, func(e runtime.EventConsoleAPICalled) {
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			var parts []string
			for _, a := range e.Args {
				parts = append(parts, string(a.Value)+a.Description)
			}
			c.add("console: %s: %s", e.Type, strings.Join(parts, " "))
		}
	})
	listen(t, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) { c.add("exception: %+v", e.ExceptionDetails) })
	listen(t, cdplog.EntryAdded, func(e cdplog.EventEntryAdded) {
		if e.Entry.Level == cdplog.EntryLevelError || e.Entry.Level == cdplog.EntryLevelWarning {
			c.add("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	})
	listen(t, network.RequestWillBeSent, func(e network.EventRequestWillBeSent) { c.asked(e.Request.URL) })
	if _, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{}); err != nil {
		return err
	}
	if _, err := cdp.Call(ctx, t, cdplog.Enable, cdp.Empty{}); err != nil {
		return err
	}
	_, err := cdp.Call(ctx, t, runtime.Enable, cdp.Empty{})
	return err
}

// listen hands the events of one kind on until the tab is closed.
func listen[E any](t *chromedp.Target, event cdp.Event[E], each func(E)) {
	raw, _ := t.Subscribe(event.Method)
	go func() {
		for text := range raw {
			var e E
			if json.Unmarshal(text, &e) == nil {
				each(e)
			}
		}
	}()
}

// Open goes to an address.
func (c *chromium) Open(_ context.Context, address string, v View) error {
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	media := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	})
	return chromedp.Do(c.tab, chromedp.EmulateViewport(int64(v.Width), int64(v.Height)), media, chromedp.Navigate("about:blank"), chromedp.Navigate(address))
}

// Eval runs an expression.
func (c *chromium) Eval(_ context.Context, expression string) (json.RawMessage, error) {
	v, err := chromedp.Run(c.tab, chromedp.Evaluate[json.RawMessage]("Promise.resolve((()=>{return "+wrapped(expression)+"})()).then((v) => v === undefined ? null : v)", chromedp.EvalAwaitPromise))
	if err != nil {
		return nil, fmt.Errorf("in the page: %w", err)
	}
	return v, nil
}

// wrapped makes several statements one expression.
func wrapped(expression string) string {
	if strings.Contains(expression, ";") {
		text, _ := json.Marshal(expression)
		return "(0, eval)(" + string(text) + ")"
	}
	return "(" + expression + ")"
}

// keys are those that are no characters, as chromedp names them.
var keys = strings.NewReplacer(Enter, kb.Enter, Escape, kb.Escape, Right, kb.ArrowRight, Down, kb.ArrowDown)

// Type writes into what has the focus.
func (c *chromium) Type(_ context.Context, text string) error {
	return chromedp.Do(c.tab, chromedp.KeyEvent(keys.Replace(text)))
}

// Shot is a picture.
func (c *chromium) Shot(context.Context) ([]byte, error) {
	return chromedp.Run(c.tab, chromedp.CaptureScreenshot())
}
