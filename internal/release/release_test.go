package release

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/catalog"
	"assay/internal/environment"
	"assay/internal/snapshot"
)

const other = `{"schema":1,"transformers":"4.0.0","types":[{"type":"bert","class":"BertModel","library":"transformers"}]}`

// using is an environment with a release of transformers; "" is none.
func using(t *testing.T, transformers string) (*InUse, *int) {
	t.Helper()
	asked := 0
	return &InUse{
		Find: func(context.Context) (environment.Environment, error) {
			asked++
			if transformers == "" {
				return environment.Environment{}, environment.ErrAbsent
			}
			return environment.Environment{Python: "/p", Versions: map[string]string{"transformers": transformers}}, nil
		},
		Read: func(context.Context, *catalog.Catalog) (json.RawMessage, error) { return json.RawMessage(other), nil },
		Kept: catalog.Kept{Dir: t.TempDir()}, Say: func(string) {}, Log: slog.New(slog.DiscardHandler),
	}, &asked
}

func embedded(t *testing.T) string {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c.Transformers
}

// TestCatalogOfTheEnvironment: that of its release once its types were read, the
// embedded one until then and where there is no environment.
func TestCatalogOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "4.0.0", embedded(t)} {
		used, asked := using(t, in)
		for range 2 {
			if c, err := used.Catalog(t.Context()); err != nil || c.Transformers != embedded(t) {
				t.Errorf("with %q: %v", in, err)
			}
		}
		if in != "" && *asked != 1 {
			t.Errorf("the environment was looked for %d times", *asked)
		}
	}
	used, _ := using(t, "4.0.0")
	if err := used.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, err := used.Catalog(t.Context()); err != nil || c.Transformers != "4.0.0" || c.Count(catalog.Transformers) != 1 {
		t.Errorf("after reading its types: %v", err)
	}
}

// TestRefreshRefusesWhatDoesNotRead: nothing is kept that cannot be used again.
func TestRefreshRefusesWhatDoesNotRead(t *testing.T) {
	t.Parallel()
	used, _ := using(t, "4.0.0")
	used.Read = func(context.Context, *catalog.Catalog) (json.RawMessage, error) {
		return json.RawMessage(`{"schema":1}`), nil
	}
	if err := used.Refresh(t.Context()); err == nil {
		t.Error("a catalogue without types is kept")
	}
	if _, err := os.Stat(used.Kept.Path("4.0.0")); err == nil {
		t.Error("it lies there")
	}
}

// TestRefreshReplacesTheWholeFile: what was kept stays as it is for whoever reads
// it meanwhile; the new catalogue is another file, put in its place.
func TestRefreshReplacesTheWholeFile(t *testing.T) {
	t.Parallel()
	used, _ := using(t, "4.0.0")
	path, reading := used.Kept.Path("4.0.0"), filepath.Join(t.TempDir(), "reading")
	if err := errors.Join(os.WriteFile(path, []byte("before"), 0o600), os.Link(path, reading), used.Refresh(t.Context())); err != nil {
		t.Fatal(err)
	}
	was, errWas := os.ReadFile(reading)
	is, errIs := os.ReadFile(path)
	if err := errors.Join(errWas, errIs); err != nil || string(was) != "before" || string(is) != other {
		t.Errorf("%v: a reader has %q, and the file is %q", err, was, is)
	}
}

// past is a store with one run and one release.
type past struct{}

func (past) OutcomesOfRun(_ context.Context, run string) ([]snapshot.Outcome, error) {
	if run != "run-1" {
		return nil, nil
	}
	return []snapshot.Outcome{{Type: "of a run"}}, nil
}

func (past) OutcomesOfRelease(_ context.Context, release string) ([]snapshot.Outcome, error) {
	return []snapshot.Outcome{{Type: "of " + release}}, nil
}

// TestSides: what each name means, and what is refused.
func TestSides(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := write("snapshot.json", `{"schema":1,"transformers":"5.0.0","models":[{"type":"vit"}]}`, 0o600)
	both := write("both.json", `{"schema":1,"transformers":"5.0.0","models":[],"outcomes":[{"type":"its own","platform":"cpu","verdict":"works"}]}`, 0o600)
	python := write("python", "#!/bin/sh\n", 0o700)
	used, _ := using(t, "4.0.0")
	if err := os.WriteFile(used.Kept.Path("3.1.4"), []byte(strings.ReplaceAll(other, "4.0.0", "3.1.4")), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Sides{InUse: used, Past: past{}, Other: func(name string) (*InUse, error) {
		if name != python {
			return nil, errors.New("another Python than was named")
		}
		u, _ := using(t, "4.0.0")
		return u, nil
	}}
	for _, c := range []struct {
		name    string
		results bool
		release string
		outcome string
		refused string
	}{
		{name: "embedded", release: embedded(t)},
		{name: embedded(t), release: embedded(t)},
		{name: "installed", release: "4.0.0"},
		{name: "installed", results: true, release: "4.0.0", outcome: "of 4.0.0"},
		{name: "3.1.4", release: "3.1.4"},
		{name: "2.0", refused: "only those of " + embedded(t)},
		{name: file, release: "5.0.0"},
		{name: both, results: true, release: "5.0.0", outcome: "its own"},
		{name: python, release: "4.0.0"},
		{name: "run-1", outcome: "of a run"},
		{name: "run-1", results: true, outcome: "of a run"},
		{name: "run-2", refused: "is neither embedded"},
		{name: filepath.Join(dir, "none.json"), refused: "there is no"},
		{name: dir, refused: "is not a file"},
		{name: write("garbage.json", "{", 0o600), refused: "cannot be parsed"},
		{name: write("foreign.json", `{"schema":1}`, 0o600), refused: "neither a catalogue"},
	} {
		got, err := s.Find(t.Context(), c.name, c.results)
		if c.refused != "" {
			if side := (*SideError)(nil); !errors.As(err, &side) || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want it to say %q", c.name, err, c.refused)
			}
			continue
		}
		outcome := ""
		if len(got.Outcomes) > 0 {
			outcome = got.Outcomes[0].Type
		}
		if err != nil || got.Transformers != c.release || outcome != c.outcome {
			t.Errorf("%s, with results %v: %q, %q, %v", c.name, c.results, got.Transformers, outcome, err)
		}
	}
}

// TestPresentSide: without an environment it is the embedded catalogue.
func TestPresentSide(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": embedded(t), "4.0.0": "4.0.0"} {
		used, _ := using(t, in)
		if got, err := (Sides{InUse: used, Past: past{}}).Present(t.Context(), false); err != nil || got.Transformers != want {
			t.Errorf("%q: %s, %v", in, got.Transformers, err)
		}
	}
	used, _ := using(t, "")
	if _, err := (Sides{InUse: used, Past: past{}}).Find(t.Context(), Installed, false); !errors.Is(err, environment.ErrAbsent) {
		t.Errorf("installed without an environment: %v", err)
	}
}
