package browser

import (
	"testing"

	"github.com/chromedp/cdproto/target"
)

// TestAnEarlyEndIsTold: a page may end before its name is known, and its end is
// told then; of a page that nobody opens nothing is kept.
func TestAnEarlyEndIsTold(t *testing.T) {
	t.Parallel()
	c := &chromium{tabs: map[target.ID]func(error){}, early: map[target.ID]target.EventTargetCrashed{}}
	c.gone(target.EventTargetCrashed{TargetID: "unknown"})
	if len(c.early) != 0 {
		t.Errorf("%v is kept for nobody", c.early)
	}
	c.opening = 2
	c.gone(target.EventTargetCrashed{TargetID: "a", Status: "killed", ErrorCode: 9})
	tell := func(error) { t.Error("told although the page had ended before") }
	if event, over := c.opened("a", tell, true); !over || ended(event).Error() != "the page crashed: killed (9)" {
		t.Errorf("%+v, %t", event, over)
	}
	var told error
	if _, over := c.opened("b", func(err error) { told = err }, true); over {
		t.Error("a page that lives is over")
	}
	if len(c.early) != 0 || c.opening != 0 {
		t.Errorf("%d are being opened, %v is kept", c.opening, c.early)
	}
	c.gone(target.EventTargetCrashed{TargetID: "b"})
	if told == nil || told.Error() != "the page was closed from within the browser" {
		t.Errorf("told %v", told)
	}
}
