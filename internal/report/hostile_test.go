package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"

	"assay/internal/cell"
	"assay/internal/matrix"
)

// hostile are observations and a host as somebody would write them who wants a
// reader's browser or terminal to do something. Imports refuse most of it, but a
// writer does not rely on that.
func hostile() ([]matrix.Observation, []cell.Host) {
	const bad = `"/><script>alert(1)</script>` + "\x1b[2J\x9b31m\x00\ufffe" + `[x](javascript:alert(1))\|`
	c := cell.Cell{Type: "bert" + bad, Family: "encoder-only" + bad, Checkpoint: "/a/b" + bad, Size: cell.Full, Task: bad, Class: bad, Target: "cpu"}.Normal()
	ran := cell.SettingsOf(c)
	works := cell.Result{Cell: c, Verdict: cell.Verdict(bad), Evidence: cell.Measured, Timing: cell.Quick, Requested: ran, Actual: &ran,
		Note: bad, SubjectHash: bad, Latency: &cell.Latency{Repeats: 1, N: 1, MedianMS: 1, Why: bad, Sync: bad},
		Context: cell.Context{Versions: map[string]string{bad: bad}}}
	fails := works
	fails.Cell.Target, fails.Cell.Platform, fails.Cell.Engine = bad, "cuda", "torch"
	fails.Verdict, fails.Failure = cell.Fails, &cell.Failure{Class: bad, Detail: bad, Hint: bad, Log: bad}
	return []matrix.Observation{{Result: works, Host: bad}, {Result: fails, Host: bad}},
		[]cell.Host{{ID: bad, OS: bad, CPU: bad, Devices: []string{bad}}}
}

func TestNoWriterPassesOnScriptOrControls(t *testing.T) {
	t.Parallel()
	observations, hosts := hostile()
	for _, family := range []bool{false, true} {
		d := NewDocument(observations, Options{Hosts: hosts, Family: family, Detail: true})
		for _, f := range []Format{Text, Markdown, HTML, SVG} {
			var b bytes.Buffer
			if err := Write(&b, f, d); err != nil {
				t.Fatal(err)
			}
			checkHarmless(t, f, b.String())
		}
	}
	var b bytes.Buffer
	p := TextResults(Terminal(&b, []string{"TERM=xterm-256color", "CLICOLOR_FORCE=1"}))
	for _, x := range observations {
		p.Result(x.Result)
	}
	if s := b.String(); strings.Contains(s, "[2J") || strings.Contains(s, "\x9b") {
		t.Errorf("results steer the terminal: %q", s)
	}
}

func checkHarmless(t *testing.T, f Format, s string) {
	t.Helper()
	if i := strings.IndexFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
		t.Errorf("%s holds the control character %q in %q", f, s[i], s[max(0, i-40):min(len(s), i+40)])
	}
	if f != Text && strings.Contains(s, "<script>alert") {
		t.Errorf("%s holds the script", f)
	}
	if f == Markdown && strings.Contains(s, "](") {
		t.Error("Markdown holds a link of somebody else's")
	}
	if f != SVG {
		return
	}
	for d := xml.NewDecoder(strings.NewReader(s)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("the SVG is no XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "script" {
			t.Error("the SVG has a script")
		}
	}
}
