package dash

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/clean"
	"assay/internal/live"
	"assay/internal/plan"

	"github.com/danielgtaylor/huma/v2"
)

// RunRow is a run in a list.
type RunRow struct {
	Run
	Live *live.Status `json:"live"` // null where this server did not start it
}

// RunList is some of the runs, the newest first.
type RunList struct {
	Schema int      `json:"schema"`
	Total  int      `json:"total"`
	Runs   []RunRow `json:"runs"`
}

// PageQuery is a part of a list.
type PageQuery struct {
	Limit  int `query:"limit" minimum:"1" maximum:"1000" default:"50"`
	Offset int `query:"offset" minimum:"0" maximum:"100000000"`
}

func (s *Server) listRuns(ctx context.Context, q *PageQuery) (*RunList, error) {
	snap, err := s.snapshots.get(ctx)
	if err != nil {
		return nil, err
	}
	var all []RunRow
	known := map[string]bool{}
	for _, r := range s.runs.List() {
		status, report := r.Status(), r.Report()
		status.Notes = status.Notes[max(0, len(status.Notes)-10):]
		known[r.ID()] = true
		all = append(all, RunRow{Run{ID: r.ID(), StartedAt: report.Run.StartedAt, Command: report.Run.Command, Name: report.Run.Name, Results: status.Done, Host: report.Host}, &status})
	}
	for _, r := range snap.runs {
		if !known[r.ID] {
			all = append(all, RunRow{Run: r})
		}
	}
	slices.SortStableFunc(all, func(a, b RunRow) int { return b.StartedAt.Compare(a.StartedAt) })
	from := min(q.Offset, len(all))
	return &RunList{cell.Schema, len(all), append([]RunRow{}, all[from:min(len(all), from+q.Limit)]...)}, nil
}

// RunRequest is what a run is asked for with: a request as package plan takes it.
type RunRequest struct {
	plan.Request
	Name string `json:"name,omitempty" maxLength:"100" doc:"for assay compare; several runs may share one"`
}

// RunBody is a request in a body.
type RunBody struct{ Body RunRequest }

// Begun is a run that was begun.
type Begun struct {
	Schema int        `json:"schema"`
	ID     string     `json:"id"`
	Cells  int        `json:"cells"`
	State  live.State `json:"state"`
}

func (s *Server) startRun(ctx context.Context, in *RunBody) (*Begun, error) {
	if in.Body.Name != "" {
		if err := cell.CheckNewName(in.Body.Name); err != nil {
			return nil, &WrongError{err}
		}
	}
	if err := noPaths(in.Body.Request); err != nil {
		return nil, err
	}
	return s.begin(ctx, in.Body.Request, in.Body.Name)
}

// begin plans a request and starts it.
func (s *Server) begin(ctx context.Context, r plan.Request, name string) (*Begun, error) {
	if r.Empty() && len(r.Cells) == 0 {
		return nil, &WrongError{fmt.Errorf("the request names no models: give models, families, tasks, key or all, or cells")}
	}
	w, err := s.o.Lab.Begin(ctx, r, name)
	if err != nil {
		return nil, err
	}
	run, err := s.runs.Start(w)
	if err != nil {
		_ = w.Drop() // the first error says more
		return nil, err
	}
	return &Begun{cell.Schema, run.ID(), len(w.Plan.Cells), run.State()}, nil
}

// noPaths refuses models and weights that are files of this machine: who asks over a
// network names models, and reads nobody's disk.
func noPaths(r plan.Request) error {
	names, weights := slices.Clone(r.Models), []string{r.Weights}
	for _, c := range r.Cells {
		names, weights = append(names, c.Checkpoint), append(weights, c.Weights)
	}
	for _, w := range weights {
		if w != "" && w != cell.Random && w != cell.Hub {
			return &WrongError{fmt.Errorf("weights are random or hub, and not %q: over HTTP no folder can be named", w)}
		}
	}
	for _, n := range names {
		if filepath.IsAbs(n) || plan.IsPath(n) || strings.Contains(n, "..") || strings.HasSuffix(n, ".onnx") || strings.Contains(n, `\`) {
			return &WrongError{fmt.Errorf("%q is a path: over HTTP only models of the catalogue and of the Hub can be named", n)}
		}
	}
	return nil
}

// RunPath names a run.
type RunPath struct {
	ID string `path:"id" maxLength:"100"`
}

// RunPage is a run with its results, as test --json prints it, and how far it is.
type RunPage struct {
	Schema  int          `json:"schema"`
	Run     Run          `json:"run"`
	Host    cell.Host    `json:"host"`
	Results []Listed     `json:"results"`
	Live    *live.Status `json:"live"` // null where this server did not start it
}

func (s *Server) run(ctx context.Context, q *RunPath) (*RunPage, error) {
	snap, err := s.snapshots.get(ctx)
	if err != nil {
		return nil, err
	}
	out := &RunPage{Schema: cell.Schema, Results: []Listed{}}
	for _, x := range snap.results {
		if x.Run == q.ID {
			out.Results = append(out.Results, listed(x))
		}
	}
	slices.Reverse(out.Results) // in the order in which they were finished
	i := slices.IndexFunc(snap.runs, func(r Run) bool { return r.ID == q.ID })
	if i >= 0 {
		out.Run, out.Host = snap.runs[i], snap.runs[i].Host
	}
	r, ok := s.runs.Get(q.ID)
	if !ok && i < 0 {
		return nil, noRun(q.ID)
	}
	if ok {
		out.follow(r)
	}
	return out, nil
}

// follow takes from a run in progress what is not stored yet, or not read yet.
func (p *RunPage) follow(r *live.Run) {
	status, report := r.Status(), r.Report()
	p.Live, p.Host = &status, report.Host
	p.Run = Run{ID: r.ID(), StartedAt: report.Run.StartedAt, Command: report.Run.Command, Name: report.Run.Name, Results: status.Done, Host: report.Host}
	if len(report.Results) <= len(p.Results) {
		return
	}
	known := map[string]bool{}
	for _, x := range p.Results {
		known[x.Result.Cell.Hash+x.Result.StartedAt.Format(time.RFC3339Nano)] = true
	}
	for _, x := range report.Results {
		if !known[x.Cell.Hash+x.StartedAt.Format(time.RFC3339Nano)] {
			p.Results = append(p.Results, Listed{Run: r.ID(), Host: report.Host.ID, Result: x})
		}
	}
}

func noRun(id string) error { return huma.Error404NotFound("there is no run " + id) }

// Done says that something was done.
type Done struct {
	Schema int        `json:"schema"`
	ID     string     `json:"id"`
	State  live.State `json:"state"`
}

func (s *Server) cancelRun(_ context.Context, q *RunPath) (*Done, error) {
	r, ok := s.runs.Get(q.ID)
	if !ok {
		return nil, huma.Error404NotFound("this server did not start a run " + q.ID)
	}
	r.Cancel()
	return &Done{cell.Schema, q.ID, r.State()}, nil
}

// RetryQuery says what of a run is to be done again.
type RetryQuery struct {
	RunPath
	Only string `query:"only" enum:"failed,all" default:"failed" doc:"the cells that fail or broke, or all"`
}

func (s *Server) retryRun(ctx context.Context, q *RetryQuery) (*Begun, error) {
	snap, err := s.snapshots.fresh(ctx)
	if err != nil {
		return nil, err
	}
	var results []cell.Result
	how := cell.Plan{}
	if r, ok := s.runs.Get(q.ID); ok {
		results, how = r.Report().Results, r.Plan()
	} else {
		for _, x := range snap.results {
			if x.Run == q.ID {
				results = append(results, x.Result)
				how.Timing = x.Result.Timing
			}
		}
	}
	if results == nil {
		return nil, noRun(q.ID)
	}
	cells := worthTrying(results, q.Only == "all")
	if len(cells) == 0 {
		return nil, &WrongError{fmt.Errorf("no cell of the run %s fails: with only=all all are run again", q.ID)}
	}
	return s.begin(ctx, again(how, cells), "")
}

// worthTrying are the cells of results, each once, those of fallbacks left out: the
// cell that was asked for leads to them again.
func worthTrying(results []cell.Result, all bool) []cell.Cell {
	var out []cell.Cell
	seen := map[string]bool{}
	for _, r := range results {
		failed := r.Verdict == cell.Fails || r.Verdict == cell.Unknown
		if r.Fallback != nil && r.Fallback.From != "" || !all && !failed || seen[r.Cell.Hash] {
			continue
		}
		seen[r.Cell.Hash] = true
		c := r.Cell
		c.Hash, c.Target = "", ""
		out = append(out, c)
	}
	return out
}

// LogQuery says how much of a log is wanted.
type LogQuery struct {
	RunPath
	Bytes int `query:"bytes" minimum:"1" maximum:"8388608" default:"65536" doc:"of its end"`
}

// logs registers the log of a run, which is text.
func (s *Server) logs(o operation) {
	const kind = "text/plain"
	described := o.huma(s.api, nil, kind)
	huma.Register(s.api, described, func(ctx context.Context, q *LogQuery) (*streamed, error) {
		text, err := s.logOf(ctx, q.ID)
		if err != nil {
			return nil, asProblem(err)
		}
		if len(text) > q.Bytes {
			text = bytes.ToValidUTF8(text[len(text)-q.Bytes:], nil)
		}
		return newBody(text).stream(described.DefaultStatus, kind+"; charset=utf-8"), nil
	})
}

// logOf is what a run said: its notes, a line for each result, and the logs of those
// that fail.
func (s *Server) logOf(ctx context.Context, id string) ([]byte, error) {
	var b bytes.Buffer
	r, ok := s.runs.Get(id)
	if ok {
		for _, n := range r.Status().Notes {
			fmt.Fprintf(&b, "%s %s\n", n.At.Format(time.RFC3339), clean.Line(n.Text))
		}
	}
	stored, err := s.o.Past.Logs(ctx, id)
	if err != nil {
		return nil, err
	}
	if !ok && len(stored) == 0 {
		return nil, noRun(id)
	}
	slices.SortStableFunc(stored, func(a, b Stored) int { return a.Result.StartedAt.Compare(b.Result.StartedAt) })
	for _, x := range stored {
		fmt.Fprintf(&b, "%s %s on %s: %s\n", x.Result.StartedAt.Format(time.RFC3339), x.Result.Cell.Model(), x.Result.Cell.Target, x.Result.Shown().Word())
		if f := x.Result.Failure; f != nil {
			fmt.Fprintf(&b, "  %s: %s\n", f.Class, clean.Line(f.Detail))
			for line := range strings.Lines(f.Log) {
				fmt.Fprintf(&b, "  | %s\n", clean.Line(strings.TrimRight(line, "\n")))
			}
		}
	}
	return b.Bytes(), nil
}
