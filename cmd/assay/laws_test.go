package main

import (
	"os"
	"path/filepath"
	"testing"

	"assay/internal/cell"
)

func TestScriptsOfBrokenLaws(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	results := []cell.Result{{
		Cell: cell.Cell{Type: "aimv2"},
		Laws: []cell.Law{{Name: "padding", Status: cell.LawBroken, Script: "print(1)\n"}, {Name: "batch", Status: cell.LawHolds, Script: "print(2)\n"}, {Name: "cache", Status: cell.LawBroken}},
	}}
	if err := writeScripts(dir, results); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != "aimv2-padding.py" {
		t.Fatal(files, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "aimv2-padding.py")); err != nil || string(b) != "print(1)\n" {
		t.Errorf("%q, %v", b, err)
	}
	if err := writeScripts(filepath.Join(dir, "gone"), results); err == nil {
		t.Error("a folder that is not there is no error")
	}
	if err := writeScripts("", results); err != nil {
		t.Error(err)
	}
}

// TestLawsByDefault: every type at size tiny tries them, anything else where it
// is asked to.
func TestLawsByDefault(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args    []string
		want    bool
		refused bool
	}{
		{[]string{"--all", "--size", "tiny"}, true, false},
		{[]string{"--all", "--size", "tiny", "--laws=false"}, false, false},
		{[]string{"--all"}, false, false},
		{[]string{"--key", "--size", "tiny"}, false, false},
		{[]string{"--laws"}, true, false},
		{[]string{"--repro", filepath.Join(t.TempDir(), "found")}, false, true},
		{[]string{"--laws", "--repro", filepath.Join(t.TempDir(), "found")}, true, false},
	} {
		f := &carryFlags{}
		c := testCommand(&app{})
		c.ResetFlags()
		f.add(c, "auto")
		f.addLaws(c)
		if err := c.ParseFlags(tt.args); err != nil {
			t.Fatal(err)
		}
		err := f.askLaws()
		if (err != nil) != tt.refused || err == nil && (f.Laws != tt.want || f.Scripts != (f.repro != "")) {
			t.Errorf("%q: laws %t, scripts %t, %v; want %t", tt.args, f.Laws, f.Scripts, err, tt.want)
		}
	}
}
