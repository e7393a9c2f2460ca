package dash

import (
	"reflect"
	"strings"
	"testing"

	"assay/internal/cell"
)

// fieldsOf are the names of a type's fields in JSON, with those of what is embedded.
func fieldsOf(t reflect.Type, into map[string]bool) map[string]bool {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			fieldsOf(f.Type, into)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		into[name] = true
	}
	return into
}

// TestFieldsExist: what an error calls a field is one.
func TestFieldsExist(t *testing.T) {
	t.Parallel()
	known := fieldsOf(reflect.TypeFor[RunRequest](), map[string]bool{})
	for flag, field := range ofRuns {
		if !known[field] {
			t.Errorf("--%s is called %q, which a run's request does not have", flag, field)
		}
	}
	for _, s := range cell.SpecialSettings() {
		if field := strings.Trim(inFields("--"+s.Flag, ofRuns), `"`); !known[field] {
			t.Errorf("--%s is called %q, which a run's request does not have", s.Flag, field)
		}
	}
}

// TestErrorsNameFields: over HTTP nobody is told of flags, but for those of the server.
func TestErrorsNameFields(t *testing.T) {
	t.Parallel()
	x := start(t, nil)
	for body, want := range map[string]string{
		`{"models":["bert"],"targets":["cpu"],"prompts":[5]}`:                `\"prompts\" is for mode generate: use \"seqs\", or add \"mode\" generate`,
		`{"models":["bert"],"targets":["cpu"],"batches":[0]}`:                `\"batches\" 0: it must be at least 1`,
		`{"models":["bert"],"targets":["cpu"],"procs":2}`:                    `add \"parallel\" ddp or fsdp with \"mode\" train`,
		`{"models":["bert"],"targets":["cpu"],"weights":"hub"}`:              `or \"size\" full`,
		`{"models":["bert"],"targets":["cuda"],"mode":"infer","tokens":3}`:   `leave \"tokens\" out, or add \"mode\" generate`,
		`{"models":["bert"],"targets":["cpu"],"mode":"infer","lora":"lora"}`: "",
	} {
		status, _, text := x.ask("POST", "/v1/runs", body)
		if status != 422 || !strings.Contains(text, want) || strings.Contains(text, "--") {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	if got := inFields("read that code, then give --trust-remote-code, or --weights random", nil); got != `read that code, then give assay serve --trust-remote-code, or "weights" random` {
		t.Error(got)
	}
}
