//go:build integration

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/modelpage"
)

func (p *program) page(t *testing.T, args ...string) modelpage.Page {
	t.Helper()
	var page modelpage.Page
	if err := json.Unmarshal([]byte(p.ok(t, append([]string{"models", "show", "--json"}, args...)...)), &page); err != nil {
		t.Fatal(err)
	}
	return page
}

// TestIntegrationFacts: true sizes without their memory, the same answer from
// the cache without a runner, and a user's own config.json.
func TestIntegrationFacts(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	bert := p.page(t, "bert", "--size", "full", "--batch", "2", "--seq", "64")
	f := bert.Facts
	if f == nil || f.Evidence != cell.Derived || f.Flops == nil || f.Operators == nil || f.Activations == nil {
		t.Fatalf("%+v", bert)
	}
	// Twelve layers of four square matrices and two of the feed-forward, attention over 64 tokens, and the head.
	const tokens, width = 128, 768
	want := int64(12*(2*tokens*(4*width*width+2*width*3072)+2*4*64*64*width) + 2*tokens*(width*width+width*30522))
	if f.Parameters.Total != 109_514_298 || f.Flops.Total != want || f.WeightsBytes["fp16"] != 2*109_514_298 {
		t.Errorf("%d parameters, %d operations, want %d", f.Parameters.Total, f.Flops.Total, want)
	}
	begin := time.Now()
	again := p.page(t, "bert", "--size", "full", "--batch", "2", "--seq", "64")
	if again.Facts == nil || again.Facts.Flops.Total != want {
		t.Errorf("%+v", again)
	}
	t.Logf("from the cache in %v", time.Since(begin))
	dir := filepath.Join(p.dir, "own")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p.write(t, "own/config.json", map[string]any{
		"model_type": "bert", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 256,
	})
	if own := p.page(t, "./own"); own.Facts == nil || own.Facts.Parameters.Total == 0 || own.Recipe == nil {
		t.Errorf("%+v", own)
	}
}

// TestIntegrationRanWhere: what was tested stands on the model's page.
func TestIntegrationRanWhere(t *testing.T) {
	t.Parallel()
	p, python := withTorch(t)
	p.ok(t, "test", "vit", "--platform", "cpu")
	page := p.page(t, "vit")
	if len(page.Ran) != 1 || page.Ran[0].Verdict != cell.Works || page.Ran[0].Evidence != cell.Measured {
		t.Errorf("%+v", page.Ran)
	}
	p.ok(t, "models", "export", "now.json", "--results")
	text := p.ok(t, "models", "diff", "now.json", python, "--results")
	for _, want := range []string{"types changed: 0\n", "broken: 0\n", "1 outcomes"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
