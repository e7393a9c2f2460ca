package hub

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/hub/hubtest"
)

const org = "owner/name"

func TestFetch(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]*hubtest.Model{org: small()})
	s, err := f.Fetch(t.Context(), Ref{Model: org}, Want{})
	if err != nil {
		t.Fatal(err)
	}
	files := f.server.Models[org].Files
	wanted := []string{"1_Pooling/config.json", "config.json", "model.safetensors", "tokenizer.json"}
	same(t, s, files, wanted...)
	var got []string
	for _, x := range s.Files {
		got = append(got, x.Name)
		if !x.Loaded || x.Checksum == "" || x.Bytes != int64(len(files[x.Name])) {
			t.Errorf("%+v", x)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, wanted) {
		t.Errorf("loaded %v, want %v", got, wanted)
	}
	if s.Commit != f.server.Commit(org) || s.Revision != "main" || s.Format != Safetensors || s.Bytes != s.Loaded {
		t.Errorf("got %+v", s)
	}
	ref, err := os.ReadFile(filepath.Join(f.cache, "models--owner--name", "refs", "main"))
	if err != nil || string(ref) != s.Commit {
		t.Errorf("refs/main holds %q, %v", ref, err)
	}
	target, err := os.Readlink(filepath.Join(s.Folder, "1_Pooling", "config.json"))
	if err != nil || !strings.HasPrefix(target, filepath.Join("..", "..", "..", "blobs")) {
		t.Errorf("the snapshot links to %q, %v", target, err)
	}

	before := f.asked("")
	s, err = f.Fetch(t.Context(), Ref{Model: org}, Want{})
	if err != nil || s.Loaded != 0 || f.asked("")-before != 1 {
		t.Errorf("a second time: %+v, %v, %d requests", s, err, f.asked("")-before)
	}
}

// TestWants: what else is loaded when it is asked for.
func TestWants(t *testing.T) {
	t.Parallel()
	pickle := &hubtest.Model{Files: map[string][]byte{"config.json": []byte(`{}`), "pytorch_model.bin": []byte("pickled"), "model.py": []byte("x = 1")}}
	f := newFixture(t, map[string]*hubtest.Model{org: small(), "owner/pickle": pickle})
	names := func(model string, w Want) string {
		s, err := f.Fetch(t.Context(), Ref{Model: model}, w)
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, x := range s.Files {
			out = append(out, x.Name)
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		model string
		want  Want
		says  string
	}{
		{org, Want{ConfigOnly: true}, "config.json"},
		{org, Want{Code: true}, "modeling_own.py"},
		{org, Want{Pickle: true}, "1_Pooling/config.json config.json model.safetensors tokenizer.json"},
		{"owner/pickle", Want{}, "--allow-pickle"},
		{"owner/pickle", Want{Pickle: true}, "config.json pytorch_model.bin"},
	} {
		if got := names(c.model, c.want); !strings.Contains(got, c.says) {
			t.Errorf("%s %+v: got %s", c.model, c.want, got)
		}
	}
	if f.asked("README.md")+f.asked("tf_model.h5") > 0 {
		t.Error("files were loaded that nobody needs")
	}
}

func TestShards(t *testing.T) {
	t.Parallel()
	files := hubtest.Sharded(1000)
	files["consolidated.safetensors"] = hubtest.Safetensors(9, "other")
	f := newFixture(t, map[string]*hubtest.Model{org: {Files: files}})
	s, err := f.Fetch(t.Context(), Ref{Model: org}, Want{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, s, files, "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
	if len(s.Files) != 4 {
		t.Errorf("got %+v", s.Files)
	}
	delete(files, "model-00002-of-00002.safetensors")
	_, err = f.Fetch(t.Context(), Ref{Model: org}, Want{})
	refuses(t, err, NoWeights, "names \"model-00002-of-00002.safetensors\", which is not there")
}

func TestRevisions(t *testing.T) {
	t.Parallel()
	m := small()
	older := map[string][]byte{"config.json": []byte(`{"model_type": "gpt2"}`), "model.safetensors": hubtest.Safetensors(5, "old")}
	m.Branches = map[string]map[string][]byte{"v1.0": older, "refs/pr/7": older}
	f := newFixture(t, map[string]*hubtest.Model{org: m})
	var commits []string
	for _, rev := range []string{"", "v1.0", "refs/pr/7"} {
		s, err := f.Fetch(t.Context(), Ref{org, rev}, Want{})
		if err != nil {
			t.Fatalf("%s: %v", rev, err)
		}
		commits = append(commits, s.Commit)
	}
	if commits[1] != commits[2] || commits[0] == commits[1] {
		t.Errorf("got %v", commits)
	}
	s, err := f.Fetch(t.Context(), Ref{org, commits[1]}, Want{})
	if err != nil || s.Loaded != 0 {
		t.Errorf("by its commit: %+v, %v", s, err)
	}
	if _, err := os.Stat(filepath.Join(f.cache, "models--owner--name", "refs", commits[1])); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a commit was written down as a revision: %v", err)
	}
	_, err = f.Fetch(t.Context(), Ref{org, "v9"}, Want{})
	refuses(t, err, NotFound, "owner/name@v9 has no such revision")
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	gated, private := small(), small()
	gated.Gated, private.Private = true, true
	noConfig := &hubtest.Model{Files: map[string][]byte{"model.safetensors": hubtest.Safetensors(5, "w")}}
	flax := &hubtest.Model{Files: map[string][]byte{"config.json": []byte("{}"), "flax_model.msgpack": []byte("x")}}
	models := map[string]*hubtest.Model{"owner/gated": gated, "owner/private": private, "owner/no-config": noConfig, "owner/flax": flax,
		"owner/none": {Files: map[string][]byte{"config.json": []byte("{}")}}}
	f := newFixture(t, models)
	for _, c := range []struct {
		model string
		kind  Kind
		says  []string
	}{
		{"owner/gated", Gated, []string{"is gated", "accept its terms at " + f.server.URL + "/owner/gated and set HF_TOKEN to your token"}},
		{"owner/private", NotFound, []string{"is not there, or is private", "HF_TOKEN"}},
		{"owner/nobody", NotFound, []string{"owner/nobody is not there"}},
		{"owner/no-config", NotFound, []string{"has no config.json"}},
		{"owner/flax", NoWeights, []string{"flax_model.msgpack"}},
		{"owner/none", NoWeights, []string{"holds no weights"}},
	} {
		_, err := f.Fetch(t.Context(), Ref{Model: c.model}, Want{})
		refuses(t, err, c.kind, c.says...)
	}
	with, _ := f.client(t, func(o *Options) { o.Token = hubtest.Token })
	for _, model := range []string{"owner/gated", "owner/private"} {
		if _, err := with.Fetch(t.Context(), Ref{Model: model}, Want{}); err != nil {
			t.Errorf("%s with the token: %v", model, err)
		}
	}
	wrong, _ := f.client(t, func(o *Options) { o.Token = "hf_wrong"; o.Cache = t.TempDir() })
	_, err := wrong.Fetch(t.Context(), Ref{Model: "owner/gated"}, Want{})
	refuses(t, err, Gated, "make sure that your token may read gated models")
}

// TestTokenStays: the token goes to the Hub and to no other host, and no
// sentence holds it or a signed address.
func TestTokenStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]*hubtest.Model{org: small()}, func(o *Options) { o.Token = hubtest.Token })
	f.server.Break("model.safetensors", hubtest.Fault{Cut: 1000}, hubtest.Fault{Cut: 1000}, hubtest.Fault{Status: 503}, hubtest.Fault{Status: 503}, hubtest.Fault{Status: 503})
	_, err := f.Fetch(t.Context(), Ref{Model: org}, Want{})
	refuses(t, err, Unreachable)
	for _, text := range []string{err.Error(), f.said()} {
		if strings.Contains(text, "OnlyForTests") || strings.Contains(text, "secret-of-the-store") {
			t.Errorf("a secret is in %q", text)
		}
	}
	hub, store := 0, 0
	for _, r := range f.server.Requests() {
		switch {
		case r.Host == "hub" && r.Authorization == "Bearer "+hubtest.Token:
			hub++
		case r.Host == "store" && r.Authorization == "":
			store++
		default:
			t.Errorf("%+v", r)
		}
	}
	if hub == 0 || store == 0 {
		t.Errorf("%d requests to the hub, %d to the store", hub, store)
	}
}

// TestOffline: no connection is opened, whatever the cache holds.
func TestOffline(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]*hubtest.Model{org: small()})
	off, _ := f.client(t, func(o *Options) { o.Forbidden = "ASSAY_OFFLINE" })
	_, err := off.Fetch(t.Context(), Ref{Model: org}, Want{})
	refuses(t, err, Offline, "not in the Hugging Face cache", "ASSAY_OFFLINE forbids the network", "assay fetch owner/name")
	if f.asked("") != 0 {
		t.Error("it asked the server")
	}
	if _, err := f.Fetch(t.Context(), Ref{Model: org}, Want{}); err != nil {
		t.Fatal(err)
	}
	asked := f.asked("")
	s, err := off.Fetch(t.Context(), Ref{Model: org}, Want{})
	if err != nil || len(s.Files) != 4 || s.Loaded != 0 || s.Commit != f.server.Commit(org) || f.asked("") != asked {
		t.Errorf("from the cache: %+v, %v", s, err)
	}
	if err := os.Remove(filepath.Join(s.Folder, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	_, err = off.Fetch(t.Context(), Ref{Model: org}, Want{})
	refuses(t, err, Offline, "with all its files")
	if _, err := off.Fetch(t.Context(), Ref{Model: org}, Want{ConfigOnly: true}); err != nil {
		t.Errorf("its config.json is there: %v", err)
	}
}

// TestUnreachable: without a network the cache's copy does, with a word.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]*hubtest.Model{org: small()})
	fail := make([]hubtest.Fault, quick.Tries)
	for i := range fail {
		fail[i].Status = 502
	}
	f.server.Break("list", fail...)
	_, err := f.Fetch(t.Context(), Ref{Model: org}, Want{})
	refuses(t, err, Unreachable, "502", "check the network")
	if _, err := f.Fetch(t.Context(), Ref{Model: org}, Want{}); err != nil {
		t.Fatal(err)
	}
	f.server.Break("list", fail...)
	if s, err := f.Fetch(t.Context(), Ref{Model: org}, Want{}); err != nil || len(s.Files) != 4 || !strings.Contains(f.said(), "the copy in the cache is used") {
		t.Errorf("got %+v, %v: %s", s, err, f.said())
	}
}

func TestNoRoom(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]*hubtest.Model{org: small()}, func(o *Options) {
		o.Free = func(string) (uint64, error) { return 1000, nil }
	})
	_, err := f.Fetch(t.Context(), Ref{Model: org}, Want{})
	refuses(t, err, NoSpace, "owner/name needs 400.1 kB, and 1.0 kB are free on the disk of "+f.cache)
	if f.asked("model.safetensors") > 0 {
		t.Error("it began all the same")
	}
}

// TestMirrorThatSaysLess: a list without sizes and tags is made up for by
// asking for each file.
func TestMirrorThatSaysLess(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]*hubtest.Model{org: small()})
	f.server.Bare = true
	s, err := f.Fetch(t.Context(), Ref{Model: org}, Want{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, s, f.server.Models[org].Files, "config.json", "model.safetensors")
	for _, x := range s.Files {
		if x.Checksum == "" {
			t.Errorf("%s was not checked", x.Name)
		}
	}
}

// TestInterrupted: what had arrived is kept and continued.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]*hubtest.Model{org: small()}, func(o *Options) { o.Patience.Stall = time.Minute })
	f.server.Break("model.safetensors", hubtest.Fault{Cut: 300_000, Stall: time.Minute})
	stop := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	parts := filepath.Join(f.cache, "models--owner--name", "blobs", "*.incomplete")
	go func() {
		for {
			if found, _ := filepath.Glob(parts); len(found) == 1 && sizeOf(found[0]) == 300_000 {
				cancel(stop)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := f.Fetch(ctx, Ref{Model: org}, Want{}); !errors.Is(err, stop) {
		t.Fatalf("got %v", err)
	}
	again, _ := f.client(t)
	s, err := again.Fetch(t.Context(), Ref{Model: org}, Want{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, s, f.server.Models[org].Files, "model.safetensors")
	if last := f.server.Requests()[len(f.server.Requests())-1]; last.Range != "bytes=300000-" {
		t.Errorf("it was not continued: %+v", last)
	}
}

// TestTogether: several clients with one cache load each file once.
func TestTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]*hubtest.Model{org: small()})
	f.server.Break("model.safetensors", hubtest.Fault{Slow: 50 * time.Millisecond})
	var wg sync.WaitGroup
	for range 5 {
		h, _ := f.client(t)
		wg.Go(func() {
			if _, err := h.Fetch(t.Context(), Ref{Model: org}, Want{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := f.asked("/model.safetensors"); n != 1 {
		t.Errorf("the weights were asked for %d times", n)
	}
}
