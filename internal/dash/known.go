package dash

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/live"
	"assay/internal/matrix"
	"assay/internal/modelpage"
	"assay/internal/plan"
	"assay/internal/platform"
	"assay/internal/report"

	"github.com/danielgtaylor/huma/v2"
)

// About says what the server is.
type About struct {
	Schema    int       `json:"schema"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	Token     bool      `json:"token"`   // whether one is needed
	WebLab    string    `json:"web_lab"` // its address; "" without one
}

func (s *Server) about(context.Context, *struct{}) (*About, error) {
	return &About{cell.Schema, s.o.Version, s.started, s.o.Token != "", s.o.WebLab}, nil
}

// MatrixQuery narrows a matrix.
type MatrixQuery struct {
	Metric string `query:"metric" enum:"verdict,latency,load,memory,speedup" doc:"what text shows in the squares"`
	Family string `query:"family" maxLength:"100" doc:"only models of this family"`
	Model  string `query:"model" maxLength:"200" doc:"only this type or checkpoint"`
	All    bool   `query:"all" doc:"a row for each type of the catalogue, tried or not"`
}

func (q *MatrixQuery) name() string {
	return q.Metric + "|" + q.Family + "|" + q.Model + "|" + yes(q.All)
}

func yes(b bool) string {
	if b {
		return "1"
	}
	return ""
}

// matrix is what assay matrix show --json prints.
func (s *Server) matrix(_ context.Context, snap *snapshot, q *MatrixQuery) (*report.Document, error) {
	var rows []matrix.Model
	if q.All {
		for _, c := range s.all() {
			if e := c.Entry; (q.Family == "" || e.Family == q.Family) && (q.Model == "" || isOf(cell.Cell{Type: e.Type}, q.Model)) {
				rows = append(rows, matrix.Model{Type: e.Type, Family: e.Family, Priority: e.Priority})
			}
		}
	}
	list := slices.DeleteFunc(snap.observations(), func(x matrix.Observation) bool {
		return q.Family != "" && x.Cell.Family != q.Family || q.Model != "" && !isOf(x.Cell, q.Model)
	})
	d := report.NewDocument(list, report.Options{Now: s.o.Now().UTC(), Assay: s.o.Version, Metric: report.Metric(q.Metric), Models: rows, Hosts: snap.hosts})
	return &d, nil
}

// isOf reports whether a cell is of the model that was named.
func isOf(c cell.Cell, model string) bool {
	names := []string{c.Type, c.Model(), c.Checkpoint, c.Checkpoint[strings.LastIndex(c.Checkpoint, "/")+1:]}
	return slices.ContainsFunc(names, func(n string) bool { return n != "" && strings.EqualFold(n, model) })
}

// ModelsQuery narrows the catalogue.
type ModelsQuery struct {
	Family   string `query:"family" maxLength:"100"`
	Task     string `query:"task" maxLength:"100"`
	Priority string `query:"priority" enum:"high,medium,low"`
	Key      bool   `query:"key" doc:"the thirteen key models"`
	Search   string `query:"search" maxLength:"100" doc:"text in the type, class, task, family or checkpoint"`
}

func (s *Server) models(_ context.Context, q *ModelsQuery) (*report.ModelList, error) {
	sel := catalog.Selector{Key: q.Key, Families: some(q.Family), Tasks: some(q.Task), Priorities: some(q.Priority)}
	sel.All = sel.Empty()
	choices, err := s.o.Catalog.Select(sel)
	if err != nil {
		return nil, &WrongError{err}
	}
	out := &report.ModelList{Schema: cell.Schema, Models: []report.ModelRow{}}
	for _, c := range choices {
		if q.Search == "" || c.Entry.Matches(q.Search) {
			out.Models = append(out.Models, report.ModelRow(c.Entry.Row()))
		}
	}
	return out, nil
}

func some(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// ModelPath names a model.
type ModelPath struct {
	Model string `path:"model" maxLength:"300" doc:"a type or a checkpoint; a slash in it is written %2F" example:"bert"`
}

// ModelQuery says which of a type's models a page is about.
type ModelQuery struct {
	ModelPath
	Size string `query:"size" enum:"tiny,full"`
	Task string `query:"task" maxLength:"100"`
}

func (s *Server) model(ctx context.Context, q *ModelQuery) (*modelpage.Page, error) {
	if err := s.isNamed(q.Model); err != nil {
		return nil, err
	}
	snap, err := s.snapshots.get(ctx)
	if err != nil {
		return nil, err
	}
	p, err := s.o.Lab.Page(ctx, plan.Look{Model: q.Model, Size: q.Size, Task: q.Task, Batch: 1}, snap.ofType)
	return &p, err
}

// isNamed refuses what is no model of the catalogue. A path is none: what lies on
// this machine's disk is no business of who asks over a network.
func (s *Server) isNamed(model string) error {
	_, err := s.o.Catalog.Resolve(model)
	if unknown := (*catalog.UnknownModelError)(nil); errors.As(err, &unknown) {
		return huma.Error404NotFound(err.Error())
	}
	if err != nil {
		return &WrongError{err}
	}
	return nil
}

// Listed is a stored result in a list: without samples.
type Listed struct {
	ID       string      `json:"id"`
	Run      string      `json:"run"`
	Host     string      `json:"host"`
	Imported bool        `json:"imported"`
	Result   cell.Result `json:"result"`
}

// ResultList is some of the stored results, the newest first.
type ResultList struct {
	Schema  int      `json:"schema"`
	Total   int      `json:"total"`
	Results []Listed `json:"results"`
}

// ResultsQuery chooses results.
type ResultsQuery struct {
	Model    string `query:"model" maxLength:"200"`
	Platform string `query:"platform" maxLength:"50"`
	Target   string `query:"target" maxLength:"100"`
	Verdict  string `query:"verdict" enum:"works,partial,fails,unavailable,unknown"`
	Host     string `query:"host" maxLength:"100"`
	Run      string `query:"run" maxLength:"100"`
	Limit    int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Offset   int    `query:"offset" minimum:"0" maximum:"100000000"`
}

func (q *ResultsQuery) has(x Stored) bool {
	c := x.Result.Cell
	return (q.Model == "" || isOf(c, q.Model)) && (q.Platform == "" || string(c.Platform) == q.Platform) && (q.Target == "" || c.Target == q.Target) &&
		(q.Verdict == "" || string(x.Result.Verdict) == q.Verdict) && (q.Host == "" || x.Host == q.Host) && (q.Run == "" || x.Run == q.Run)
}

func (s *Server) results(ctx context.Context, q *ResultsQuery) (*ResultList, error) {
	snap, err := s.snapshots.get(ctx)
	if err != nil {
		return nil, err
	}
	out := &ResultList{Schema: cell.Schema, Results: []Listed{}}
	for _, x := range snap.results {
		if !q.has(x) {
			continue
		}
		out.Total++
		if out.Total > q.Offset && len(out.Results) < q.Limit {
			out.Results = append(out.Results, listed(x))
		}
	}
	return out, nil
}

func listed(x Stored) Listed {
	return Listed{x.ID, x.Run, x.Host, x.Imported, *live.Brief(x.Result)}
}

// Whole is one result with all that is known about it.
type Whole struct {
	Schema   int         `json:"schema"`
	ID       string      `json:"id"`
	Run      *Run        `json:"run"`
	Host     cell.Host   `json:"host"`
	Imported bool        `json:"imported"`
	Command  string      `json:"command"` // that runs the same cell
	Result   cell.Result `json:"result"`
}

// ResultPath names a result.
type ResultPath struct {
	ID string `path:"id" maxLength:"100"`
}

func (s *Server) result(ctx context.Context, q *ResultPath) (*Whole, error) {
	snap, err := s.snapshots.get(ctx)
	if err != nil {
		return nil, err
	}
	x, ok, err := s.o.Past.Whole(ctx, q.ID)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, huma.Error404NotFound("there is no result " + q.ID)
	}
	out := &Whole{Schema: cell.Schema, ID: x.ID, Host: cell.Host{ID: x.Host}, Imported: x.Imported, Command: commandOf(x.Result), Result: x.Result}
	if i := slices.IndexFunc(snap.runs, func(r Run) bool { return r.ID == x.Run }); i >= 0 {
		out.Run, out.Host = &snap.runs[i], snap.runs[i].Host
	}
	return out, nil
}

// PlatformRow is one of the eight platforms, and what is stored of it.
type PlatformRow struct {
	Platform platform.Name        `json:"platform"`
	Title    string               `json:"title"`
	DTypes   []platform.DType     `json:"dtypes"`
	Engines  []platform.Engine    `json:"engines"`
	Fallback []platform.Name      `json:"fallback"`
	Results  int                  `json:"results"`
	Models   int                  `json:"models"`
	Planned  int                  `json:"planned"` // models of the catalogue
	Counts   map[cell.Verdict]int `json:"counts"`  // of models, by their newest result
	Newest   *time.Time           `json:"newest"`
}

// PlatformList is all of them.
type PlatformList struct {
	Schema    int           `json:"schema"`
	Platforms []PlatformRow `json:"platforms"`
}

func (s *Server) platforms(_ context.Context, snap *snapshot, _ *struct{}) (*PlatformList, error) {
	out := &PlatformList{Schema: cell.Schema, Platforms: []PlatformRow{}}
	planned := len(s.all())
	for _, p := range platform.All() {
		row := PlatformRow{
			Platform: p.Name, Title: p.Title, DTypes: append([]platform.DType{}, p.DTypes...), Engines: append([]platform.Engine{}, p.Engines...),
			Fallback: append([]platform.Name{}, p.Fallback...), Planned: planned, Counts: map[cell.Verdict]int{},
		}
		models := map[string]bool{}
		for _, x := range snap.results {
			if x.Result.Cell.Platform != p.Name || x.Result.Cell.Type == "noop" {
				continue
			}
			row.Results++
			if row.Newest == nil {
				row.Newest = &x.Result.StartedAt
			}
			if name := matrixName(x.Result.Cell); !models[name] {
				models[name] = true
				row.Counts[x.Result.Verdict]++
			}
		}
		row.Models = len(models)
		out.Platforms = append(out.Platforms, row)
	}
	return out, nil
}

// HostRow is a machine, and what is stored of it.
type HostRow struct {
	Host      cell.Host       `json:"host"`
	Runs      int             `json:"runs"`
	Results   int             `json:"results"`
	Models    int             `json:"models"`
	Newest    *time.Time      `json:"newest"`
	Platforms []platform.Name `json:"platforms"`
	Imported  bool            `json:"imported"`
}

// HostList is all of them, that with the newest result first.
type HostList struct {
	Schema int       `json:"schema"`
	Hosts  []HostRow `json:"hosts"`
}

func (s *Server) hosts(_ context.Context, snap *snapshot, _ *struct{}) (*HostList, error) {
	out := &HostList{Schema: cell.Schema, Hosts: []HostRow{}}
	for _, h := range snap.hosts {
		row := HostRow{Host: h, Platforms: []platform.Name{}}
		models := map[string]bool{}
		for _, x := range snap.results {
			if x.Host != h.ID {
				continue
			}
			row.Results++
			row.Imported = row.Imported || x.Imported
			if row.Newest == nil {
				row.Newest = &x.Result.StartedAt
			}
			models[matrixName(x.Result.Cell)] = true
			if p := x.Result.Cell.Platform; !slices.Contains(row.Platforms, p) {
				row.Platforms = append(row.Platforms, p)
			}
		}
		for _, r := range snap.runs {
			if r.Host.ID == h.ID {
				row.Runs++
			}
		}
		slices.Sort(row.Platforms)
		row.Models = len(models)
		out.Hosts = append(out.Hosts, row)
	}
	slices.SortStableFunc(out.Hosts, func(a, b HostRow) int { return newest(b).Compare(newest(a)) })
	return out, nil
}

func newest(h HostRow) time.Time {
	return *cmp.Or(h.Newest, &time.Time{})
}
