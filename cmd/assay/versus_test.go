package main

import (
	"testing"

	"assay/internal/cell"
	"assay/internal/compare"

	"github.com/spf13/cobra"
)

// TestSettingKeepsHowItIsRun: each side of --ab is held, waited for and repeated as the
// command line says, whatever its own settings are.
func TestSettingKeepsHowItIsRun(t *testing.T) {
	t.Parallel()
	f, c := &carryFlags{}, &cobra.Command{}
	f.add(c, "auto")
	f.addName(c)
	f.Repeats, f.WaitQuietS, f.MaxTempC, f.Pin, f.as = 4, 5, 60, "0-1", "named"
	if err := c.Flags().Set("batch", "2"); err != nil {
		t.Fatal(err)
	}
	e, _, _ := capturedEnv(t, variables(t, t.TempDir()), nil, nil)
	s, err := (&app{env: e}).setting(t.Context(), f, "threads=2", []string{"bert"})
	if err != nil {
		t.Fatal(err)
	}
	r := s.flags.request(s.args)
	if r.Repeats != 4 || r.WaitQuietS != 5 || r.MaxTempC != 60 || r.Pin != "0-1" || s.flags.as != "named" || r.Threads != 2 || r.Batches[0] != 2 {
		t.Errorf("%+v", r)
	}
}

// TestUncompared: cells that the old side does not hold, and those under which the machine
// broke, are not in the comparison.
func TestUncompared(t *testing.T) {
	t.Parallel()
	result := func(typ string, v cell.Verdict) cell.Result {
		return cell.Result{Cell: cell.Cell{Type: typ}.Normal(), Verdict: v}
	}
	held, broke := result("bert", cell.Works), result("vit", cell.Unknown)
	broke.Failure = &cell.Failure{Class: cell.Environment}
	old := compare.Side{Entries: []compare.Entry{{Result: &held}, {Result: &cell.Result{Cell: broke.Cell, Verdict: cell.Works}}}}
	left := uncompared([]cell.Result{held, broke, result("t5", cell.Fails)}, old, compare.Options{})
	if len(left) != 2 || left[0].Cell.Type != "vit" || left[1].Cell.Type != "t5" {
		t.Errorf("%+v", left)
	}
	narrow := held
	narrow.Cell.DType = "bf16"
	if left := uncompared([]cell.Result{narrow}, old, compare.Options{Across: []string{"dtype"}}); len(left) != 0 {
		t.Errorf("across dtypes: %+v", left)
	}
	if err := status(left, false); err == nil || err.(*statusError).status != exitFails { //nolint:errorlint // made here
		t.Errorf("a new cell that fails: %v", err)
	}
}

// TestSameTiming: what was timed otherwise is refused before it runs.
func TestSameTiming(t *testing.T) {
	t.Parallel()
	entry := func(typ string, timing cell.Timing) compare.Entry {
		return compare.Entry{Result: &cell.Result{Cell: cell.Cell{Type: typ}.Normal(), Timing: timing, Latency: &cell.Latency{}}}
	}
	old := compare.Side{Entries: []compare.Entry{entry("bert", cell.Quick), entry("vit", cell.Thorough), entry("t5", cell.Functional)}}
	for _, c := range []struct {
		model   string
		timing  cell.Timing
		across  []string
		refused bool
	}{
		{"bert", cell.Quick, nil, false},
		{"bert", cell.Thorough, nil, true},
		{"bert", cell.Thorough, []string{"timing"}, false},
		{"vit", cell.Quick, nil, true},
		{"t5", cell.Quick, nil, false},   // its verdict is compared
		{"gpt2", cell.Quick, nil, false}, // the comparison says that it is not there
	} {
		v := &versusFlags{baseline: "main"}
		v.across = c.across
		err := sameTiming(old, cell.Plan{Timing: c.timing, Cells: []cell.Cell{{Type: c.model}}}, v)
		if (err != nil) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
