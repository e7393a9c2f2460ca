package dash

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"assay/internal/live"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// EventsQuery says from where on events are wanted.
type EventsQuery struct {
	RunPath
	After int64 `query:"after" minimum:"0" doc:"only events after this one"`
	Last  int64 `header:"Last-Event-ID" minimum:"0" doc:"the same, as browsers send it"`
}

// AllEventsQuery is the same for all runs.
type AllEventsQuery struct {
	After int64 `query:"after" minimum:"0" doc:"only events after this one; 0 is from now on"`
	Last  int64 `header:"Last-Event-ID" minimum:"0" doc:"the same, as browsers send it"`
}

const eventsKind = "text/event-stream"

// mostViewers is how many may watch at once.
const mostViewers = 256

// events registers the events of one run, and those of all.
func (s *Server) events(one, all operation) {
	described := one.huma(s.api, nil, eventsKind)
	huma.Register(s.api, described, func(_ context.Context, q *EventsQuery) (*streamed, error) {
		r, ok := s.runs.Get(q.ID)
		if !ok {
			return nil, huma.Error404NotFound("this server did not start a run " + q.ID)
		}
		return s.watching(r.Log(), max(q.After, q.Last))
	})
	described = all.huma(s.api, nil, eventsKind)
	huma.Register(s.api, described, func(_ context.Context, q *AllEventsQuery) (*streamed, error) {
		after := max(q.After, q.Last)
		if after == 0 {
			after = s.runs.All.Len()
		}
		return s.watching(s.runs.All, after)
	})
}

func (s *Server) watching(log *live.Log, after int64) (*streamed, error) {
	if s.viewers.Add(1) > mostViewers {
		s.viewers.Add(-1)
		return nil, huma.ErrorWithHeaders(huma.Error429TooManyRequests(fmt.Sprintf("%d viewers are watching already", mostViewers)), http.Header{"Retry-After": {"30"}})
	}
	return &streamed{Body: func(ctx huma.Context) {
		defer s.viewers.Add(-1)
		r, w := humago.Unwrap(ctx)
		s.watch(r.Context(), w, log, after)
	}}, nil
}

// beat is how often a silent stream shows that it lives.
const beat = 15 * time.Second

// watch sends events as they come until the log ends or the viewer leaves. Whoever
// reads slowly holds up nobody: see live.Log.
func (s *Server) watch(ctx context.Context, w http.ResponseWriter, log *live.Log, after int64) {
	h := w.Header()
	h.Set("Content-Type", eventsKind)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy must not collect them
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	if after > log.Len() { // it counted the events of a server that is gone
		after = 0
	}
	if _, err := fmt.Fprint(w, "retry: 1000\n\n"); err != nil || control.Flush() != nil {
		return
	}
	for s.context.Err() == nil {
		events, more, err := next(ctx, log, after)
		if err != nil && ctx.Err() != nil {
			return
		}
		var text []byte
		for _, e := range events {
			text = appendEvent(text, e)
			after = e.Seq
		}
		if err != nil {
			text = []byte(": still here\n\n")
		}
		if _, err := w.Write(text); err != nil || control.Flush() != nil {
			return
		}
		if !more && err == nil {
			return
		}
	}
}

// next waits for events, but not longer than a beat.
func next(ctx context.Context, log *live.Log, after int64) ([]live.Event, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, beat)
	defer cancel()
	return log.Next(ctx, after)
}

func appendEvent(b []byte, e live.Event) []byte {
	b = append(b, "id: "...)
	b = strconv.AppendInt(b, e.Seq, 10)
	b = append(b, "\nevent: "...)
	b = append(b, e.Name...)
	b = append(b, "\ndata: "...)
	b = append(b, e.Data...) // one line: JSON without indents
	return append(b, "\n\n"...)
}

// watchEvery is how often journals are looked at for viewers.
const watchEvery = time.Second

// watchJournals tells viewers when results have changed, whoever made them.
func (s *Server) watchJournals() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	last, _ := s.o.Past.Stamp() // what cannot be read has not changed
	for {
		select {
		case <-s.context.Done():
			return
		case <-tick.C:
		}
		if stamp, err := s.o.Past.Stamp(); err == nil && stamp != last {
			last = stamp
			s.runs.All.Add("journal", map[string]string{"stamp": stamp})
		}
	}
}
