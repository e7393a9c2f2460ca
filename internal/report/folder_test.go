package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWriteFolder: a report's files hold what the printers print, and nothing
// else is in the folder.
func TestWriteFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	d := NewDocument(nil, Options{})
	names, err := WriteFolder(dir, d)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Files(), names); diff != "" {
		t.Fatal(diff)
	}
	for i, x := range files {
		var want bytes.Buffer
		if err := Write(&want, x.format, d); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, names[i]))
		if err != nil || !bytes.Equal(want.Bytes(), got) {
			t.Errorf("%s is not what is printed as %s: %v", names[i], x.format, err)
		}
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != len(names) {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := WriteFolder(filepath.Join(dir, "report.md"), d); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestParseFormat(t *testing.T) {
	t.Parallel()
	for _, f := range Formats() {
		if got, err := ParseFormat(string(f)); err != nil || got != f {
			t.Errorf("%s: %s, %v", f, got, err)
		}
	}
	if _, err := ParseFormat("docx"); err == nil || !strings.HasPrefix(err.Error(), `unknown format "docx": the formats are text, json, md, html, svg`) {
		t.Error(err)
	}
}
