package history

import (
	"context"
	"errors"
	"testing"

	"assay/internal/cell"

	"github.com/google/go-cmp/cmp"
)

// TestUnfinished: of each kind of result, whether the cell that it is of is run again.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	asked := cell.Cell{Type: "bert", Batch: 8}.Normal()
	smaller := cell.Cell{Type: "bert", Batch: 2}
	answers := func(r *cell.Result) { r.Asked = asked.Hash }
	for name, c := range map[string]struct {
		stored []cell.Result
		host   string
		timing cell.Timing
		again  bool
	}{
		"nothing stored":       {nil, host, cell.Functional, true},
		"done":                 {[]cell.Result{result(asked, 0)}, host, cell.Functional, false},
		"fails":                {[]cell.Result{result(asked, 0, failing(cell.Crash))}, host, cell.Functional, false},
		"another host's":       {[]cell.Result{result(asked, 0)}, "h-2", cell.Functional, true},
		"another cell":         {[]cell.Result{result(smaller, 0)}, host, cell.Functional, true},
		"made smaller":         {[]cell.Result{result(smaller, 0, answers)}, host, cell.Functional, false},
		"elsewhere instead":    {[]cell.Result{result(smaller, 0, answers, func(r *cell.Result) { r.Fallback = &cell.Fallback{From: "cuda", Reason: "absent"} })}, host, cell.Functional, true},
		"another torch":        {[]cell.Result{result(asked, 0, func(r *cell.Result) { r.Context.Versions = map[string]string{"torch": "2.14.0"} })}, host, cell.Functional, true},
		"machine broke":        {[]cell.Result{result(asked, 0, failing(cell.Environment))}, host, cell.Functional, true},
		"Assay broke":          {[]cell.Result{result(asked, 0, failing(cell.Harness))}, host, cell.Functional, true},
		"broke after it":       {[]cell.Result{result(asked, 0), result(asked, 1, failing(cell.Harness))}, host, cell.Functional, false},
		"no device":            {[]cell.Result{result(asked, 0, func(r *cell.Result) { r.Verdict, r.Evidence = cell.Unavailable, cell.None })}, host, cell.Functional, true},
		"derived":              {[]cell.Result{result(asked, 0, func(r *cell.Result) { r.Evidence = cell.Derived })}, host, cell.Functional, true},
		"not timed":            {[]cell.Result{result(asked, 0)}, host, cell.Quick, true},
		"timed":                {[]cell.Result{result(asked, 0, timed(2))}, host, cell.Quick, false},
		"timed, then not":      {[]cell.Result{result(asked, 0, timed(2)), result(asked, 1)}, host, cell.Quick, false},
		"timed, not asked for": {[]cell.Result{result(asked, 0, timed(2))}, host, cell.Functional, false},
		"other files":          {[]cell.Result{result(asked, 0, func(r *cell.Result) { r.Content = "c0ffee" })}, host, cell.Functional, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t)
			write(t, h, "a", host, c.stored...)
			plan := cell.Plan{Cells: []cell.Cell{asked}, Timing: c.timing}
			left, err := h.Unfinished(t.Context(), plan, Here{Host: c.host, Versions: versions, Content: noContent})
			if err != nil || (len(left.Cells) == 1) != c.again {
				t.Errorf("%v, %d cells are left", err, len(left.Cells))
			}
		})
	}
}

// TestUnfinishedByContent: a cell of the user's own files is done when it was
// with the same ones, and is run when they cannot be read.
func TestUnfinishedByContent(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	c := cell.Cell{Type: "bert", Checkpoint: "/models/mine/config.json", Size: cell.Full}
	write(t, h, "a", host, result(c, 0, func(r *cell.Result) { r.Content = "c0ffee" }))
	for _, tc := range []struct {
		content string
		err     error
		left    int
	}{{"c0ffee", nil, 0}, {"decaf", nil, 1}, {"", nil, 1}, {"c0ffee", errors.New("it cannot be read"), 1}} {
		here := Here{Host: host, Versions: versions, Content: func(context.Context, cell.Cell) (string, error) { return tc.content, tc.err }}
		left, err := h.Unfinished(t.Context(), cell.Plan{Cells: []cell.Cell{c.Normal()}}, here)
		if err != nil || len(left.Cells) != tc.left {
			t.Errorf("%q, %v: %v, %d cells are left", tc.content, tc.err, err, len(left.Cells))
		}
	}
}

// TestUnfinishedByBrowser: a browser that was updated runs its cells again; one
// whose version is not known does not.
func TestUnfinishedByBrowser(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	c := cell.Cell{Type: "bert", Target: "webgpu"}.Normal()
	write(t, h, "a", host, result(c, 0, func(r *cell.Result) { r.Context.Browser = &cell.Browser{Name: "firefox", Version: "150.0"} }))
	for name, tc := range map[string]struct {
		browsers map[string]string
		left     int
	}{
		"same":    {map[string]string{"firefox": "150.0", "chrome": "151.0"}, 0},
		"updated": {map[string]string{"firefox": "151.0", "chrome": "150.0"}, 1},
		"unknown": {map[string]string{"chrome": "151.0"}, 0},
		"none":    {nil, 0},
	} {
		here := Here{Host: host, Versions: versions, Content: noContent, Browsers: func(context.Context) map[string]string { return tc.browsers }}
		left, err := h.Unfinished(t.Context(), cell.Plan{Cells: []cell.Cell{c}}, here)
		if err != nil || len(left.Cells) != tc.left {
			t.Errorf("%s: %v, %d cells are left", name, err, len(left.Cells))
		}
	}
	here := Here{Host: host, Versions: versions, Content: noContent, Browsers: func(context.Context) map[string]string {
		t.Error("a plan without pages asks for browsers")
		return nil
	}}
	if _, err := h.Unfinished(t.Context(), cell.Plan{Cells: []cell.Cell{cell.Cell{Type: "bert"}.Normal()}}, here); err != nil {
		t.Error(err)
	}
}

// TestUnfinishedStops: a stopped program reads no more files.
func TestUnfinishedStops(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	ctx, cancel := context.WithCancel(t.Context())
	here := Here{Host: host, Content: func(context.Context, cell.Cell) (string, error) { cancel(); return "", nil }}
	if _, err := h.Unfinished(ctx, cell.Plan{Cells: []cell.Cell{cell.Cell{Type: "bert"}.Normal()}}, here); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestLatest: of each planned cell this host's newest result, also of one that
// memory made smaller, and not what ran in another's place.
func TestLatest(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	cpu, cuda := cell.Cell{Type: "bert"}.Normal(), cell.Cell{Type: "bert", Target: "cuda"}.Normal()
	asked := cell.Cell{Type: "vit", Batch: 8}.Normal()
	write(t, h, "a", host,
		result(cpu, 0, failing(cell.Crash)), result(cpu, 1), result(cell.Cell{Type: "t5"}, 2),
		result(cuda, 3, func(r *cell.Result) { r.Verdict, r.Evidence = cell.Unavailable, cell.None }),
		result(cpu, 4, failing(cell.OutOfMemory), func(r *cell.Result) { r.Asked, r.Fallback = cuda.Hash, &cell.Fallback{From: "cuda", Reason: "absent"} }),
		result(cell.Cell{Type: "vit", Batch: 2}, 5, func(r *cell.Result) { r.Asked = asked.Hash }))
	write(t, h, "b", "h-2", result(cpu, 9, failing(cell.Timeout)))
	got, err := h.Latest(t.Context(), host, cell.Plan{Cells: []cell.Cell{cpu, cuda, asked}})
	must(t, err)
	var said []string
	for _, r := range got {
		said = append(said, r.Cell.Type+" on "+r.Cell.Target+" "+string(r.Verdict))
	}
	if d := cmp.Diff([]string{"vit on cpu works", "bert on cpu fails", "bert on cuda unavailable"}, said); d != "" {
		t.Error(d)
	}
}
