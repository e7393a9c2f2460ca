package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// TestServeWithoutEnvironment: what this machine lacks is said, with a status of the asker's and not as the
// server's fault; and a question in SQL that takes too much ends alone.
func TestServeWithoutEnvironment(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	cmd := p.command(t.Context(), "--no-setup", "serve", "--json", "--token", "t")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	var said struct{ Dashboard string }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		err = json.NewDecoder(out).Decode(&said)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	base, _, _ := strings.Cut(said.Dashboard, "?")
	for _, c := range []struct {
		path, body, says string
		status           int
	}{
		{"v1/runs", `{"models":["bert"],"targets":[]}`, "run assay setup first", 409},
		{"v1/runs", `{"all":true,"targets":["cpu"],"seqs":[` + strings.Repeat("8,16,", 50) + `8]}`, "more than 50000 cells", 422},
		{"v1/models/bert/run", `{"input":"some text"}`, "run assay setup first", 409},
		{"v1/query", `{"sql":"select count(*) as n from results"}`, `"n":0`, 200},
		{"v1/query", `{"sql":"from duckdb_secrets()"}`, "no file but the database", 422},
		{"v1/query", `{"sql":"select a.range from range(100000) a, range(100000) b"}`, "more than 10000 rows", 422},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer t")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != c.status || !strings.Contains(string(text), c.says) {
			t.Errorf("%s %s: %s %s, %v", c.path, c.body, answer.Status, text, err)
		}
	}
}

// TestServeEndsWithInput: a program that starts the server, and is killed, leaves none behind.
func TestServeEndsWithInput(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	cmd := p.command(t.Context(), "--no-setup", "serve", "--json", "--until-input-ends")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	var said struct{ Dashboard string }
	if err == nil {
		err = json.NewDecoder(out).Decode(&said)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r, err := http.Get(said.Dashboard + "v1/version"); err != nil || r.Body.Close() != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", r, err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
