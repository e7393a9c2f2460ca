//go:build integration

package browser

import (
	"encoding/json"
	"testing"
)

func TestIntegrationProbe(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o Options) {
		o.Software = false
		a, err := Probe(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.MarshalIndent(a, "", " ")
		t.Log(string(text))
	})
}
