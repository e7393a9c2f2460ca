package dash

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"assay/internal/atlas"
	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/detect"
	"assay/internal/platform"
	"assay/internal/report"
	"assay/internal/trend"

	"github.com/danielgtaylor/huma/v2"
)

// CompareQuery names two sides, in the words of assay compare.
type CompareQuery struct {
	A      string   `query:"a" maxLength:"200" doc:"a run, a name, a baseline, host:ID, target:TARGET, PACKAGE=VERSION or a day"`
	B      string   `query:"b" maxLength:"200"`
	Since  string   `query:"since" maxLength:"40" doc:"only results since this day or moment; without sides, before against since"`
	Across []string `query:"across" maxItems:"20" doc:"fields that may differ"`
}

func (s *Server) compare(ctx context.Context, q *CompareQuery) (*report.Compared, error) {
	for _, side := range []string{q.A, q.B} {
		// What lies on this machine's disk is no business of who asks over a network: Past reads no file for a side either.
		if strings.HasPrefix(side, "file:") || strings.ContainsAny(side, `/\`) && !strings.HasPrefix(side, "target:") {
			return nil, &WrongError{errFileSide}
		}
	}
	if err := compare.CheckAcross(q.Across); err != nil {
		return nil, &WrongError{err}
	}
	r, err := s.o.Past.Compare(ctx, Comparison{q.A, q.B, q.Since, q.Across})
	words := report.WithWords(r)
	return &words, err
}

// TrendsQuery chooses histories.
type TrendsQuery struct {
	Model    string `query:"model" maxLength:"200"`
	Platform string `query:"platform" maxLength:"50"`
	Since    string `query:"since" format:"date" doc:"only results since this day"`
	Steps    bool   `query:"steps" doc:"only cells whose level changed"`
}

func (q *TrendsQuery) name() string {
	return q.Model + "|" + q.Platform + "|" + q.Since + "|" + yes(q.Steps)
}

// Trends are the histories of cells.
type Trends struct {
	Schema int            `json:"schema"`
	Series []trend.Series `json:"series"`
}

func (s *Server) trends(_ context.Context, snap *snapshot, q *TrendsQuery) (*Trends, error) {
	if q.Platform != "" {
		if _, err := platform.Parse(q.Platform); err != nil {
			return nil, &WrongError{err}
		}
	}
	var since time.Time
	if q.Since != "" {
		at, err := time.Parse(time.DateOnly, q.Since)
		if err != nil {
			return nil, &WrongError{err}
		}
		since = at
	}
	var of []Stored
	for _, x := range snap.results {
		c := x.Result.Cell
		if (q.Model == "" || isOf(c, q.Model)) && (q.Platform == "" || string(c.Platform) == q.Platform) && !x.Result.StartedAt.Before(since) {
			of = append(of, x)
		}
	}
	list := trend.Of(snap.entries(of))
	if q.Steps {
		list = slices.DeleteFunc(list, func(x trend.Series) bool { return len(x.Steps) == 0 })
	}
	return &Trends{cell.Schema, list}, nil
}

// SQL is a question in SQL.
type SQL struct {
	Body struct {
		SQL string `json:"sql" minLength:"1" maxLength:"20000" doc:"one SELECT; see assay query --help for the views" example:"select hardware, count(*) from hardware_results group by hardware"`
	}
}

// Rows are the rows that answer it.
type Rows struct {
	Schema int              `json:"schema"`
	Rows   []map[string]any `json:"rows"`
}

// queryLimit is how long a question in SQL may take, and queryPatience how long it waits for others.
const (
	queryLimit    = 10 * time.Second
	queryPatience = 30 * time.Second
)

// query registers questions in SQL, whose answer is JSON already.
func (s *Server) query(o operation) {
	described := o.huma(s.api, reflect.TypeFor[Rows](), jsonKind)
	huma.Register(s.api, described, func(ctx context.Context, q *SQL) (*streamed, error) {
		patience := time.NewTimer(s.waitFor)
		defer patience.Stop()
		select {
		case s.asking <- struct{}{}: // each may take the memory that questions have
			defer func() { <-s.asking }()
		case <-patience.C:
			return nil, asProblem(&LaterError{errors.New("other questions are being answered: try again later")})
		case <-ctx.Done():
			return nil, asProblem(context.Cause(ctx))
		}
		ctx, cancel := context.WithTimeout(ctx, s.answerIn)
		defer cancel()
		text, err := s.o.Past.Query(ctx, q.Body.SQL)
		if ctx.Err() != nil {
			return nil, huma.Error422UnprocessableEntity("the question took longer than " + s.answerIn.String() + ": ask for less")
		}
		if err != nil {
			return nil, asProblem(err)
		}
		return newBody(unmarked(text)).stream(described.DefaultStatus, jsonKind), nil
	})
}

// detected is what this machine has, asked once and again after a while.
type detected struct {
	asking lock
	at     time.Time
	report *detect.Report
}

// lock is one that those who leave do not wait for.
type lock chan struct{}

func (l lock) take(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l lock) give() { <-l }

// detectedFor is how long a detection is believed.
const detectedFor = 10 * time.Minute

func (s *Server) detect(ctx context.Context, _ *struct{}) (*detect.Report, error) {
	if err := s.detected.asking.take(ctx); err != nil {
		return nil, err
	}
	defer s.detected.asking.give()
	if s.detected.report != nil && s.o.Now().Sub(s.detected.at) < detectedFor {
		return s.detected.report, nil
	}
	r, err := s.o.Lab.Detect(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	s.detected.report, s.detected.at = &r, s.o.Now()
	return &r, nil
}

// CanIUseQuery asks about models.
type CanIUseQuery struct {
	Models []string `query:"model,explode" minItems:"1" maxItems:"20" required:"true" doc:"types or checkpoints of the catalogue"`
	On     []string `query:"on,explode" maxItems:"20" doc:"only these targets"`
}

// Answers are what is known about models.
type Answers struct {
	Schema  int            `json:"schema"`
	Answers []atlas.Answer `json:"answers"`
}

func (s *Server) canIUse(ctx context.Context, q *CanIUseQuery) (*Answers, error) {
	book, err := atlas.Embedded()
	if err != nil {
		return nil, err
	}
	var targets []string
	for _, name := range q.On {
		t, err := platform.ParseTarget(name)
		if err != nil {
			return nil, &WrongError{err}
		}
		if text := t.String(); !slices.Contains(targets, text) {
			targets = append(targets, text)
		}
	}
	snap, err := s.snapshots.get(ctx)
	if err != nil {
		return nil, err
	}
	out := &Answers{Schema: cell.Schema, Answers: []atlas.Answer{}}
	for _, name := range q.Models {
		if err := s.isNamed(name); err != nil {
			return nil, err
		}
		m, err := s.o.Lab.Ask(ctx, name)
		if err != nil {
			return nil, err
		}
		answer, err := book.Ask(m, targets, own(snap, m.Type))
		if err != nil {
			return nil, err
		}
		out.Answers = append(out.Answers, answer)
	}
	return out, nil
}

// own are the stored results of a type, as the atlas takes them.
func own(s *snapshot, of string) []atlas.Own {
	var out []atlas.Own
	for _, x := range s.results {
		if x.Result.Cell.Type == of {
			out = append(out, atlas.Own{Result: x.Result, Host: x.Host, Imported: x.Imported})
		}
	}
	return out
}
