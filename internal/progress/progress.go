// Package progress is what a run reports while it runs. There is one kind of
// value, an Event, and one interface, a Listener: a journal, a terminal, a page
// and another machine all hear the same. An event is plain data and travels as
// JSON.
package progress

import (
	"sync"

	"assay/internal/cell"
)

// Kind says which field of an event counts.
type Kind string

// The kinds of events.
const (
	KindPlanned  Kind = "planned"  // Cells is how many results are expected; a later one corrects it
	KindStarted  Kind = "started"  // Cell is being carried out
	KindFinished Kind = "finished" // Result is final
	KindNote     Kind = "note"     // Text is a sentence for the user
)

// Event is one thing that happened in a run.
type Event struct {
	Kind   Kind         `json:"kind"`
	Cells  int          `json:"cells,omitempty"`
	Cell   *cell.Cell   `json:"cell,omitempty"`
	Result *cell.Result `json:"result,omitempty"`
	Text   string       `json:"text,omitempty"`
}

// Planned says how many results are expected.
func Planned(cells int) Event { return Event{Kind: KindPlanned, Cells: cells} }

// Started says that a cell is being carried out.
func Started(c cell.Cell) Event { return Event{Kind: KindStarted, Cell: &c} }

// Finished says that a cell is done.
func Finished(r cell.Result) Event { return Event{Kind: KindFinished, Result: &r} }

// Note is a sentence for the user.
func Note(text string) Event { return Event{Kind: KindNote, Text: text} }

// Listener hears of a run. A run calls it from one goroutine at a time, in the
// order in which things happen, and waits for it. Events that it does not know
// are to be ignored. An error stops the run: a journal on a full disk. What is
// only shown is not a reason to stop; a listener that shows returns nil.
type Listener interface {
	Hear(e Event) error
}

// Func is a listener that is one function.
type Func func(Event) error

// Hear calls the function.
func (f Func) Hear(e Event) error { return f(e) }

// All returns a listener that has each event heard by all of these, in order,
// up to the first that fails.
func All(listeners ...Listener) Listener {
	return Func(func(e Event) error {
		for _, l := range listeners {
			if err := l.Hear(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// OneAtATime returns a listener that may be told from several goroutines.
func OneAtATime(l Listener) Listener {
	var mu sync.Mutex
	return Func(func(e Event) error {
		mu.Lock()
		defer mu.Unlock()
		return l.Hear(e)
	})
}
