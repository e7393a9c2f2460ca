// Package report prints what Assay knows: matrices, results, models, progress.
//
// There is one value for each thing that can be shown, and printers over it.
// A Document holds a matrix and the sections around it; NewDocument makes it
// from observations once, and text, JSON, Markdown, HTML and SVG are functions
// from that same Document, so that no format can know more than another.
// Results of a running plan go to a Results printer as they come: text, JSON and
// JSON lines are siblings behind that interface, and JUnit is one more.
// Progress, which is not output, goes to standard error behind its own
// interface: bars on a terminal, plain lines elsewhere.
//
// Two rules hold in every format. A number is shown only where it was measured
// in a way that supports it: no latency from functional runs, emulators or software
// adapters; an absent number is absent, never zero. And no meaning is carried by
// colour alone: each verdict has its mark and its word.
//
// JSON keeps raw numbers with the unit in the name; everything for people
// goes through units.go.
package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/matrix"
	"assay/internal/platform"
	"assay/internal/trend"
	"assay/internal/wholefile"
)

// Metric is what a matrix shows in its squares.
type Metric string

// The metrics. A square that works and has no time says so; others without a
// number show their verdict.
const (
	ByVerdict Metric = "verdict"
	ByLatency Metric = "latency"
	ByLoad    Metric = "load"
	ByMemory  Metric = "memory"
	BySpeedup Metric = "speedup"
)

// Metrics lists them in the order in which they are offered.
func Metrics() []Metric { return []Metric{ByVerdict, ByLatency, ByLoad, ByMemory, BySpeedup} }

// ParseMetric returns the metric that a user named.
func ParseMetric(s string) (Metric, error) {
	if m := Metric(strings.ToLower(s)); slices.Contains(Metrics(), m) {
		return m, nil
	}
	return "", fmt.Errorf("unknown metric %q: the metrics are verdict, latency, load, memory, speedup", s)
}

// Options say what a document is about.
type Options struct {
	Now    time.Time
	Title  string         // "" is "Compatibility matrix"
	Assay  string         // version
	Metric Metric         // "" is ByVerdict
	Family bool           // show counts by family in place of models
	Detail bool           // text has the performance and memory tables too; the other formats always do
	Models []matrix.Model // rows that are shown though nobody ran them
	Hosts  []cell.Host    // the machines that the observations name
	Trends []trend.Series // histories of cells, which the page plots
	// Atlas is what was published of a type, by platform; nil is nothing. It is shown where
	// nobody here ran the type.
	Atlas func(modelType string) map[platform.Name]matrix.Published
}

// Document is a matrix and the sections around it.
type Document struct {
	Schema      int                  `json:"schema"`
	Title       string               `json:"title"`
	GeneratedAt time.Time            `json:"generated_at"`
	Assay       string               `json:"assay,omitempty"`
	Metric      Metric               `json:"metric"`
	Results     int                  `json:"results"` // observations folded
	Counts      map[cell.Verdict]int `json:"counts"`
	Matrix      matrix.Matrix        `json:"matrix"`
	Families    []matrix.FamilyRow   `json:"families"`
	Coverage    []matrix.Coverage    `json:"coverage"`
	Problems    []Problem            `json:"problems"`
	Unavailable []Absence            `json:"unavailable"`
	Performance []Performance        `json:"performance"`
	Fastest     []matrix.Fastest     `json:"fastest"`
	Memory      []MemoryUse          `json:"memory"`
	Hardware    []Hardware           `json:"hardware"`
	Findings    []Finding            `json:"findings"`
	Trends      []trend.Series       `json:"trends,omitempty"`

	byFamily, detail bool
}

// NewDocument folds observations and draws up the sections. Results of the noop
// engine are no results of a model and are left out.
func NewDocument(observations []matrix.Observation, o Options) Document {
	observations = matrix.OfModels(observations)
	d := Document{Schema: cell.Schema, Title: o.Title, GeneratedAt: o.Now, Assay: o.Assay, Metric: o.Metric,
		Results: len(observations), Trends: o.Trends, byFamily: o.Family, detail: o.Detail}
	if d.Title == "" {
		d.Title = "Compatibility matrix"
	}
	if d.Metric == "" {
		d.Metric = ByVerdict
	}
	d.Matrix = matrix.Fold(observations, matrix.Options{Now: o.Now, Models: o.Models})
	d.Families, d.Counts = d.Matrix.Families(), d.Matrix.Count()
	d.Problems, d.Unavailable = problems(d.Matrix), absences(d.Matrix)
	d.Coverage = matrix.Coverages(observations)
	order := orderOf(d.Matrix)
	latest := newest(observations, order)
	d.Performance, d.Memory = performance(latest), memoryUse(latest)
	d.Fastest = fastest(observations, order)
	d.Hardware = hardware(observations, o.Hosts)
	d.Findings = findings(latest)
	if o.Atlas != nil {
		d.Matrix.Publish(o.Atlas)
	}
	return d
}

// Format is a document's form.
type Format string

// The formats of a document.
const (
	Text     Format = "text"
	JSON     Format = "json"
	Markdown Format = "md"
	HTML     Format = "html"
	SVG      Format = "svg"
)

// writers has one printer for each format, in the order in which they are offered.
var writers = []struct {
	format Format
	write  func(io.Writer, Document) error
}{
	{Text, writeText},
	{JSON, writeJSON[Document]},
	{Markdown, writeMarkdown},
	{HTML, writeHTML},
	{SVG, writeSVG},
}

// files are those of a report in a folder, the one to open first.
var files = []struct {
	name   string
	format Format
}{{"report.html", HTML}, {"report.md", Markdown}, {"report.json", JSON}, {"matrix.svg", SVG}}

// Formats lists the formats of a document in the order in which they are offered.
func Formats() []Format {
	out := make([]Format, len(writers))
	for i, w := range writers {
		out[i] = w.format
	}
	return out
}

// Files lists the names of a report's files, the one to open first.
func Files() []string {
	out := make([]string, len(files))
	for i, x := range files {
		out[i] = x.name
	}
	return out
}

// ParseFormat returns the format that a user named.
func ParseFormat(s string) (Format, error) {
	if !slices.Contains(Formats(), Format(s)) {
		return "", fmt.Errorf("unknown format %q: the formats are %s", s, platform.Join(Formats()))
	}
	return Format(s), nil
}

// Write prints the document. Text is styled for a terminal when w is one made
// by Terminal; all other writers get it plain.
func Write(w io.Writer, f Format, d Document) error {
	if _, err := ParseFormat(string(f)); err != nil {
		return err
	}
	if f != JSON { // which escapes by itself, and keeps names as they are
		d = printable(d)
	}
	i := slices.Index(Formats(), f)
	if err := writers[i].write(w, d); err != nil {
		return fmt.Errorf("write %s report: %w", f, err)
	}
	return nil
}

// WriteFolder writes the report's files into a folder, which it makes, and
// returns their names. Each appears whole or not at all.
func WriteFolder(dir string, d Document) (names []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for the report: %w", err)
	}
	for _, x := range files {
		path := filepath.Join(dir, x.name)
		err := wholefile.Stream(path, wholefile.Options{Mode: 0o644}, func(f *os.File) error { return Write(f, x.format, d) })
		if err != nil {
			return names, fmt.Errorf("write %s: %w", path, err)
		}
		names = append(names, x.name)
	}
	return names, nil
}
