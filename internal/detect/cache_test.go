package detect

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// counting is a child that counts how often it is asked.
func counting(out string, fail error) (Child, *int) {
	asked := 0
	return func(context.Context, string) ([]byte, error) {
		asked++
		return []byte(out), fail
	}, &asked
}

func TestCache(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	good := `{"version":"1"}`
	tests := map[string]struct {
		out   string
		fail  error
		later func(Cache) Cache
		asked int
	}{
		"kept":        {good, nil, func(c Cache) Cache { return c }, 1},
		"absent kept": {`{"absent":"no torch"}`, nil, func(c Cache) Cache { return c }, 1},
		"fresh":       {good, nil, func(c Cache) Cache { c.Fresh = true; return c }, 2},
		"too old":     {good, nil, func(c Cache) Cache { c.Now = func() time.Time { return now.Add(CacheLife + time.Second) }; return c }, 2},
		"from future": {good, nil, func(c Cache) Cache { c.Now = func() time.Time { return now.Add(-time.Hour) }; return c }, 2},
		"other key":   {good, nil, func(c Cache) Cache { c.Key = "other"; return c }, 2},
		"failure":     {"", errors.New("crash"), func(c Cache) Cache { return c }, 2},
		"garbage":     {"hello", nil, func(c Cache) Cache { return c }, 2},
		"damaged": {good, nil, func(c Cache) Cache {
			if err := os.WriteFile(c.file("torch"), []byte("{"), 0o644); err != nil {
				panic(err)
			}
			return c
		}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Cache{Dir: filepath.Join(t.TempDir(), "detect"), Key: "k", Now: func() time.Time { return now }}
			child, asked := counting(tt.out, tt.fail)
			first, err1 := c.Around(child)(t.Context(), "torch")
			second, err2 := tt.later(c).Around(child)(t.Context(), "torch")
			if *asked != tt.asked {
				t.Errorf("asked %d times, want %d", *asked, tt.asked)
			}
			if string(first) != string(second) || !errors.Is(err2, err1) {
				t.Errorf("first %q, %v; then %q, %v", first, err1, second, err2)
			}
		})
	}
}

func TestCacheWithoutFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	child, _ := counting(`{"version":"1"}`, nil)
	c := Cache{Dir: filepath.Join(file, "below"), Key: "k", Now: time.Now}
	if out, err := c.Around(child)(t.Context(), "torch"); err != nil || len(out) == 0 {
		t.Errorf("a cache that cannot be written spoils the answer: %q, %v", out, err)
	}
}

func TestCacheKey(t *testing.T) {
	t.Parallel()
	python := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(python, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	key := func(python string, env map[string]string) string {
		m, _, err := Open(filepath.Join(machinesDir, "h200"))
		if err != nil {
			t.Fatal(err)
		}
		m.Env = lookup(env)
		return NewCache(t.TempDir(), python, Look(m)).Key
	}
	base := key(python, nil)
	if base != key(python, nil) {
		t.Error("the key is not stable")
	}
	if base == key(python, map[string]string{"CUDA_VISIBLE_DEVICES": ""}) {
		t.Error("a variable that hides devices leaves the key")
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(python, later, later); err != nil {
		t.Fatal(err)
	}
	if base == key(python, nil) {
		t.Error("another Python at the same path leaves the key")
	}
}
