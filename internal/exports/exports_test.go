package exports

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/filelock"
)

// put writes an entry as a runner does, last used so long ago.
func put(t *testing.T, c Cache, n int, bytes int, ago time.Duration, more map[string]any) string {
	t.Helper()
	key := fmt.Sprintf("%032x", n)
	folder := c.folder(key)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	m := map[string]any{
		"schema": 1, "key": key, "kind": "onnx", "type": fmt.Sprintf("type%d", n), "made_at": 1_700_000_000,
		"files": map[string]int{"model.onnx": bytes},
	}
	for name, v := range more {
		m[name] = v
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "model.onnx"), strings.Repeat("x", bytes))
	write(t, filepath.Join(folder, ManifestName), string(text))
	then := time.Now().Add(-ago)
	if err := os.Chtimes(filepath.Join(folder, ManifestName), then, then); err != nil {
		t.Fatal(err)
	}
	return key
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func keys(es []Entry) []string {
	var out []string
	for _, e := range es {
		out = append(out, e.Key)
	}
	return out
}

func TestListSaysWhatIsThere(t *testing.T) {
	t.Parallel()
	c := Cache{t.TempDir()}
	old := put(t, c, 1, 10, time.Hour, nil)
	made := put(t, c, 2, 10, time.Minute, map[string]any{"kind": "openvino", "type": "", "of": old})
	failed := put(t, c, 3, 0, time.Second, map[string]any{"failed": map[string]string{"message": "no way"}})
	cut := put(t, c, 4, 10, 2*time.Hour, nil)
	write(t, filepath.Join(c.folder(cut), "model.onnx"), "x")
	odd := put(t, c, 5, 10, 3*time.Hour, map[string]any{"schema": 99})
	got, err := c.List()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{failed, made, old, cut, odd}; !slices.Equal(keys(got)[:4], want[:4]) {
		t.Fatalf("listed %v, want %v", keys(got), want)
	}
	byKey := map[string]Entry{}
	for _, e := range got {
		byKey[e.Key] = e
	}
	switch {
	case byKey[failed].Failed != "no way":
		t.Errorf("a failed export does not say why: %+v", byKey[failed])
	case byKey[made].Type != "type1":
		t.Errorf("what was made from a model does not name it: %+v", byKey[made])
	case !byKey[cut].Broken || !byKey[odd].Broken:
		t.Errorf("cut files and other schemas are taken for whole: %+v %+v", byKey[cut], byKey[odd])
	case byKey[old].Broken || byKey[old].Bytes < 10:
		t.Errorf("a whole entry is %+v", byKey[old])
	}
}

func TestAnEmptyCacheIsNone(t *testing.T) {
	t.Parallel()
	c := Cache{filepath.Join(t.TempDir(), "none")}
	got, err := c.List()
	if err != nil || len(got) != 0 {
		t.Errorf("listed %v, %v", got, err)
	}
	if done, err := c.Collect(0); err != nil || len(done.Removed) != 0 {
		t.Errorf("collected %+v, %v", done, err)
	}
}

// TestCollect: what is broken goes first, then what was used longest ago, and
// never what is in use.
func TestCollect(t *testing.T) {
	t.Parallel()
	c := Cache{t.TempDir()}
	held := put(t, c, 1, 100_000, 3*time.Hour, nil)
	old := put(t, c, 2, 100_000, 2*time.Hour, nil)
	fresh := put(t, c, 3, 100_000, time.Minute, nil)
	cut := put(t, c, 4, 10, time.Second, nil)
	write(t, filepath.Join(c.folder(cut), "model.onnx"), "")
	stale, live := filepath.Join(c.Dir, "making-1-x"), filepath.Join(c.Dir, "making-2-x")
	dead := filepath.Join(c.Dir, "making-"+old+"-x")      // nobody holds its key's lock
	underWay := filepath.Join(c.Dir, "making-"+held+"-x") // its key's lock is held
	for _, folder := range []string{stale, live, dead, underWay} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	then := time.Now().Add(-7 * time.Hour)
	if err := os.Chtimes(stale, then, then); err != nil {
		t.Fatal(err)
	}
	lock, err := c.hold(held, filelock.Shared)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()

	done, err := c.Collect(250_000)
	if err != nil {
		t.Fatal(err)
	}
	got := keys(done.Removed)
	slices.Sort(got)
	if want := []string{old, cut}; !slices.Equal(got, want) || done.InUse != 1 {
		t.Errorf("removed %v with %d in use, want %v with 1", got, done.InUse, want)
	}
	if _, err := c.Get(fresh); err != nil {
		t.Errorf("what was used last is gone: %v", err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an unfinished export of a dead process is still there: %v", err)
	}
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an abandoned export is still there: %v", err)
	}
	for _, folder := range []string{live, underWay} {
		if _, err := os.Stat(folder); err != nil {
			t.Errorf("an export under way was removed: %v", err)
		}
	}
	if err := c.Remove(held); !errors.Is(err, ErrInUse) {
		t.Errorf("an entry in use was removed: %v", err)
	}
}

func TestCopy(t *testing.T) {
	t.Parallel()
	c := Cache{t.TempDir()}
	key := put(t, c, 7, 12, 0, nil)
	out := filepath.Join(t.TempDir(), "new")
	names, err := c.Copy(key, out)
	if err != nil || !slices.Equal(names, []string{"model.onnx", ManifestName}) {
		t.Fatalf("copied %v, %v", names, err)
	}
	if text, err := os.ReadFile(filepath.Join(out, "model.onnx")); err != nil || len(text) != 12 {
		t.Errorf("the copy has %d bytes, %v", len(text), err)
	}
	for _, bad := range []string{"", "..", strings.Repeat("a", 32)} {
		if _, err := c.Get(bad); err == nil {
			t.Errorf("the key %q names an entry", bad)
		}
	}
	checked := put(t, c, 9, 5, 0, map[string]any{"files": map[string]int{"model.onnx": 5, "damaged/model.onnx": 4}})
	if err := os.Mkdir(filepath.Join(c.folder(checked), DamagedFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(c.folder(checked), DamagedFolder, "model.onnx"), "nope")
	names, err = c.Copy(checked, filepath.Join(t.TempDir(), "new"))
	if err != nil || !slices.Equal(names, []string{"model.onnx", ManifestName}) {
		t.Errorf("of a model with a damaged one beside it %v was copied, %v", names, err)
	}
	evil := put(t, c, 8, 3, 0, map[string]any{"files": map[string]int{"../../../model.onnx": 3}})
	if _, err := c.Copy(evil, out); err == nil {
		t.Error("a manifest led out of its folder")
	}
}

// TestOrigin: what was made of what was made of a model, or of a part of one,
// names it; a ring names nobody, and ends.
func TestOrigin(t *testing.T) {
	t.Parallel()
	whose := map[string]Entry{
		"a": {Key: "a", Type: "bert", Size: "tiny"}, "b": {Key: "b", Of: "a"}, "c": {Key: "c", Of: "b-encoder"},
		"x": {Key: "x", Of: "y"}, "y": {Key: "y", Of: "x"}, "lost": {Key: "lost", Of: "gone"},
	}
	for key, want := range map[string]string{"a": "bert", "b": "bert", "c": "bert", "x": "", "lost": ""} {
		if got := origin(whose[key], whose).Type; got != want {
			t.Errorf("%s is of %q, want %q", key, got, want)
		}
	}
}
