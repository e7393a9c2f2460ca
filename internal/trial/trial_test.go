package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/generate/folder"
	"assay/internal/generate/skills"
	"assay/internal/platform"
	"assay/internal/pytests"
	"assay/internal/skillpages"

	"github.com/google/go-cmp/cmp"
)

// TestDevices: the tests of skills run on one device after the other, those of
// models on all at once, and a name that is none is refused before.
func TestDevices(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		list string
		each bool
		want []string // nil: refused
	}{
		{"cpu", false, []string{"cpu"}},
		{"CPU,openvino", false, []string{"cpu,openvino"}},
		{"cpu, WebGPU", true, []string{"cpu", "webgpu"}},
		{"auto", true, []string{"auto"}},
		{"abacus", true, nil},
		{"cpu,", true, nil},
		{"", false, nil},
	} {
		got, err := Devices(tc.list, tc.each)
		if (err == nil) != (tc.want != nil) || !slices.Equal(got, tc.want) {
			t.Errorf("%q, each by itself %v: %v, %v", tc.list, tc.each, got, err)
		}
	}
	for device, want := range map[string]bool{"webnn": true, "webgpu": true, "cpu": false, "openvino": false, "auto": false} {
		if InPages(device) != want {
			t.Errorf("%s runs in a page: %v", device, !want)
		}
	}
}

// A file asks for one sample and for a batch: it disagrees with what is stored
// only where no stored result explains what it found.
func TestDisagreement(t *testing.T) {
	t.Parallel()
	green := pytests.File{Passed: 9}
	red := pytests.File{Passed: 7, Failed: []pytests.Case{{Test: "test_batch", Why: "assert 0.015 <= 0.001"}}}
	single := pytests.File{Passed: 8, Skipped: []pytests.Case{{Test: "test_batch[openvino]", Why: "it takes one sample"}}}
	idle := pytests.File{Skipped: []pytests.Case{{Test: "test_loads", Why: "not here"}}}
	const passes, fails = "the test passes, and the stored result fails", "the test fails, and the stored result works"
	for _, tt := range []struct {
		name         string
		file         pytests.File
		alone, batch cell.Verdict
		want         string
	}{
		{"both work", green, cell.Works, cell.Works, ""},
		{"both fail", red, cell.Fails, cell.Fails, ""},
		{"green where it fails", green, cell.Fails, "", passes},
		{"red where it works", red, cell.Works, cell.Works, fails},
		{"red where nothing is known about a batch", red, cell.Works, "", fails},
		{"red where a batch fails", red, cell.Works, cell.Fails, ""},
		{"green where a batch fails", green, cell.Works, cell.Fails, "the test passes, and the stored result of a batch fails"},
		{"green where a batch fails that it does not ask for", single, cell.Works, cell.Fails, ""},
		{"red where it is partial", red, cell.Partial, cell.Partial, ""},
		{"nothing stored", red, "", "", ""},
		{"not run", idle, cell.Works, cell.Works, ""},
		{"not run where it fails", idle, cell.Fails, cell.Fails, ""},
	} {
		if got := disagreement(tt.file, tt.alone, tt.batch); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestCrossCheck: a test is compared with both results of its own model and head.
func TestCrossCheck(t *testing.T) {
	t.Parallel()
	stored := map[string]cell.Verdict{"bert fill-mask 1": cell.Works}
	ask := func(model, task string, batch int) cell.Verdict {
		return stored[fmt.Sprint(model, " ", task, " ", batch)]
	}
	red := pytests.File{Failed: []pytests.Case{{Test: "test_loads"}}}
	models := []Model{{Model: "bert", Task: "fill-mask", File: red}, {Model: "bert", Task: "other", File: red}, {Model: "vit", File: red}}
	CrossCheck(models, ask)
	if models[0].Stored != cell.Works || models[0].Disagrees != "the test fails, and the stored result works" {
		t.Errorf("%+v", models[0])
	}
	for _, m := range models[1:] {
		if m.Stored != "" || m.Disagrees != "" {
			t.Errorf("nothing is stored of it: %+v", m)
		}
	}
	stored["bert fill-mask 2"] = cell.Fails
	if CrossCheck(models, ask); models[0].Disagrees != "" {
		t.Errorf("a batch that fails explains it: %+v", models[0])
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	green, red := pytests.File{Passed: 3}, pytests.File{Passed: 2, Failed: []pytests.Case{{}}}
	all, pipelines := Count([]Model{
		{Pipeline: "vision", File: green, Stored: cell.Works}, {Pipeline: "text", File: red, Stored: cell.Fails},
		{Pipeline: "text", Stored: cell.Partial}, {File: green, Stored: cell.Unavailable}, {},
	})
	if want := (Sum{Files: 5, Passed: 2, Failed: 1, Stored: 3, StoredAsWorking: 2}); all != want || all.Skipped() != 2 {
		t.Errorf("%+v, %d skipped", all, all.Skipped())
	}
	want := []Sum{
		{Files: 2, Passed: 1},
		{Pipeline: "text", Files: 2, Failed: 1, Stored: 2, StoredAsWorking: 1},
		{Pipeline: "vision", Files: 1, Passed: 1, Stored: 1, StoredAsWorking: 1},
	}
	if diff := cmp.Diff(want, pipelines); diff != "" {
		t.Error(diff)
	}
}

// exporting is an export that gives folders out, and keeps what it was asked for.
func exporting(asked *[]string, folders ...string) Export {
	return func(_ context.Context, dir string, models []string, flags ...string) ([]cell.Result, error) {
		*asked = append(*asked, strings.Join(append(flags, models...), " "))
		for _, name := range folders {
			if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
				return nil, err
			}
		}
		return []cell.Result{{Cell: cell.Cell{Type: "vit"}, Failure: &cell.Failure{Class: cell.Export, Detail: "an operator"}}}, nil
	}
}

// TestMakeArtefacts: one export for each device that takes any.
func TestMakeArtefacts(t *testing.T) {
	t.Parallel()
	var asked []string
	models := []Model{{Model: "bert"}, {Model: "vit"}}
	dir, done, err := MakeArtefacts(t.Context(), "cpu,openvino", 3, models, exporting(&asked))
	if err != nil || dir == "" {
		t.Fatal(dir, err)
	}
	done()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left behind: %v", dir, err)
	}
	if diff := cmp.Diff([]string{"--format openvino --dtype fp32 --batch 1,2 --workers 3 bert vit"}, asked); diff != "" {
		t.Error(diff)
	}
	dir, done, err = MakeArtefacts(t.Context(), "cpu", 3, models, exporting(&asked))
	if done(); dir != "" || err != nil || len(asked) != 1 {
		t.Errorf("the CPU takes none: %s, %v, %v", dir, err, asked)
	}
}

// TestRunPagesWithout: what has no browser is skipped, what has no graph fails,
// and neither costs a page.
func TestRunPagesWithout(t *testing.T) {
	t.Parallel()
	models := func() []Model {
		return []Model{
			{Model: "vit", File: pytests.File{Name: "test_skill_hf_vit.py"}, Trial: skills.Trial{Module: "test_skill_hf_vit.mjs", Artefact: "vit-web-fp32", Platforms: []platform.Name{platform.WebNN}, Seq: 8}},
			{Model: "bert", File: pytests.File{Name: "test_skill_hf_bert.py"}, Trial: skills.Trial{Platforms: []platform.Name{platform.WebGPU}}},
		}
	}
	var asked, told []string
	failed := func(f pytests.File) { told = append(told, f.Name+": "+f.Failed[0].Why) }
	run := skillpages.Run{Skills: t.TempDir(), Runtime: t.TempDir(), Platform: "webnn"}
	got := models()
	if err := RunPages(t.Context(), run, "", got, exporting(&asked), failed); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 1 || asked[0] != "--format web --seq 8 vit" || len(told) != 1 || told[0] != "test_skill_hf_vit.mjs: export: an operator" {
		t.Errorf("asked %q, told %q", asked, told)
	}
	if len(got[1].Skipped) != 1 || got[1].Skipped[0].Why != "its skill is not for webnn" {
		t.Errorf("%+v", got[1])
	}
	got = models()
	if err := RunPages(t.Context(), run, "there is no browser", got, exporting(&asked), failed); err != nil || len(asked) != 1 || len(told) != 1 {
		t.Errorf("%v, asked %q, told %q", err, asked, told)
	}
	for _, m := range got {
		if len(m.Skipped) != 1 || m.Skipped[0].Why != "there is no browser" || m.Name == "" {
			t.Errorf("%+v", m)
		}
	}
}

// TestOfFolder: a model is run with the task that was asked for, or its own.
func TestOfFolder(t *testing.T) {
	t.Parallel()
	entry := catalog.Entry{Type: "bert", Task: "fill-mask", Pipeline: "text"}
	got := OfFolder([]folder.Model{
		{Choice: catalog.Choice{Entry: entry}, Test: "test_hf_bert.py"},
		{Choice: catalog.Choice{Entry: entry, Task: "question-answering"}, Test: "test_hf_bert.py"},
	})
	if len(got) != 2 || got[0].Task != "fill-mask" || got[1].Task != "question-answering" || got[0].Name != "test_hf_bert.py" || got[0].Model != "bert" || got[0].Pipeline != "text" {
		t.Errorf("%+v", got)
	}
}
