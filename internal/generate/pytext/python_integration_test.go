//go:build integration

package pytext

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"
)

// reader reads pairs of JSON and Python from its input and prints those that
// are not the same value.
const reader = `
import ast, json, sys

def listed(v):
    if isinstance(v, (list, tuple)):
        return [listed(x) for x in v]
    return {k: listed(x) for k, x in v.items()} if isinstance(v, dict) else v

for pair in json.load(sys.stdin):
    for text in pair["python"]:
        if json.dumps(listed(ast.literal_eval(text))) != json.dumps(json.loads(pair["json"])):
            print(pair["json"], "is written", text)
`

// TestIntegrationPythonReadsIt: Python reads from what is written, in each
// layout, what the JSON says, in its order.
func TestIntegrationPythonReadsIt(t *testing.T) {
	t.Parallel()
	type pair struct {
		JSON   string   `json:"json"`
		Python []string `json:"python"`
	}
	var pairs []pair
	for seed := range 300 {
		v := value(3).Example(seed)
		pairs = append(pairs, pair{asJSON(t, v), []string{Inline(v), Value(v, 0, 0, 0), Fill(v, Width, 0, 0, 0)}})
	}
	given, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	python := exec.CommandContext(t.Context(), "python3", "-c", reader)
	python.Stdin = bytes.NewReader(given)
	if out, err := python.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// asJSON is a value as a recipe has it; tuples are lists there.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	switch v := v.(type) {
	case Dict:
		b.WriteString("{")
		for i, p := range v { // a key that comes twice has its last value, in both languages
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(asJSON(t, p.Key) + ":" + asJSON(t, p.Value))
		}
		b.WriteString("}")
	case Tuple:
		return asJSON(t, []any(v))
	case []any:
		b.WriteString("[")
		for i, e := range v {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(asJSON(t, e))
		}
		b.WriteString("]")
	default:
		if err := json.NewEncoder(&b).Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}
