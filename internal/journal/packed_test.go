package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/cell"
)

// A packed journal reads as the journal does, but for what belongs to its machine,
// and is imported like any other.
func TestPack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, err := Create(dir, header("run-1"))
	must(t, err)
	for i := range 3 {
		r := result(i)
		if i == 1 {
			r.Verdict, r.Failure = cell.Fails, &cell.Failure{Class: cell.Crash, Detail: "it died", Log: "File /home/someone/x.py"}
		}
		_, err := w.Append(r)
		must(t, err)
	}
	must(t, w.End())
	must(t, w.Close())
	packed := filepath.Join(dir, "run-1"+Packed)
	must(t, Pack(w.Path(), packed))
	again := filepath.Join(dir, "again"+Packed)
	must(t, Pack(w.Path(), again))
	if !bytes.Equal(bytesOf(t, packed), bytesOf(t, again)) {
		t.Error("packing twice gives other bytes")
	}
	lines, problems := read(t, packed)
	if len(lines) != 4 || len(problems) != 0 {
		t.Fatalf("%d lines, %v", len(lines), problems)
	}
	failed := lines[1]
	if f := failed.Result.Failure; f.Log != "" || f.Detail != "it died" || strings.Contains(string(failed.Body), "someone") {
		t.Errorf("the failure is %s", failed.Body)
	}
	imported(t, packed, t.TempDir(), 3, 0)
	r, err := Open(packed)
	must(t, err)
	defer r.Close()
	if err := r.Resume(10, 2); err == nil {
		t.Error("a packed journal was read from the middle")
	}
}

// What is torn was never acknowledged; what is damaged is not published.
func TestPackDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := write(t, dir, "run-1", 3)
	whole := bytesOf(t, path)
	dst := filepath.Join(dir, "out"+Packed)
	must(t, os.WriteFile(path, whole[:len(whole)-20], 0o600))
	if err := Pack(path, dst); err != nil {
		t.Errorf("torn: %v", err)
	}
	must(t, os.Remove(dst))
	must(t, os.WriteFile(path, bytes.Replace(whole, []byte(`"kind":"result"`), []byte(`"kind":"result`), 1), 0o600))
	if err := Pack(path, dst); err == nil || !strings.Contains(err.Error(), "cannot be packed") {
		t.Errorf("damaged: %v", err)
	}
	if _, err := os.Stat(dst); err == nil {
		t.Error("a damaged journal was published")
	}
	must(t, Pack(write(t, dir, "run-2", 50), dst))
	b := bytesOf(t, dst)
	must(t, os.WriteFile(dst, b[:len(b)/2], 0o600))
	if _, _, err := readAll(dst); err == nil {
		t.Error("half a packed journal was read as a whole one")
	}
}
