package live

import (
	"context"
	"encoding/json"
	"sync"
)

// Event is one thing that happened, ready to be sent.
type Event struct {
	Seq  int64  // 1 is the first
	Name string // state, planned, started, finished, note, sample, end, missed
	Data []byte // JSON
}

// mostEvents is how many a log keeps: viewers who are further behind miss some.
const mostEvents = 4096

// Log is a list of events that grows at its end. Adding never waits; reading waits
// for what is not there yet.
type Log struct {
	mu     sync.Mutex
	events []Event // the newest ones
	last   int64
	ended  bool
	more   chan struct{} // closed and replaced at each change
}

// NewLog returns an empty log.
func NewLog() *Log { return &Log{more: make(chan struct{})} }

// Add appends an event. Data that is no JSON is left out: it is only shown.
func (l *Log) Add(name string, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.last++
	l.events = append(l.events, Event{l.last, name, text})
	if len(l.events) > mostEvents {
		// A copy of the newer half, so that the older one can be freed.
		l.events = append(make([]Event, 0, mostEvents+1), l.events[mostEvents/2:]...)
	}
	l.changed()
}

// End says that nothing more will come.
func (l *Log) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.ended = true
		l.changed()
	}
}

func (l *Log) changed() {
	close(l.more)
	l.more = make(chan struct{})
}

// Len is how many events there were.
func (l *Log) Len() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Next returns the events after one, and waits for them if there are none yet. more
// is false when the log has ended and all was returned. Events that are no longer
// kept are told by one with the name missed.
func (l *Log) Next(ctx context.Context, after int64) (events []Event, more bool, err error) {
	for {
		l.mu.Lock()
		events, ended, changed := l.since(after), l.ended, l.more
		l.mu.Unlock()
		if len(events) > 0 || ended {
			return events, !ended, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
}

func (l *Log) since(after int64) []Event {
	if after >= l.last || len(l.events) == 0 {
		return nil
	}
	first := l.events[0].Seq
	if after+1 >= first {
		return l.events[after+1-first:]
	}
	// Slices are shared with readers: events are never changed, only appended.
	return append([]Event{{first - 1, "missed", []byte(`{}`)}}, l.events...)
}
