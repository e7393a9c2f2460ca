package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/hub/hubtest"
)

// testHub is a server with the models that scripts and examples name. Nothing
// that these tests start ever asks the real Hub.
func testHub(t testing.TB) *hubtest.Server {
	t.Helper()
	model := func(config string) *hubtest.Model {
		return &hubtest.Model{Files: map[string][]byte{
			"config.json":       []byte(config),
			"tokenizer.json":    []byte(`{"version":"1.0"}`),
			"model.safetensors": hubtest.Safetensors(1000, "w"),
		}}
	}
	gated, private := model(`{"model_type":"bert"}`), model(`{"model_type":"bert"}`)
	gated.Gated, private.Private = true, true
	own := model(`{"model_type":"nobody_has_it","auto_map":{"AutoConfig":"configuration_own.C","AutoModel":"modeling_own.M"}}`)
	own.Files["modeling_own.py"] = []byte("raise SystemExit('it ran')")
	pickle := model(`{"model_type":"bert"}`)
	delete(pickle.Files, "model.safetensors")
	pickle.Files["pytorch_model.bin"] = []byte("pickled")
	revised := model(`{"model_type":"bert"}`)
	revised.Branches = map[string]map[string][]byte{"v1": model(`{"model_type":"gpt2"}`).Files}
	return hubtest.New(t, map[string]*hubtest.Model{
		"google-bert/bert-base-uncased": model(`{"model_type":"bert"}`),
		"openai/whisper-tiny":           model(`{"model_type":"whisper"}`),
		"owner/plain":                   model(`{"model_type":"bert"}`),
		"owner/broken-json":             model(`{"model_type":`),
		"owner/gated":                   gated, "owner/private": private, "owner/own-code": own, "owner/pickle": pickle, "owner/revised": revised,
	})
}

// TestFetchKilled: a program that dies in the middle leaves what it had, and
// the next one goes on there; two at once do not disturb each other.
func TestFetchKilled(t *testing.T) {
	t.Parallel()
	server := hubtest.New(t, map[string]*hubtest.Model{"owner/large": {Files: map[string][]byte{
		"config.json": []byte(`{"model_type":"bert"}`), "model.safetensors": hubtest.Safetensors(200_000, "w"),
	}}})
	server.Break("model.safetensors", hubtest.Fault{Cut: 500_000, Stall: time.Minute})
	p := newProgram(t)
	p.vars["HF_ENDPOINT"] = server.URL
	first := p.command(t.Context(), "fetch", "owner/large")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	parts := filepath.Join(p.dir, ".cache", "huggingface", "hub", "models--owner--large", "blobs", "*.incomplete")
	for size := int64(0); size < 500_000; time.Sleep(5 * time.Millisecond) {
		if found, _ := filepath.Glob(parts); len(found) == 1 {
			if info, err := os.Stat(found[0]); err == nil {
				size = info.Size()
			}
		}
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	second := p.command(t.Context(), "fetch", "owner/large")
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	p.ok(t, "fetch", "owner/large")
	if err := second.Wait(); err != nil {
		t.Error(err)
	}
	continued := 0
	for _, r := range server.Requests() {
		if r.Host == "store" && r.Range == "bytes=500000-" {
			continued++
		}
	}
	if continued != 1 {
		t.Errorf("continued %d times: %+v", continued, server.Requests())
	}
}
