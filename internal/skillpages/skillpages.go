// Package skillpages runs the tests of skills in a browser.
//
// A skill for browsers is an ES module and a page; its test is a module beside
// them, which runs itself where it is imported. So all that is needed here is a
// site and a page that imports it:
//
//	Run ── opens ──► trial.html ── imports ──► test_skill_hf_TYPE.mjs ──► skill, page, graph
//	 ▲                    │
//	 └──── outcome ◄──────┘
//
// The site (site.go) has the folder of skills, the graphs that were exported for
// them and ONNX Runtime Web, on the loopback interface, each trial under an
// address with its own secret. Its caller decides which browser opens the page.
// The outcome of a module's tests is reported as pytests reports a file's, so
// that a reader of both sees the same thing.
package skillpages

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"assay/internal/pages"
	"assay/internal/pytests"
)

// Trial is a test and what it is given.
type Trial struct {
	Module   string // the test's file
	Artefact string // the folder of the graph, among the artefacts
}

// Run is how trials are made.
type Run struct {
	Skills    string // the folder of the modules
	Artefacts string // the folder of the graphs' folders
	Runtime   string // the folder of ONNX Runtime Web
	Platform  string // where the skills are asked to run
	// Open opens an address in a browser that has the platform.
	Open  func(ctx context.Context, url string) (pages.Page, error)
	Limit time.Duration // for one trial
	// Done is told about each module as soon as it is known; it may be nil.
	Done func(pytests.File)
}

// Modules makes the trials one after the other, each in its own page, and
// returns what became of each, in order.
func (r Run) Modules(ctx context.Context, trials []Trial) ([]pytests.File, error) {
	s, err := r.serve()
	if err != nil {
		return nil, err
	}
	defer s.close()
	var files []pytests.File
	for _, t := range trials {
		rows, err := r.rows(ctx, s, t)
		if err != nil {
			return files, err
		}
		file := fileOf(t.Module, rows)
		if r.Done != nil {
			r.Done(file)
		}
		files = append(files, file)
	}
	return files, nil
}

// rows are what a trial came to. A page that is gone or silent costs its own
// trial; only who has no more time has an error.
func (r Run) rows(ctx context.Context, s *site, t Trial) ([]row, error) {
	limited, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	told, err := r.told(limited, s, t)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		err = fmt.Errorf("it took longer than %s", r.Limit)
	}
	if err != nil {
		told = []row{{Test: "(page)", Outcome: failed, Why: err.Error()}}
	}
	return told, nil
}

// told opens a trial's page and waits for what it says.
func (r Run) told(ctx context.Context, s *site, t Trial) ([]row, error) {
	secret := rand.Text()
	outcome := s.expect(secret, given{
		Module: "/skills/" + t.Module, Platform: r.Platform, Artefact: "/artefacts/" + t.Artefact + "/",
		Packages: map[string]string{"ort": s.address + "/runtime/"},
	})
	defer s.forget(secret)
	page, err := r.Open(ctx, s.address+"/trials/"+secret+"/")
	if err != nil {
		return nil, fmt.Errorf("open a page: %w", err)
	}
	defer page.Close()
	select {
	case rows := <-outcome:
		return rows, nil
	case err := <-page.Gone():
		return nil, fmt.Errorf("the page is gone: %w", err)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// row is what became of one test, as its module tells it.
type row struct {
	Test    string `json:"test"`
	Outcome string `json:"outcome"`
	Why     string `json:"why"`
}

const (
	passed  = "passed"
	skipped = "skipped"
	failed  = "failed"
)

// fileOf is what became of a module's tests. What says neither that it passed
// nor that it was skipped has failed, and so has a module that says nothing.
func fileOf(name string, rows []row) pytests.File {
	f := pytests.File{Name: name, Skipped: []pytests.Case{}, Failed: []pytests.Case{}}
	if len(rows) == 0 {
		rows = []row{{Test: "(module)", Outcome: failed, Why: "it has no tests"}}
	}
	for _, r := range rows {
		switch is := (pytests.Case{Test: r.Test, Why: r.Why}); r.Outcome {
		case passed:
			f.Passed++
		case skipped:
			f.Skipped = append(f.Skipped, is)
		default:
			f.Failed = append(f.Failed, is)
		}
	}
	return f
}
