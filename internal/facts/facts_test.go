package facts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sheet = `{"schema":1,"evidence":"derived","class":"BertForMaskedLM","flops":null,"missing":{"flops":"NotImplementedError (Router, m.py:3)"},
	"parameters":{"total":7,"trainable":7,"by_dtype":{"float32":7},"modules":[{"name":"bert","class":"BertModel","parameters":7}]}}`

func TestParse(t *testing.T) {
	t.Parallel()
	s, err := Parse([]byte(sheet))
	if err != nil {
		t.Fatal(err)
	}
	if s.Flops != nil || s.Missing["flops"] == "" || s.Parameters.Total != 7 || s.Parameters.Modules[0].Class != "BertModel" {
		t.Errorf("%+v", s)
	}
	for text, want := range map[string]string{
		`{"schema":2,"evidence":"derived","class":"A"}`:  "schema 2",
		`{"schema":1,"evidence":"measured","class":"A"}`: "not derived",
		`{"schema":1,"evidence":"derived"}`:              "no class",
		`[]`:                                             "cannot parse",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse: whatever is in a sheet, it is refused or can be written again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sheet))
	f.Add([]byte(`{"schema":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Parse(b)
		if (s == nil) == (err == nil) {
			t.Fatalf("%v and %v", s, err)
		}
		if err != nil {
			return
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCache(t *testing.T) {
	t.Parallel()
	s, err := Parse([]byte(sheet))
	if err != nil {
		t.Fatal(err)
	}
	q := Question{Source: []byte(`{"type":"bert"}`), Batch: 1, Versions: map[string]string{"torch": "2.15.0"}}
	c := Cache{filepath.Join(t.TempDir(), "facts")}
	want := Answer{json.RawMessage(`{"type":"bert"}`), s}
	if _, ok := c.Get(q); ok {
		t.Error("an empty cache has an answer")
	}
	if err := c.Put(q, want); err != nil {
		t.Fatal(err)
	}
	got, ok := c.Get(q)
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("%v %s", ok, diff)
	}
	others := []func(*Question){
		func(q *Question) { q.Batch = 2 },
		func(q *Question) { q.Seq = 2 },
		func(q *Question) { q.Image = 2 },
		func(q *Question) { q.Task = "fill-mask" },
		func(q *Question) { q.Source = []byte(`{"type":"roberta"}`) },
		func(q *Question) { q.Versions = map[string]string{"torch": "2.16.0"} },
	}
	for i, change := range others {
		other := q
		change(&other)
		if _, ok := c.Get(other); ok {
			t.Errorf("question %d has the answer of another", i)
		}
	}
	if err := os.WriteFile(c.path(q), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Get(q); ok {
		t.Error("a torn file is an answer")
	}
	if err := (Cache{}).Put(q, want); err != nil {
		t.Error(err)
	}
}
