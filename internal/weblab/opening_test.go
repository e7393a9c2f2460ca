package weblab

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestOpening: the address is in a file of the user's alone, and in no command.
func TestOpening(t *testing.T) {
	const secret = "http://127.0.0.1:1/lab/SECRET/"
	bin, told := t.TempDir(), filepath.Join(t.TempDir(), "told")
	if runtime.GOOS != "linux" {
		t.Skip("xdg-open is Linux's")
	}
	script := "#!/bin/sh\necho \"$@\" > " + told + "\ncat \"$1\" >> " + told + "\nexit 3\n"
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	o, err := WriteOpening(filepath.Join(t.TempDir(), "data"), secret)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(o.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	ended := make(chan error)
	o.Open(func(err error) { ended <- err })
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "status 3") {
		t.Errorf("the browser's end was told as %v", err)
	}
	b, err := os.ReadFile(told)
	arguments, page, _ := strings.Cut(string(b), "\n")
	if err != nil || strings.Contains(arguments, "SECRET") || !strings.Contains(page, "url="+secret) {
		t.Errorf("called with %q, and the page is %q (%v)", arguments, page, err)
	}
	o.Remove()
	if _, err := os.Stat(o.file); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}
