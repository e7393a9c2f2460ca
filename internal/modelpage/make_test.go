package modelpage

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/environment"
	"assay/internal/facts"
	"assay/internal/matrix"
)

// TestMake: each part of a page is there, or says why it is not.
func TestMake(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	entry, _ := cat.Get("bert")
	c := cell.Cell{Type: "bert"}.Normal()
	derived := facts.Answer{Recipe: json.RawMessage(`{"gain":4}`), Sheet: &facts.Sheet{Class: "BertForMaskedLM"}}
	ran := []matrix.Observation{{Result: cell.Result{Cell: c, Verdict: cell.Works}}}
	for name, tc := range map[string]struct {
		cell       cell.Cell
		facts, ran error
		check      func(Page) bool
	}{
		"all": {cell: c, check: func(p Page) bool {
			return string(p.Recipe) == `{"gain":4}` && p.Facts != nil && p.NoFacts == "" && len(p.Ran) == 1 && p.Model.Type == "bert" && len(p.Checkpoints) > 0
		}},
		"no environment": {cell: c, facts: environment.ErrAbsent, check: func(p Page) bool {
			return p.Recipe != nil && p.Facts == nil && strings.Contains(p.NoFacts, "--python names your own") && len(p.Ran) == 1
		}},
		"being derived":  {cell: c, facts: facts.ErrDeriving, check: func(p Page) bool { return p.Deriving && strings.Contains(p.NoFacts, "ask again") && len(p.Ran) == 1 }},
		"not derived":    {cell: c, facts: errors.New("the child died"), check: func(p Page) bool { return !p.Deriving && p.NoFacts == "the child died" }},
		"a user's own":   {cell: cell.Cell{Type: "bert", Checkpoint: "/mine/config.json"}, facts: errors.New("no"), check: func(p Page) bool { return p.Recipe == nil && p.NoRecipe == "" }},
		"a store in use": {cell: c, ran: errors.New("busy"), check: func(p Page) bool { return p.NoRan == "busy" && p.Ran != nil && len(p.Ran) == 0 }},
	} {
		p, err := Make(t.Context(), tc.cell, entry, Sources{
			Catalog: cat,
			Facts:   func(context.Context, cell.Cell) (facts.Answer, error) { return derived, tc.facts },
			Results: func(context.Context, string) ([]matrix.Observation, error) { return ran, tc.ran },
		})
		if err != nil || !tc.check(p) {
			t.Errorf("%s: %v\n%+v", name, err, p)
		}
	}
}

// TestMakeStops: only the end of the command is an error.
func TestMakeStops(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	entry, _ := cat.Get("bert")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, from := range map[string]Sources{
		"facts": {Facts: func(context.Context, cell.Cell) (facts.Answer, error) { return facts.Answer{}, ctx.Err() }},
		"results": {
			Facts:   func(context.Context, cell.Cell) (facts.Answer, error) { return facts.Answer{}, nil },
			Results: func(context.Context, string) ([]matrix.Observation, error) { return nil, ctx.Err() },
		},
	} {
		from.Catalog = cat
		if _, err := Make(ctx, cell.Cell{Type: "bert"}.Normal(), entry, from); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
