package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

func pieces(t *testing.T, text string, limit int) []*nats.Msg {
	t.Helper()
	out, err := split("x", text, limit)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// give adds messages and returns what the last of them gave.
func give(p *parts, from string, messages ...*nats.Msg) (body []byte, done bool, err error) {
	for _, m := range messages {
		body, done, err = p.add(from, m)
	}
	return body, done, err
}

// A message in parts arrives whole, and nobody but its sender can add to it, spoil it or read it.
func TestParts(t *testing.T) {
	t.Parallel()
	p := newParts(limits{each: 1000, all: 2000, keep: time.Minute})
	defer p.close()
	text := strings.Repeat("abc", 100)
	want, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	a := pieces(t, text, 100)
	if len(a) != 4 {
		t.Fatalf("%d parts", len(a))
	}
	if _, done, err := give(p, "lab", a[0], a[1], a[2]); done || err != nil {
		t.Fatalf("done %v, %v", done, err)
	}
	if body, done, err := give(p, "other", a[3]); done || err == nil || body != nil {
		t.Errorf("another ends the message: %q, %v", body, err)
	}
	if body, done, err := give(p, "lab", a[3]); !done || err != nil || !bytes.Equal(body, want) {
		t.Errorf("%q, done %v, %v", body, done, err)
	}
	if p.all != 0 || len(p.by) != 0 || len(p.wholes) != 0 {
		t.Errorf("%d bytes of %d senders are kept", p.all, len(p.by))
	}
	if body, done, err := give(p, "lab", pieces(t, "short", 100)...); !done || err != nil || string(body) != `"short"` {
		t.Errorf("%q, %v", body, err)
	}
	// One that lacks a part is asked for again.
	b := pieces(t, text, 100)
	if _, done, err := give(p, "lab", b[0], b[2], b[3]); done || !isLater(err) {
		t.Errorf("done %v, %v", done, err)
	}
	b[1].Header.Set(part, "many")
	if _, _, err := p.add("lab", b[1]); err == nil || isLater(err) {
		t.Errorf("a part without a number: %v", err)
	}
}

func isLater(err error) bool { _, ok := err.(errLater); return ok } //nolint:errorlint // it is never wrapped

// What is on its way is limited for each sender and for all of them.
func TestPartsLimits(t *testing.T) {
	t.Parallel()
	p := newParts(limits{each: 250, all: 600, keep: time.Minute})
	defer p.close()
	big := pieces(t, strings.Repeat("x", 300), 100)
	if _, _, err := give(p, "lab", big[0], big[1], big[2]); err == nil || isLater(err) {
		t.Errorf("a message that can never be taken: %v", err)
	}
	begun := func() *nats.Msg { return pieces(t, strings.Repeat("x", 300), 200)[0] }
	for _, name := range []string{"a", "b", "c"} {
		if _, _, err := give(p, name, begun()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := give(p, "a", begun()); !isLater(err) {
		t.Errorf("more than one sender may have: %v", err)
	}
	if _, _, err := give(p, "d", begun()); !isLater(err) {
		t.Errorf("more than all may have: %v", err)
	}
	if p.all != 600 || p.by["a"] != 200 {
		t.Errorf("%d bytes, %d of a", p.all, p.by["a"])
	}
}

// A message whose next part does not come is forgotten.
func TestPartsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newParts(limits{each: 1000, all: 1000, keep: time.Minute})
		a := pieces(t, strings.Repeat("x", 300), 100)
		_, _, _ = give(p, "lab", a[0])
		time.Sleep(50 * time.Second)
		_, _, _ = give(p, "lab", a[1])
		time.Sleep(50 * time.Second)
		synctest.Wait()
		if p.all != 200 {
			t.Errorf("%d bytes are kept of a message that is on its way", p.all)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if p.all != 0 || len(p.wholes) != 0 {
			t.Errorf("%d bytes are kept for ever", p.all)
		}
		if _, done, err := give(p, "lab", a[2], a[3]); done || !isLater(err) {
			t.Errorf("done %v, %v", done, err)
		}
	})
}
