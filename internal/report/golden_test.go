package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/cell"
	"assay/internal/matrix"
	"assay/internal/platform"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares what was printed with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run go test -update to make it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (run go test -update if that is meant):\n%s", name, diff)
	}
}

// documents are the golden files of documents, at least one of each format.
var documents = []struct {
	name   string
	format Format
	change func(*Options)
}{
	{"matrix.txt", Text, nil},
	{"matrix-detail.txt", Text, func(o *Options) { o.Detail = true }},
	{"matrix-latency.txt", Text, func(o *Options) { o.Metric = ByLatency }},
	{"matrix-speedup.txt", Text, func(o *Options) { o.Metric = BySpeedup }},
	{"matrix-family.txt", Text, func(o *Options) { o.Family = true }},
	{"matrix.md", Markdown, nil},
	{"matrix-family.md", Markdown, func(o *Options) { o.Family = true; o.Metric = ByMemory }},
	{"matrix.html", HTML, nil},
	{"matrix.svg", SVG, nil},
	{"matrix-family.svg", SVG, func(o *Options) { o.Family = true }},
	{"matrix-latency.svg", SVG, func(o *Options) { o.Metric = ByLatency }},
	{"matrix.json", JSON, nil},
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, tt := range documents {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := Write(&b, tt.format, fixtureDocument(tt.change)); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.name, b.Bytes())
		})
	}
}

func TestEveryFormatHasAGoldenFile(t *testing.T) {
	t.Parallel()
	has := map[Format]bool{}
	for _, row := range documents {
		has[row.format] = true
	}
	for _, f := range Formats() {
		if !has[f] {
			t.Errorf("%s has no row in documents, the table of golden files", f)
		}
	}
}

// A store that holds nothing yet still gives a report.
func TestEmptyDocuments(t *testing.T) {
	t.Parallel()
	for _, f := range Formats() {
		var b bytes.Buffer
		if err := Write(&b, f, NewDocument(nil, Options{})); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		if f == Markdown && !strings.Contains(b.String(), "Not measured here") {
			t.Errorf("%s", b.String())
		}
	}
	if err := Write(io.Discard, "pdf", Document{}); err == nil || !strings.Contains(err.Error(), platform.Join(Formats())) {
		t.Errorf("unknown format: %v", err)
	}
}

func TestHTMLLoadsNothing(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := Write(&b, HTML, fixtureDocument(nil)); err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?i)(src|href)\s*=\s*"[^#"][^"]*"|url\(|@import|https?://[^w]`).FindString(b.String()); m != "" {
		t.Errorf("the page names something outside itself: %s", m)
	}
	if strings.Contains(b.String(), "ZgotmplZ") {
		t.Error("the template refused a value")
	}
}

// What a log or a model's name holds stays text.
func TestMarkupIsEscaped(t *testing.T) {
	t.Parallel()
	evil := `<script>alert(1)</script>|*x*`
	w := &sweep{}
	w.put(subject{evil, "encoder-only", "t", "C", 1, 1}, cloud, "cpu", fails(cell.ModelError, evil, evil))
	d := NewDocument(w.list, Options{Hosts: []cell.Host{cloud}})
	for _, f := range []Format{HTML, SVG, Markdown} {
		var b bytes.Buffer
		if err := Write(&b, f, d); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "<script>alert") || f == Markdown && strings.Contains(b.String(), "|*x*") {
			t.Errorf("%s lets markup through", f)
		}
		if f == SVG {
			if err := xml.Unmarshal(b.Bytes(), new(any)); err != nil {
				t.Errorf("the SVG is not XML: %v", err)
			}
		}
	}
}

// Times of emulators and functional runs are in the fixture and in no report.
func TestNoTimesThatDoNotCount(t *testing.T) {
	t.Parallel()
	d := fixtureDocument(nil)
	for _, p := range d.Performance {
		if strings.HasPrefix(p.Target, "qnn") {
			t.Errorf("an emulator's time is shown: %+v", p.Subject)
		}
	}
	for _, r := range d.Matrix.Rows {
		for _, s := range r.Squares {
			if s.Evidence != cell.Measured && (s.Latency != nil || s.Speedup != nil) {
				t.Errorf("%s on %s has times", r.Model, s.Platform)
			}
		}
	}
	if len(d.Performance) == 0 || len(d.Fastest) == 0 || len(d.Memory) == 0 {
		t.Error("the fixture should fill every section")
	}
}

func TestLargeMatrix(t *testing.T) {
	t.Parallel()
	d := fixtureDocument(func(o *Options) { o.Models = manyModels(600) })
	var b bytes.Buffer
	if err := Write(&b, HTML, d); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 2<<20 {
		t.Errorf("a page of 600 models has %d bytes", b.Len())
	}
}

// runFixture holds one of each kind of result.
func runFixture() []cell.Result {
	w := &sweep{}
	bert, mamba, llava := subjects[0], subjects[12], subjects[10]
	w.put(bert, gpu, "cpu", bench(1.19, 6))
	w.put(bert, gpu, "cuda", full("bert-base-uncased", cell.Hub), dtype(platformFP16), bench(2.84, 6), onDevice(231))
	w.put(mamba, gpu, "cuda", fails(cell.MissingDependency, "ImportError: mamba_ssm\nis not installed", "pip install mamba-ssm into the environment, or run on the CPU"))
	w.put(mamba, gpu, "rocm", absent("no AMD GPU: /dev/kfd is missing"), func(r *cell.Result) {
		r.Fallback = &cell.Fallback{To: "cpu", Reason: "rocm is not there", Cost: &cell.Cost{Ratio: 7.2, Evidence: cell.Measured}}
	})
	w.put(mamba, gpu, "cpu", func(r *cell.Result) { r.Fallback = &cell.Fallback{From: "rocm", Reason: "rocm is not there"} })
	w.put(llava, gpu, "cpu", partial("the reference does not fit in memory: the output was not checked"), func(r *cell.Result) { r.Numerics = nil })
	w.put(llava, gpu, "cuda", bench(0.63, 3), onDevice(40), func(r *cell.Result) {
		r.Latency.Stable, r.Latency.Why, r.Latency.Sync = false, "spread between repeats 9 % (limit 5 %)", "host-dispatch only"
	})
	w.put(llava, gpu, "webgpu", fails(cell.Environment, "the browser closed its \x1b[31mconnection\x00", "run again"))
	var out []cell.Result
	for _, x := range w.list {
		out = append(out, x.Result)
	}
	return out
}

var runSummary = Summary{Run: cell.Run{ID: "r1", StartedAt: swept, PlanHash: "abc"}, Host: gpu, Elapsed: 94_312 * time.Millisecond}

const platformFP16 = "fp16"

func TestResults(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(io.Writer) Results{
		"results.txt": TextResults, "results.json": JSONResults, "results.jsonl": JSONLines, "results.junit.xml": JUnit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			p := make(&b)
			for _, r := range runFixture() {
				if r.Latency != nil {
					r.Latency.SamplesMS = [][]float64{{1.5, 1.25}, {1.75}} // enough to see how they are printed
				}
				p.Result(r)
			}
			if err := p.Done(runSummary); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
}

// JSON and JSON lines carry the same results.
func TestJSONTwins(t *testing.T) {
	t.Parallel()
	var whole, lines bytes.Buffer
	p := Both(JSONResults(&whole), JSONLines(&lines))
	for _, r := range runFixture() {
		p.Result(r)
	}
	if err := p.Done(runSummary); err != nil {
		t.Fatal(err)
	}
	var report cell.Report
	if err := json.Unmarshal(whole.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&lines)
	for i, want := range report.Results {
		var got cell.Result
		if err := d.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("result %d: %s", i, diff)
		}
	}
	if d.More() {
		t.Error("there are more lines than results")
	}
}

func TestNoResults(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := JSONResults(&b).Done(Summary{}); err != nil || !strings.Contains(b.String(), `"results": []`) {
		t.Errorf("%v %s", err, b.String())
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("the pipe is closed") }

func TestPrintersReportErrors(t *testing.T) {
	t.Parallel()
	for i, p := range []Results{TextResults(brokenPipe{}), JSONResults(brokenPipe{}), JSONLines(brokenPipe{}), JUnit(brokenPipe{})} {
		p.Result(runFixture()[0])
		if err := p.Done(Summary{}); err == nil {
			t.Errorf("printer %d swallowed the error", i)
		}
	}
	for _, f := range Formats() {
		if err := Write(brokenPipe{}, f, fixtureDocument(nil)); err == nil {
			t.Errorf("%s swallowed the error", f)
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	rows := []ModelRow{
		{Type: "bert", Library: "transformers", Class: "BertForMaskedLM", Task: "fill-mask", Tasks: []string{"fill-mask", "question-answering"}, Family: "encoder-only",
			Families: []string{"encoder-only"}, Pipeline: "text", Checkpoint: "bert-base-uncased", Priority: "key", Inputs: []string{"input_ids", "attention_mask"}},
		{Type: "vit", Library: "transformers", Class: "ViTForImageClassification", Task: "image-classification", Family: "vision", Pipeline: "vision", Checkpoint: "google/vit-base-patch16-224"},
	}
	for name, f := range map[string]Format{"models.txt": Text, "models.json": JSON} {
		var b bytes.Buffer
		if err := WriteModels(&b, f, rows); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
	if err := WriteModels(io.Discard, HTML, rows); err == nil {
		t.Error("an unknown format is taken")
	}
}

func TestVerdictsAllHaveALook(t *testing.T) {
	t.Parallel()
	for _, v := range matrix.Verdicts() {
		if l := lookOf(v); l.meaning == "" {
			t.Errorf("%s has no look", v)
		}
		if _, ok := inks[v]; !ok {
			t.Errorf("%s has no ink", v)
		}
	}
}
