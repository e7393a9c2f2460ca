package main

import (
	"context"
	"encoding/json"
	"testing"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/platform"
)

// TestEveryTypeEverywhere: every type of the catalogue has an answer for every platform: a verdict with a run behind it, or
// unknown with the reason; and a command that checks it.
func TestEveryTypeEverywhere(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"can-i-use", "--json"}
	for _, p := range platform.Names() {
		args = append(args, "--on", string(p))
	}
	for _, e := range cat.Types() {
		args = append(args, e.Type)
	}
	dir := t.TempDir()
	e, out := inside()
	e.getenv = func(name string) string { return map[string]string{"ASSAY_HOME": dir}[name] }
	if status := run(context.Background(), e, args); status != exitFails { // some type fails somewhere
		t.Fatalf("status %d\n%.500s", status, out)
	}
	var said answers
	if err := json.Unmarshal(out.Bytes(), &said); err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, a := range said.Answers {
		asked[a.Type] = true
		if a.Checkpoint != "" || len(a.Targets) != len(platform.Names()) {
			t.Errorf("%s: %q, %d targets", a.Type, a.Checkpoint, len(a.Targets))
		}
		for i, l := range a.Targets {
			whole := l.Run != nil && l.Run.ID != "" && !l.At.IsZero() && len(l.Versions) > 0 && l.Source == atlas.FromAtlas
			if !l.Known() {
				whole = l.Note != "" && l.Evidence == cell.None
			}
			if !whole || l.Target != string(platform.Names()[i]) || l.Check == "" {
				t.Errorf("%s on %s: %+v", a.Type, platform.Names()[i], l)
			}
		}
	}
	if len(asked) != len(cat.Types()) || len(said.Answers) != len(cat.Types()) {
		t.Errorf("%d answers about %d of %d types", len(said.Answers), len(asked), len(cat.Types()))
	}
}

// BenchmarkCanIUse is the whole command, without the start of a process: together
// they are to stay below 50 ms. The embedded atlas is opened once and then kept, so only
// the first round reads it; see BenchmarkOpen of internal/atlas for that.
func BenchmarkCanIUse(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		e, out := inside()
		e.getenv = func(name string) string { return map[string]string{"ASSAY_HOME": dir}[name] }
		if status := run(context.Background(), e, []string{"can-i-use", "xclip", "bert-base-uncased"}); status != exitOK {
			b.Fatalf("status %d\n%s", status, out)
		}
	}
}
