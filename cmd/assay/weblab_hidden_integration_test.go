//go:build integration

package main

import (
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// TestIntegrationWebLabHidden: somebody times bert and puts the window
// away meanwhile; the result says that its time is not to be relied on.
func TestIntegrationWebLabHidden(t *testing.T) {
	t.Parallel()
	tab, p := somebody(t), withWeb(t)
	lab := p.serve(t, "bert")
	if err := chromedp.Do(tab, chromedp.Navigate(lab.urls[0]), chromedp.WaitVisible("#choice")); err != nil {
		t.Fatal(err)
	}
	see(tab, t, `for (const box of document.querySelectorAll("input[type=checkbox]")) {
		if (box.checked !== ["0", "cpu/wasm@chromium"].includes(box.value)) box.click();
	}
	document.querySelector("input[type=radio][value=quick]").click();
	document.getElementById("run").click(); true`)
	window, err := chromedp.Call(tab, browser.GetWindowForTarget, browser.GetWindowForTargetParams{})
	if err != nil {
		t.Fatal(err)
	}
	away := browser.SetWindowBoundsParams{WindowID: window.WindowID, Bounds: &browser.Bounds{WindowState: browser.WindowStateMinimized}}
	if _, err := chromedp.Call(tab, browser.SetWindowBounds, away); err != nil {
		t.Fatal(err)
	}
	see(tab, t, `document.hidden`)
	see(tab, t, `document.getElementById("status").textContent === "Done: 1 of 1."`)
	see(tab, t, `document.querySelector("#rows tr").textContent.includes("the page was hidden while it was timed")`)
}
