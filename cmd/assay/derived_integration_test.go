//go:build integration

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// derivedRow is a result as the database has it.
type derivedRow struct {
	Type, Target, Size, DType, Verdict, Evidence, Note string
	Class, Detail                                      *string
}

func (p *program) derived(t *testing.T) []derivedRow {
	t.Helper()
	var answer struct{ Rows []derivedRow }
	text := p.ok(t, "query", "--json", "--sql", `select type, target, size, dtype, verdict, evidence, note, failure_class as "class", failure_detail as detail from results`)
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Rows
}

// TestIntegrationDerived: without an Apple or AMD GPU every key model, tiny and
// at its true size, gets a verdict from torch's tables that says what it rests
// on; a model that cannot run in half precision is told by name and place, and
// --strict asks for the hardware.
func TestIntegrationDerived(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	if strings.Contains(p.ok(t, "detect", "--platform", "mps,rocm", "--json"), `"status": "present"`) {
		t.Skip("this machine has an Apple or AMD GPU")
	}
	p.ok(t, "matrix", "--key", "--platform", "mps,rocm", "--dtype", "fp16")
	p.ok(t, "matrix", "bert-base-uncased", "whisper-tiny", "--platform", "mps")
	rows := p.derived(t)
	if len(rows) != 13*2+2 {
		t.Errorf("%d results", len(rows))
	}
	for _, r := range rows {
		if r.Verdict != "works" || r.Evidence != "derived" || !strings.Contains(r.Note, "operators against the kernels that torch ") || !strings.Contains(r.Note, "not run: ") {
			t.Errorf("%+v", r)
		}
	}
	if _, _, status := p.run(t, "matrix", "deberta", "--platform", "rocm", "--dtype", "bf16"); status != exitFails {
		t.Errorf("status %d for a model that fails", status)
	}
	for _, r := range p.derived(t) {
		if r.Type == "deberta" && (r.Verdict != "fails" || r.Evidence != "derived" || r.Class == nil || *r.Class != "unsupported-dtype" || !strings.Contains(*r.Detail, "modeling_deberta.py")) {
			t.Errorf("%+v", r)
		}
	}
	if _, _, status := p.run(t, "test", "bert", "--platform", "mps", "--strict"); status != exitUnavailable {
		t.Errorf("status %d for hardware that is not here", status)
	}
}
