package pages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"
)

// Lone is a page that this program calls itself, without a child between.
type Lone struct {
	visit *Visit
	about About
}

// Lone opens a page and waits until it has connected. The caller closes it.
func (h *Host) Lone(ctx context.Context, w Where) (*Lone, error) {
	v := h.Visit(ctx, w)
	p, err := v.fresh(ctx)
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return &Lone{v, p.page.About()}, nil
}

// About is what is known about the page's browser.
func (l *Lone) About() About { return l.about }

// Close closes the page, and its browser where that is its own.
func (l *Lone) Close() error { return l.visit.Close() }

// Call is one thing that a page is asked to do.
type Call struct {
	Op    string
	Files map[string]string // name → path on this machine, for the page to load
	Limit time.Duration     // 0 is a minute
	With  map[string]any    // the rest of the header
}

// RaisedError is what a page threw while it carried a call out.
type RaisedError struct {
	Op      string `json:"-"`
	Name    string `json:"name"`
	Message string `json:"message"`
}

func (e *RaisedError) Error() string {
	return fmt.Sprintf("the page could not %s: %s: %s", e.Op, e.Name, e.Message)
}

// Ask sends a call and reads the answer's header into a pointer, or nowhere
// with nil. What the page throws is a RaisedError.
func (l *Lone) Ask(ctx context.Context, c Call, answer any) error {
	whole := maps.Clone(c.With)
	if whole == nil {
		whole = map[string]any{}
	}
	whole["op"], whole["limit_s"] = c.Op, c.Limit.Seconds()
	if len(c.Files) > 0 {
		whole["files"] = c.Files
	}
	header, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	frame, err := l.visit.call(ctx, joined(header, nil))
	if err != nil {
		return err
	}
	if header, _, err = cut(frame); err != nil {
		return err
	}
	return read(c.Op, header, answer)
}

// read takes an answer's header apart.
func read(op string, header []byte, answer any) error {
	var raised struct {
		Error *RaisedError `json:"error"`
	}
	if err := json.Unmarshal(header, &raised); err != nil {
		return fmt.Errorf("the page's answer to %s is not JSON: %w", op, err)
	}
	if raised.Error != nil {
		raised.Error.Op = op
		return raised.Error
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(header, answer); err != nil {
		return fmt.Errorf("read the page's answer to %s: %w", op, err)
	}
	return nil
}
