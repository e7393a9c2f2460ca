package plan

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/catalog"
	"assay/internal/cell"

	"github.com/google/go-cmp/cmp"
)

// TestRequestJSON: a request is written flat, in the words of flags and plans.
func TestRequestJSON(t *testing.T) {
	t.Parallel()
	const text = `{"models":["bert"],"key":true,"targets":["auto"],"size":"full","batches":[1,4],"timing":"quick","strict":true}`
	var got Request
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := Request{
		Selector: catalog.Selector{Models: []string{"bert"}, Key: true},
		Settings: Settings{Targets: []string{"auto"}, Size: "full", Batches: []int{1, 4}},
		How:      How{Timing: cell.Quick, Strict: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if b, err := json.Marshal(got); err != nil || string(b) != text {
		t.Errorf("%s, %v", b, err)
	}
}

func TestWithFile(t *testing.T) {
	t.Parallel()
	cells := []cell.Cell{{Type: "bert"}}
	for name, tc := range map[string]struct {
		asked How
		file  cell.Plan
		want  How
	}{
		"a file that asks for nothing":       {How{Timing: cell.Quick}, cell.Plan{Timing: cell.Functional}, How{Timing: cell.Quick}},
		"a file that is timed":               {How{Timing: cell.Functional}, cell.Plan{Timing: cell.Thorough}, How{Timing: cell.Thorough}},
		"strict in one, not to adapt in two": {How{NoAdapt: true}, cell.Plan{Strict: true, NoFallback: true}, How{Strict: true, NoAdapt: true, NoFallback: true}},
		"the file's limits":                  {How{}, cell.Plan{TimeoutS: 9, Repeats: 3}, How{TimeoutS: 9, Repeats: 3}},
		"the asker's limits":                 {How{TimeoutS: 5, Repeats: 7}, cell.Plan{TimeoutS: 9, Repeats: 3}, How{TimeoutS: 5, Repeats: 7}},
	} {
		// What flags have by default is not a setting of the asker's.
		asked := Request{How: tc.asked, Settings: Settings{Targets: []string{"auto"}, Batches: []int{1}}}
		tc.file.Cells = cells
		got, err := asked.WithFile(tc.file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Request{How: tc.want, Cells: cells}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	_, err := asking([]string{"vit"}).WithFile(cell.Plan{Cells: cells})
	if wrong := (*RequestError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "--plan already names the cells") {
		t.Errorf("%v", err)
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	cat := load(t)
	dir := folder(t, map[string]string{"config.json": bertConfig})
	strange := folder(t, map[string]string{"config.json": `{"model_type":"nobody_has_it"}`})
	for want, look := range map[string]Look{
		"bert on cpu fp32 tiny random":                                 {Model: "bert", Batch: 1},
		"google-bert/bert-base-uncased on cpu fp32 full random":        {Model: "bert", Size: cell.Full, Batch: 1},
		filepath.Join(dir, "config.json") + " on cpu fp32 full random": {Model: dir, Batch: 1},
		`bert has no head for task "summarise": its tasks are`:         {Model: "bert", Task: "summarise", Batch: 1},
		"--batch 0: it must be at least 1":                             {Model: "bert"},
		"which transformers":                                           {Model: strange, Batch: 1},
		"unknown model":                                                {Model: "bertt", Batch: 1},
		"seq -1 is out of range":                                       {Model: "bert", Batch: 1, Seq: -1},
		`unknown size "huge"`:                                          {Model: "bert", Size: "huge", Batch: 1},
	} {
		c, entry, err := look.Cell(cat)
		wrong := (*RequestError)(nil)
		switch {
		case errors.As(err, &wrong) && strings.Contains(err.Error(), want):
		case err != nil || line(c) != want || entry.Type != "bert" || c.Hash == "":
			t.Errorf("%+v: %s, %v; want %s", look, line(c), err, want)
		}
	}
}
