package skillpages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/pages"
	"assay/internal/pytests"
)

// visitor is a page of a test: it comes to an address and does what it is told.
type visitor struct {
	pages.Page
	gone   chan error
	closed chan struct{}
}

func (v *visitor) Gone() <-chan error { return v.gone }

func (v *visitor) Close() error {
	close(v.closed)
	return nil
}

// visits opens pages that do something with their address, and must be closed.
func visits(t *testing.T, do func(v *visitor, url string)) func(context.Context, string) (pages.Page, error) {
	t.Helper()
	return func(_ context.Context, url string) (pages.Page, error) {
		v := &visitor{gone: make(chan error, 1), closed: make(chan struct{})}
		t.Cleanup(func() {
			select {
			case <-v.closed:
			default:
				t.Error("a page was left open")
			}
		})
		go do(v, url)
		return v, nil
	}
}

func get(t *testing.T, url string) (status int, kind string, body []byte) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return 0, "", nil
	}
	defer answer.Body.Close()
	body, _ = io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header.Get("Content-Type"), body
}

// TestModules: what a page says of a module's tests is what became of them; a
// page that is gone, silent or says nonsense costs its own module.
func TestModules(t *testing.T) {
	t.Parallel()
	says := func(body string) func(*visitor, string) {
		return func(_ *visitor, url string) {
			if answer, err := http.Post(url+"outcome", "application/json", bytes.NewBufferString(body)); err == nil {
				answer.Body.Close()
			}
		}
	}
	for name, tc := range map[string]struct {
		do              func(*visitor, string)
		passed, skipped int
		failed          string // the first that failed
	}{
		"passed":       {says(`[{"test":"a","outcome":"passed"},{"test":"b","outcome":"passed"}]`), 2, 0, ""},
		"skipped":      {says(`[{"test":"a","outcome":"skipped","why":"no adapter"}]`), 0, 1, ""},
		"failed":       {says(`[{"test":"a","outcome":"passed"},{"test":"b","outcome":"failed","why":"no"}]`), 1, 0, "b"},
		"another word": {says(`[{"test":"a","outcome":"fine"}]`), 0, 0, "a"},
		"no tests":     {says(`[]`), 0, 0, "(module)"},
		"nonsense":     {says(`what`), 0, 0, "(page)"},
		"silent":       {func(*visitor, string) {}, 0, 0, "(page)"},
		"gone":         {func(v *visitor, _ string) { v.gone <- errors.New("it crashed") }, 0, 0, "(page)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var heard []string
			r := Run{Skills: t.TempDir(), Open: visits(t, tc.do), Limit: 2 * time.Second, Done: func(f pytests.File) { heard = append(heard, f.Name) }}
			files, err := r.Modules(t.Context(), []Trial{{Module: "test_skill_hf_bert.mjs"}})
			if err != nil || len(files) != 1 || len(heard) != 1 || heard[0] != "test_skill_hf_bert.mjs" {
				t.Fatalf("%+v, %v, heard of %v", files, err, heard)
			}
			f, first := files[0], ""
			if len(f.Failed) > 0 {
				first = f.Failed[0].Test
			}
			if f.Passed != tc.passed || len(f.Skipped) != tc.skipped || first != tc.failed {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestSite: a trial's page finds what it needs, isolated and with the types on
// which browsers insist, and nobody without its secret does.
func TestSite(t *testing.T) {
	t.Parallel()
	skills, graphs := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(skills, "skill.mjs"), filepath.Join(graphs, "model.onnx")} {
		if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := Run{Skills: skills, Artefacts: filepath.Dir(graphs), Runtime: graphs, Platform: "webnn", Limit: 10 * time.Second}
	r.Open = visits(t, func(_ *visitor, url string) {
		site, _, _ := strings.Cut(url, "/trials/")
		var told given
		if _, _, body := get(t, url+"given"); json.Unmarshal(body, &told) != nil || told.Platform != "webnn" {
			t.Errorf("it is given %s", body)
		}
		if status, kind, _ := get(t, url); status != http.StatusOK || kind != "text/html; charset=utf-8" {
			t.Errorf("the page: %d %s", status, kind)
		}
		if _, kind, body := get(t, site+told.Module); kind != "text/javascript" || string(body) != "text" {
			t.Errorf("the module: %s %s", kind, body)
		}
		if status, _, _ := get(t, site+told.Artefact+"model.onnx"); status != http.StatusOK {
			t.Errorf("the graph: %d", status)
		}
		if status, _, _ := get(t, told.Packages["ort"]+"model.onnx"); status != http.StatusOK {
			t.Errorf("the runtime: %d", status)
		}
		if status, _, _ := get(t, site+"/trials/guess/given"); status != http.StatusForbidden {
			t.Errorf("without the secret: %d", status)
		}
		answer, err := http.Post(url+"outcome", "application/json", bytes.NewBufferString(`[{"test":"a","outcome":"passed"}]`))
		if err == nil {
			answer.Body.Close()
		}
	})
	files, err := r.Modules(t.Context(), []Trial{{Module: "skill.mjs", Artefact: filepath.Base(graphs)}})
	if err != nil || len(files) != 1 || !files[0].Green() {
		t.Errorf("%+v, %v", files, err)
	}
}

// TestStopped: who ends the context gets its error, and no verdict.
func TestStopped(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	r := Run{Limit: time.Minute, Open: visits(t, func(*visitor, string) { stop() })}
	if files, err := r.Modules(ctx, []Trial{{Module: "one.mjs"}, {Module: "two.mjs"}}); !errors.Is(err, context.Canceled) || len(files) != 0 {
		t.Errorf("%+v, %v", files, err)
	}
}
