package progress

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"assay/internal/cell"

	"github.com/google/go-cmp/cmp"
)

// An event reads back as what was written: another machine hears the same.
func TestEventsTravel(t *testing.T) {
	t.Parallel()
	c := cell.Cell{Type: "bert"}.Normal()
	for want, e := range map[string]Event{
		`{"kind":"planned","cells":3}`:                Planned(3),
		`{"kind":"note","text":"waiting for memory"}`: Note("waiting for memory"),
		"started":  Started(c),
		"finished": Finished(cell.Result{Cell: c, Verdict: cell.Works, Evidence: cell.Measured}),
	} {
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if want[0] == '{' && string(b) != want {
			t.Errorf("%s, want %s", b, want)
		}
		var back Event
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e, back); diff != "" {
			t.Error(diff)
		}
	}
}

// All hear in order; one that fails keeps the event from those behind it.
func TestAll(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	var heard []string
	say := func(name string, err error) Listener {
		return Func(func(e Event) error {
			heard = append(heard, name+" "+string(e.Kind))
			return err
		})
	}
	if err := All(say("journal", nil), say("terminal", nil)).Hear(Planned(1)); err != nil {
		t.Error(err)
	}
	if err := All(say("journal", full), say("terminal", nil)).Hear(Note("x")); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if want := []string{"journal planned", "terminal planned", "journal note"}; !slices.Equal(heard, want) {
		t.Errorf("heard %q, want %q", heard, want)
	}
}

// Whoever tells, the listener hears one event after the other.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	heard := 0 // which the race detector watches
	l := OneAtATime(Func(func(Event) error { heard++; return nil }))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { _ = l.Hear(Note("x")) })
	}
	wg.Wait()
	if heard != 50 {
		t.Errorf("%d events were heard", heard)
	}
}
