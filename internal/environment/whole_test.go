package environment

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site := filepath.Join(dir, "lib", "python3.12", "site-packages")
	for name, text := range map[string]string{
		"torch/__init__.py":              "version = 2\n",
		"torch/short.py":                 "x",
		"torch-2.15.0.dist-info/RECORD":  "torch/__init__.py,sha256=a,12\ntorch/short.py,sha256=b,99\ntorch/gone.py,sha256=c,1\ntorch-2.15.0.dist-info/RECORD,,\n",
		"Markup_Safe-3.dist-info/RECORD": "",
	} {
		if err := replaceFile(filepath.Join(site, filepath.FromSlash(name)), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	m := &Maker{lock: []byte("torch==2.15.0\nmarkup-safe==3\ntimm==1.0\ncolorama==1 ; sys_platform == 'win32'\n")}
	env := Environment{Managed: true, Python: filepath.Join(dir, "bin", "python")}
	got, err := m.Inspect(env)
	if err != nil {
		t.Fatal(err)
	}
	want := Content{Packages: 2, Files: 3, Damaged: []string{"torch/gone.py", "torch/short.py"}, Lacking: []string{"timm 1.0"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Whole() {
		t.Error("a damaged environment is said to be whole")
	}
	if err := os.RemoveAll(site); err != nil {
		t.Fatal(err)
	}
	if c, err := m.Inspect(env); err == nil {
		t.Errorf("an empty environment gave %+v", c)
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte("a/b.py,sha256=x,12\n\"with,comma.py\",sha256=y,3\nRECORD,,\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		files, err := parseRecord(text)
		if err != nil && files != nil {
			t.Errorf("%q gave both files and %v", text, err)
		}
	})
}
