package instructions

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func findings() *rapid.Generator[Finding] {
	return rapid.Custom(func(t *rapid.T) Finding {
		death := rapid.Custom(func(t *rapid.T) Death {
			return Death{rapid.String().Draw(t, "engine"), rapid.String().Draw(t, "dtype"), rapid.String().Draw(t, "level"), rapid.IntRange(1, 64).Draw(t, "signal")}
		})
		names := []string{""}
		for _, l := range levels {
			names = append(names, l.name)
		}
		return Finding{Lowered: rapid.SampledFrom(names).Draw(t, "lowered"), Died: rapid.SliceOfN(death, 1, 4).Draw(t, "died")}
	})
}

// save replaces what is kept.
func save(m Memory, key string, f Finding) error {
	_, err := m.Change(key, func(Finding) Finding { return f })
	return err
}

// TestMemoryKeeps: what was saved last is loaded, under its own key alone.
func TestMemoryKeeps(t *testing.T) {
	t.Parallel()
	m := Memory{Dir: filepath.Join(t.TempDir(), "not", "yet")}
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.StringMatching(`[0-9a-f]{24}`), 2, 2, rapid.ID).Draw(t, "keys")
		first, second := findings().Draw(t, "first"), findings().Draw(t, "second")
		for _, f := range []Finding{first, second} {
			if err := save(m, keys[0], f); err != nil {
				t.Fatal(err)
			}
		}
		got, ok := m.Load(keys[0])
		if diff := cmp.Diff(second, got); !ok || diff != "" {
			t.Fatalf("loaded %v (-want +got):\n%s", ok, diff)
		}
		if _, ok := m.Load(keys[1]); ok {
			t.Fatal("another key has a finding")
		}
	})
}

// TestMemoryDamaged: a damaged file is as if there were none, and saving repairs it.
func TestMemoryDamaged(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "null garbage", `{"lowered":"SSE9"}`, `{"lowered":7}`, "[]", `{"lowered":"AVX2"}`, `{"lowered":"AVX2","died":[]}`} {
		m := Memory{Dir: t.TempDir()}
		if err := os.WriteFile(m.file("k"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if f, ok := m.Load("k"); ok {
			t.Errorf("%q was taken for %+v", text, f)
		}
		want := Finding{Lowered: "AVX2", Died: []Death{{Engine: "torch", Signal: 4}}}
		if err := save(m, "k", want); err != nil {
			t.Fatal(err)
		}
		if got, ok := m.Load("k"); !ok || !cmp.Equal(got, want) {
			t.Errorf("after saving: %+v, %v", got, ok)
		}
	}
}

// TestMemoryIsWhole: readers beside writers see a whole file, and nothing is left over.
func TestMemoryIsWhole(t *testing.T) {
	t.Parallel()
	m := Memory{Dir: t.TempDir()}
	died := []Death{{Engine: "torch", Signal: 4}}
	if err := save(m, "k", Finding{Lowered: "AVX2", Died: died}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				if err := save(m, "k", Finding{Lowered: "AVX512_CORE", Died: died}); err != nil {
					t.Error(err)
				}
				if _, ok := m.Load("k"); !ok {
					t.Error("a reader saw half a file")
				}
			}
		})
	}
	all.Wait()
	if left, err := os.ReadDir(m.Dir); err != nil || len(left) != 2 { // and the lock
		t.Errorf("%d files, %v", len(left), err)
	}
}

// TestMemoryAdds: of programs that add to one memory in parallel none loses what
// another found.
func TestMemoryAdds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			now := Finding{Lowered: levels[i%len(levels)].name, Died: []Death{{Engine: "torch", Level: levels[i%len(levels)].name, Signal: 4}}}
			if _, err := (Memory{Dir: dir}).Change("k", func(old Finding) Finding { return Merge(old, now) }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	m := Memory{Dir: dir}
	if f, ok := m.Load("k"); !ok || f.Lowered != "AVX2" || len(f.Died) != len(levels) {
		t.Errorf("kept %+v", f)
	}
	if err := m.Forget("k"); err != nil {
		t.Error(err)
	}
	if f, ok := m.Load("k"); ok || m.Forget("k") != nil {
		t.Errorf("after forgetting it is %+v", f)
	}
}

// TestUntried: only what is not installed may be left out for good.
func TestUntried(t *testing.T) {
	t.Parallel()
	f := Finding{Skipped: map[string]string{"torch int8": "it took too long", "openvino int8": Absent, "torch bf16": "raised an exception"}}
	if diff := cmp.Diff([]string{"torch bf16: raised an exception", "torch int8: it took too long"}, f.Untried()); diff != "" {
		t.Error(diff)
	}
}

// TestKey: whatever may change the answer changes its name.
func TestKey(t *testing.T) {
	t.Parallel()
	p := Processor{"GenuineIntel", "6", "207", "Xeon", "28", "amx_tile"}
	versions := map[string]string{"torch": "2.15.0", "openvino": "2026.4.1"}
	key := Key(p, "/env/bin/python", versions)
	others := map[string]string{
		"another model":    Key(Processor{"GenuineIntel", "6", "143", "Xeon", "28", "amx_tile"}, "/env/bin/python", versions),
		"another leaf":     Key(Processor{"GenuineIntel", "6", "207", "Xeon", "32", "amx_tile"}, "/env/bin/python", versions),
		"other flags":      Key(Processor{"GenuineIntel", "6", "207", "Xeon", "28", "amx_tile amx_bf16"}, "/env/bin/python", versions),
		"another torch":    Key(p, "/env/bin/python", map[string]string{"torch": "2.16.0", "openvino": "2026.4.1"}),
		"no OpenVINO":      Key(p, "/env/bin/python", map[string]string{"torch": "2.15.0"}),
		"another environ.": Key(p, "/other/bin/python", versions),
	}
	for what, other := range others {
		if other == key {
			t.Errorf("%s has the same key", what)
		}
	}
	// The Python package's tests have the same: both use one file.
	if want := "4b66e81a95bcf80eae06b698"; key != want {
		t.Errorf("the key is %s, want %s", key, want)
	}
	if Key(p, "/env/bin/python3", map[string]string{"torch": "2.15.0", "openvino": "2026.4.1", "numpy": "2"}) != key {
		t.Error("the same environment has another key")
	}
}
