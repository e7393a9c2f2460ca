package session

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/content"
	"assay/internal/hub"
	"assay/internal/hub/hubtest"
	"assay/internal/runner"
)

// tiny is a model of the Hub that the catalogue does not know.
func tiny() *hubtest.Model {
	return &hubtest.Model{Files: map[string][]byte{
		"config.json":       []byte(`{"model_type":"bert"}`),
		"model.safetensors": hubtest.Safetensors(10, "w"),
	}}
}

// given are recipes over a server of the test's and a child that answers.
func given(t *testing.T, server *hubtest.Server, o Weights) (*weighted, *answering) {
	t.Helper()
	cache := filepath.Join(t.TempDir(), "hub")
	o.Hub = func(say func(string)) (*hub.Hub, error) {
		at, err := url.Parse(server.URL)
		return hub.New(hub.Options{Settings: hub.Settings{Endpoint: at, Cache: cache}, Say: say, Patience: hub.Patience{Tries: 1, Pause: time.Millisecond}}), err
	}
	child := &answering{event: runner.Data{Data: json.RawMessage(`{"class":"C","task":"t"}`)}}
	return &weighted{Weights: o, recipes: &recipes{catalog: load(t), runner: child}, say: func(string) {}, book: &content.Book{}}, child
}

func onHub(model, revision, weights string) cell.Cell {
	return cell.Cell{Type: "bert", Checkpoint: model, Revision: revision, Size: cell.Full, Weights: weights}.Normal()
}

// TestGivenWeights: where each cell's weights and configuration come from.
func TestGivenWeights(t *testing.T) {
	t.Parallel()
	const bert = "google-bert/bert-base-uncased"
	server := hubtest.New(t, map[string]*hubtest.Model{"owner/own": tiny(), bert: tiny()})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), hubtest.Safetensors(3, "x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		cell    cell.Cell
		folder  string // "" is none, "hub" one of the cache
		asked   bool   // the child makes the recipe, from a config.json
		refused bool   // without a word to the Hub
	}{
		{"random", onHub(bert, "", cell.Random), "", false, false},
		{"a known one's own", onHub(bert, "", cell.Hub), "hub", false, false},
		{"a known one at a revision", onHub(bert, "main", cell.Hub), "hub", true, false},
		{"an unknown one's own", onHub("owner/own", "", cell.Hub), "hub", true, false},
		{"random in an unknown one's shape", onHub("owner/own", "", cell.Random), "", true, false},
		{"a folder", cell.Cell{Type: "bert", Weights: dir, Size: cell.Full, Checkpoint: filepath.Join(dir, "config.json")}.Normal(), dir, true, false},
		{"no checkpoint", cell.Cell{Type: "bert", Weights: cell.Hub}.Normal(), "", false, true},
		{"a path", onHub("../../etc", "", cell.Hub), "", false, true},
	} {
		w, child := given(t, server, Weights{Fresh: true})
		r, err := w.Recipe(t.Context(), c.cell)
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.refused {
			continue
		}
		switch {
		case (r.Weights != nil) != (c.folder != ""):
			t.Errorf("%s: weights %+v", c.name, r.Weights)
		case c.folder == "hub" && (r.Weights.Commit != server.Commit(c.cell.Checkpoint) || !strings.Contains(r.Weights.Folder, "snapshots")):
			t.Errorf("%s: weights %+v", c.name, r.Weights)
		case c.folder == dir && r.Weights.Folder != dir:
			t.Errorf("%s: weights %+v", c.name, r.Weights)
		}
		if config, _ := child.asked.Options["config"].(string); (filepath.Base(config) == "config.json") != c.asked {
			t.Errorf("%s: the child was asked %+v", c.name, child.asked)
		}
	}
}

// TestLoadedOnce: cells that share weights ask the Hub once, and what is in the
// cache is used without a word where nobody wants it fresh.
func TestLoadedOnce(t *testing.T) {
	t.Parallel()
	server := hubtest.New(t, map[string]*hubtest.Model{"owner/own": tiny()})
	w, _ := given(t, server, Weights{})
	for range 3 {
		if _, err := w.Recipe(t.Context(), onHub("owner/own", "", cell.Hub)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(server.Requests()); n != 4 { // the list, config.json, the weights, and those from the store
		t.Errorf("%d requests: %+v", n, server.Requests())
	}
	w.found = nil
	if _, err := w.Recipe(t.Context(), onHub("owner/own", "", cell.Hub)); err != nil || len(server.Requests()) != 4 {
		t.Errorf("from the cache: %v, %d requests", err, len(server.Requests()))
	}
}

// TestUnloadable: what becomes of cells whose weights is not available.
func TestUnloadable(t *testing.T) {
	t.Parallel()
	gated := tiny()
	gated.Gated = true
	server := hubtest.New(t, map[string]*hubtest.Model{"owner/gated": gated})
	w, _ := given(t, server, Weights{Fresh: true})
	folder := cell.Cell{Type: "bert", Weights: t.TempDir(), Size: cell.Full, Checkpoint: "/x/config.json"}.Normal()
	for _, c := range []struct {
		cell  cell.Cell
		class cell.FailureClass
		hint  string
	}{
		{onHub("owner/gated", "", cell.Hub), cell.MissingWeights, "accept its terms"},
		{onHub("owner/absent", "", cell.Hub), cell.MissingWeights, "HF_TOKEN"},
		{folder, cell.MissingWeights, "--weights random"},
	} {
		_, err := w.Recipe(t.Context(), c.cell)
		var f interface{ Failure() cell.Failure }
		if !errors.As(err, &f) {
			t.Errorf("%s: got %v", c.cell.Model(), err)
			continue
		}
		if got := f.Failure(); got.Class != c.class || got.Detail == "" || !strings.Contains(got.Hint, c.hint) {
			t.Errorf("%s: got %+v", c.cell.Model(), got)
		}
	}
	for kind, class := range map[hub.Kind]cell.FailureClass{hub.NoSpace: cell.Environment, hub.OwnCode: cell.MissingDependency, hub.Damaged: cell.MissingWeights} {
		if got := (&weightsError{&hub.Error{Kind: kind, Problem: "p", Hint: "h"}}).Failure(); got.Class != class || got.Detail != "p" || got.Hint != "h" {
			t.Errorf("%s: got %+v", kind, got)
		}
	}
	w.Hub, w.hub = nil, nil
	if _, err := w.Recipe(t.Context(), onHub("owner/gated", "", cell.Hub)); !hub.IsKind(err, hub.Offline) {
		t.Errorf("got %v", err)
	}
}
