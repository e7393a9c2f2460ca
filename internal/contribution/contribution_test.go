package contribution

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/platform"
)

var noon = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// own are results of bert: change makes each another than a contradiction on cuda.
func own(change ...func(*atlas.Own)) Own {
	o := Own{Model: atlas.Model{Name: "bert", Type: "bert"}}
	for _, f := range change {
		c := cell.Cell{Type: "bert", Target: "cuda", DType: platform.FP32, Size: cell.Tiny}.Normal()
		r := atlas.Own{Result: cell.Result{Cell: c, Verdict: cell.Fails, Evidence: cell.Measured, StartedAt: noon,
			Failure: &cell.Failure{Class: cell.Crash, Detail: "died in /home/mmuster/x", Log: "secret"}, Context: cell.Context{Versions: map[string]string{"torch": "2.15.0", "device": "NVIDIA L4"}}}}
		f(&r)
		o.Results = append(o.Results, r)
		o.Hosts = append(o.Hosts, cell.Host{ID: "fingerprint", OS: "linux", CPU: "a CPU", Cores: 2, MemoryBytes: 23 << 30, Kernel: "6.1-build42", Devices: []string{"NVIDIA L4"}})
	}
	return o
}

func embedded(t *testing.T) *atlas.Book {
	t.Helper()
	b, err := atlas.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMake(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	on := func(target string, v cell.Verdict, e cell.Evidence) func(*atlas.Own) {
		return func(o *atlas.Own) {
			p, err := platform.ParseTarget(target)
			if err != nil {
				t.Fatal(err)
			}
			o.Cell, o.Verdict, o.Evidence = o.Cell.On(p), v, e
			if v != cell.Fails {
				o.Failure = nil
			}
		}
	}
	for name, x := range map[string]struct {
		change func(*atlas.Own)
		why    string
	}{
		"a contradiction":      {func(*atlas.Own) {}, Contradicts},
		"the same":             {on("cuda", cell.Works, cell.Measured), ""},
		"less sure":            {on("cuda", cell.Fails, cell.Derived), ""},
		"surer":                {on("qnn", cell.Works, cell.Measured), ""}, // in fp32, which is another column
		"another target":       {on("openvino:NPU", cell.Works, cell.Measured), Extends},
		"imported":             {func(o *atlas.Own) { o.Imported = true }, ""},
		"another batch":        {func(o *atlas.Own) { o.Cell.Batch = 4; o.Cell = o.Cell.Normal() }, ""},
		"the machine broke":    {func(o *atlas.Own) { o.Failure.Class = cell.Environment }, ""},
		"somewhere else":       {func(o *atlas.Own) { o.Fallback = &cell.Fallback{From: "cuda"} }, ""},
		"no versions":          {func(o *atlas.Own) { o.Context.Versions = nil }, ""},
		"a user's own weights": {func(o *atlas.Own) { o.Content = "digest" }, ""},
	} {
		f, err := Make(embedded(t), []Own{own(x.change)}, NewScrubber("mmuster"), "abc1234")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		switch {
		case name == "surer":
		case x.why == "" && len(f.Results) != 0:
			t.Errorf("%s: %+v", name, f.Results)
		case x.why != "" && (len(f.Results) != 1 || f.Results[0].Why != x.why):
			t.Errorf("%s: %+v", name, f.Results)
		}
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"mmuster", "/home", "fingerprint", "build42", "secret"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s: %q is in %s", name, secret, text)
			}
		}
		if _, err := Validate(text, cat); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	older := func(o *atlas.Own) { o.StartedAt = noon.Add(-time.Hour); o.Failure.Class = cell.Timeout }
	f, err := Make(embedded(t), []Own{own(func(*atlas.Own) {}, older)}, NewScrubber(), "x")
	if err != nil || len(f.Results) != 1 || f.Results[0].Class != cell.Crash {
		t.Errorf("the newest: %+v, %v", f, err)
	}
}

// Whoever receives a file is told what is wrong with it.
func TestValidate(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Make(embedded(t), []Own{own(func(*atlas.Own) {})}, NewScrubber("mmuster"), "abc1234")
	if err != nil {
		t.Fatal(err)
	}
	good, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ old, replacement, want string }{
		{`"detail":"died in (path)"`, `"detail":"died in /home/x"`, "results.0.detail has a path"},
		{`"detail":"died in (path)"`, `"detail":"died in data/x"`, "has a path"},
		{`"detail":"died in (path)"`, `"detail":"died in \\\\nas\\x"`, "has a path"},
		{`"linux"`, `"/etc/x"`, "host.os has a path"},
		{`"torch":`, `"/etc/x":`, "names has a path"},
		{`"type":"bert"`, `"type":"nosuch"`, "no type"},
		{`"verdict":"fails"`, `"verdict":"splendid"`, "unknown verdict"},
		{`"evidence":"measured"`, `"evidence":"predicted"`, "says nothing"},
		{`"class":"crash",`, ``, "for no reason"},
		{`"target":"cuda"`, `"target":"/home/x"`, "result 1"},
		{`"target":"cuda"`, `"target":"cuda:0"`, "is written cuda"},
		{`"day":"2026-11-17"`, `"day":"today"`, "not a day"},
		{`"schema":1`, `"schema":2`, "schema 2"},
		{`"kind"`, `"user":"max","kind"`, "unknown field"},
		{`"why":"contradicts"`, `"why":"please"`, "no reason to be here"},
	} {
		text := strings.Replace(string(good), x.old, x.replacement, 1)
		if text == string(good) {
			t.Fatalf("no %s in %s", x.old, good)
		}
		if _, err := Validate([]byte(text), cat); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.replacement, err, x.want)
		}
	}
	for n := range good {
		if _, err := Validate(good[:n], cat); err == nil {
			t.Errorf("%d of %d bytes were taken", n, len(good))
		}
	}
	if _, err := Validate(append(good, good...), cat); err == nil {
		t.Error("two in one were taken")
	}
}
