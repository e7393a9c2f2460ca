package dash

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"assay/internal/cell"
	"assay/internal/matrix"
	"assay/internal/report"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Chosen says what a report is about; what is empty chooses all.
type Chosen struct {
	Title     string   `json:"title,omitempty" query:"title" maxLength:"200"`
	Models    []string `json:"models,omitempty" query:"models" maxItems:"1000"`
	Platforms []string `json:"platforms,omitempty" query:"platforms" maxItems:"20"`
	Families  []string `json:"families,omitempty" query:"families" maxItems:"20"`
	Hosts     []string `json:"hosts,omitempty" query:"hosts" maxItems:"100"`
	Since     string   `json:"since,omitempty" query:"since" format:"date"`
	Metric    string   `json:"metric,omitempty" query:"metric" enum:"verdict,latency,load,memory,speedup"`
	ByFamily  bool     `json:"by_family,omitempty" query:"by_family"`
}

// document is the report of what was chosen.
func (s *Server) document(ctx context.Context, c Chosen) (report.Document, error) {
	snap, err := s.snapshots.get(ctx)
	if err != nil {
		return report.Document{}, err
	}
	var since time.Time
	if c.Since != "" {
		if since, err = time.Parse(time.DateOnly, c.Since); err != nil {
			return report.Document{}, &WrongError{err}
		}
	}
	list := slices.DeleteFunc(snap.observations(), func(x matrix.Observation) bool { return !c.has(x, since) })
	if len(list) == 0 {
		return report.Document{}, &WrongError{errors.New("no stored result is of what was chosen")}
	}
	return report.NewDocument(list, report.Options{
		Now: s.o.Now().UTC(), Assay: s.o.Version, Title: c.Title, Metric: report.Metric(c.Metric), Family: c.ByFamily, Detail: true, Hosts: snap.hosts,
	}), nil
}

func (c Chosen) has(x matrix.Observation, since time.Time) bool {
	none := func(list []string, is func(string) bool) bool { return len(list) > 0 && !slices.ContainsFunc(list, is) }
	return !none(c.Models, func(m string) bool { return isOf(x.Cell, m) }) &&
		!none(c.Platforms, func(p string) bool { return string(x.Cell.Platform) == p }) &&
		!none(c.Families, func(f string) bool { return x.Cell.Family == f }) &&
		!none(c.Hosts, func(h string) bool { return x.Host == h }) && !x.StartedAt.Before(since)
}

// SavedReport is one in the folder.
type SavedReport struct {
	Name   string    `json:"name"`
	MadeAt time.Time `json:"made_at"`
	Bytes  int64     `json:"bytes"`
	Files  []string  `json:"files"`
}

// SavedReports are all, the newest first.
type SavedReports struct {
	Schema  int           `json:"schema"`
	Reports []SavedReport `json:"reports"`
}

// reportName is what a report may be called: nothing that leads out of its folder.
var reportName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (s *Server) reportDir(name string) (string, error) {
	if !reportName.MatchString(name) || !filepath.IsLocal(name) {
		return "", &WrongError{fmt.Errorf("%q cannot be the name of a report: it takes letters, digits, dots, dashes and underscores", name)}
	}
	return filepath.Join(s.o.Reports, name), nil
}

func (s *Server) listReports(context.Context, *struct{}) (*SavedReports, error) {
	out := &SavedReports{Schema: cell.Schema, Reports: []SavedReport{}}
	entries, err := os.ReadDir(s.o.Reports)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if one, ok := s.saved(e.Name()); e.IsDir() && ok {
			out.Reports = append(out.Reports, one)
		}
	}
	slices.SortFunc(out.Reports, func(a, b SavedReport) int { return cmp.Or(b.MadeAt.Compare(a.MadeAt), cmp.Compare(a.Name, b.Name)) })
	return out, nil
}

// saved is a report that is whole: it has its first file.
func (s *Server) saved(name string) (SavedReport, bool) {
	out := SavedReport{Name: name, Files: []string{}}
	dir, err := s.reportDir(name)
	if err != nil {
		return out, false
	}
	for i, f := range report.Files() {
		info, err := os.Lstat(filepath.Join(dir, f))
		if err != nil || !info.Mode().IsRegular() {
			if i == 0 {
				return out, false
			}
			continue
		}
		out.Files = append(out.Files, f)
		out.Bytes += info.Size()
		out.MadeAt = info.ModTime().UTC()
	}
	return out, true
}

// SaveBody is a report to be kept.
type SaveBody struct {
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$"`
		Chosen
	}
}

// OneReport is a report that was saved.
type OneReport struct {
	Schema int `json:"schema"`
	SavedReport
}

func (s *Server) saveReport(ctx context.Context, in *SaveBody) (*OneReport, error) {
	dir, err := s.reportDir(in.Body.Name)
	if err != nil {
		return nil, err
	}
	d, err := s.document(ctx, in.Body.Chosen)
	if err != nil {
		return nil, err
	}
	if _, err := report.WriteFolder(dir, d); err != nil {
		return nil, err
	}
	one, ok := s.saved(in.Body.Name)
	if !ok {
		return nil, fmt.Errorf("the report %s was not written", in.Body.Name)
	}
	return &OneReport{cell.Schema, one}, nil
}

// ReportPath names a report.
type ReportPath struct {
	Name string `path:"name" maxLength:"64"`
}

// FilePath names a file of a report.
type FilePath struct {
	ReportPath
	File   string `path:"file" maxLength:"64"`
	Inline bool   `query:"inline" doc:"show it rather than save it"`
}

// PreviewQuery asks for a report that is not kept.
type PreviewQuery struct {
	Chosen
	Format string `query:"format" enum:"html,md,svg,json,text" default:"html"`
}

// formats are the types of a report's formats.
var formats = map[report.Format]string{
	report.HTML: "text/html; charset=utf-8", report.Markdown: "text/markdown; charset=utf-8", report.SVG: "image/svg+xml",
	report.JSON: "application/json", report.Text: "text/plain; charset=utf-8",
}

// reportPolicy is for reports, which are one file with its styles and scripts inside:
// in a sandbox they are nobody's page, and reach nothing.
const reportPolicy = "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"

func (s *Server) reports() {
	answering(s, get("/v1/reports", "list-reports", "The saved reports", "reports"), s.listReports)
	answering(s, post("/v1/reports", "save-report", "Make a report and keep it", "reports", http.StatusCreated), s.saveReport)
	remove := operation{method: "DELETE", path: "/v1/reports/{name}", id: "delete-report", summary: "Delete a saved report", tag: "reports"}
	answering(s, remove, func(_ context.Context, in *ReportPath) (*OneReport, error) {
		dir, err := s.reportDir(in.Name)
		if err != nil {
			return nil, err
		}
		one, ok := s.saved(in.Name)
		if !ok {
			return nil, huma.Error404NotFound("there is no report " + in.Name)
		}
		return &OneReport{cell.Schema, one}, os.RemoveAll(dir)
	})
	s.previews(get("/v1/reports/preview", "preview-report", "A report that is not kept", "reports"))
	s.downloads(get("/v1/reports/{name}/{file}", "get-report-file", "A file of a saved report", "reports"))
}

// anyKind describes an operation whose answer has one of the formats' types.
func (s *Server) anyKind(o operation) huma.Operation {
	described := o.huma(s.api, nil, "text/html")
	content := described.Responses["200"].Content
	for _, kind := range formats {
		bare, _, _ := mime.ParseMediaType(kind)
		content[bare] = &huma.MediaType{Schema: &huma.Schema{}}
	}
	return described
}

func (s *Server) previews(o operation) {
	described := s.anyKind(o)
	huma.Register(s.api, described, func(ctx context.Context, q *PreviewQuery) (*streamed, error) {
		d, err := s.document(ctx, q.Chosen)
		if err != nil {
			return nil, asProblem(err)
		}
		var b bytes.Buffer
		format := report.Format(q.Format)
		if err := report.Write(&b, format, d); err != nil {
			return nil, asProblem(err)
		}
		return shown(newBody(b.Bytes()), formats[format], ""), nil
	})
}

// shown is a document that a browser shows, or saves under a name, in a sandbox.
func shown(b *body, kind, saveAs string) *streamed {
	return &streamed{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		w.Header().Set("Content-Security-Policy", reportPolicy)
		if saveAs != "" {
			w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": saveAs}))
		}
		b.send(w, r, kind)
	}}
}

func (s *Server) downloads(o operation) {
	described := s.anyKind(o)
	huma.Register(s.api, described, func(_ context.Context, in *FilePath) (*streamed, error) {
		one, ok := s.saved(in.Name)
		if !ok || !slices.Contains(one.Files, in.File) {
			return nil, huma.Error404NotFound("there is no such file of a report")
		}
		dir, err := s.reportDir(in.Name)
		if err != nil {
			return nil, asProblem(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, in.File))
		if err != nil {
			return nil, asProblem(err)
		}
		saveAs := in.Name + "-" + in.File
		if in.Inline {
			saveAs = ""
		}
		return shown(newBody(text), kindOf(in.File), saveAs), nil
	})
}
