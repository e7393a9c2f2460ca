package session

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/facts"
	"assay/internal/runner"
)

const derived = `{"schema":1,"evidence":"derived","class":"BertForMaskedLM","parameters":{"total":7}}`

// TestDerive: the runner's answer is a sheet; an exception or a dead child is
// a sentence.
func TestDerive(t *testing.T) {
	t.Parallel()
	c := cell.Cell{Type: "bert", Batch: 2, Seq: 8}.Normal()
	good := &answering{event: runner.Data{Data: json.RawMessage(derived)}}
	got, err := derive(t.Context(), good, c, []byte(`{"type":"bert"}`))
	if err != nil || got.Sheet.Parameters.Total != 7 || string(got.Recipe) != `{"type":"bert"}` {
		t.Errorf("%+v, %v", got, err)
	}
	if want := (runner.Point{Batch: 2, Seq: 8}); good.asked.Kind != runner.FactsJob || good.asked.Points[0] != want {
		t.Errorf("asked for %+v", good.asked)
	}
	for want, r := range map[string]*answering{
		"ValueError: no":         {event: runner.Failure{Type: "ValueError", Message: "no"}},
		"cannot parse the facts": {event: runner.Data{Data: json.RawMessage(`[]`)}},
		"cannot be derived":      {err: errors.New("it died")},
	} {
		if _, err := derive(t.Context(), r, c, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestKnownFacts: what was derived before is given back without starting
// anything, as long as recipe and versions are the same.
func TestKnownFacts(t *testing.T) {
	t.Parallel()
	cat := load(t)
	env := environment.Environment{PythonPath: "/runner/0123", Versions: map[string]string{"transformers": cat.Transformers}}
	s := New(Options{
		Catalog: cat, Folders: environment.Folders{Cache: t.TempDir()},
		Environments: faked{python: func(context.Context) (environment.Environment, error) { return env, nil }},
	})
	bert := cell.Cell{Type: "bert"}.Normal()
	source, ok := s.knownRecipes(cat.Transformers).source(bert)
	sheet, err := facts.Parse([]byte(derived))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	cache := facts.Cache{Dir: s.cache("facts")}
	if err := cache.Put(question(bert, source, env), facts.Answer{Recipe: source, Sheet: sheet}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Facts(t.Context(), bert)
	if err != nil || got.Sheet.Parameters.Total != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, started := s.whole.Made(); started {
		t.Error("a runner was started for what was known")
	}
	env.PythonPath = "/runner/4567"
	if _, ok := cache.Get(question(bert, source, env)); ok {
		t.Error("another runner's answer is taken")
	}
}

// TestFactsSource: a recipe of another release decides nothing, a user's
// config.json does.
func TestFactsSource(t *testing.T) {
	t.Parallel()
	s := New(Options{Catalog: load(t), Folders: environment.Folders{Cache: t.TempDir()}})
	bert := cell.Cell{Type: "bert"}.Normal()
	if _, ok := s.knownRecipes("4.51.0").source(bert); ok {
		t.Error("the embedded recipe speaks for another release")
	}
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(`{"model_type":"bert"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	b, ok := s.knownRecipes("").source(cell.Cell{Type: "bert", Checkpoint: path, Size: cell.Full}.Normal())
	if !ok || string(b) != `{"model_type":"bert"}` {
		t.Errorf("%s, %v", b, ok)
	}
}
