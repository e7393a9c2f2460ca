package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/matrix"
)

// notMeasured stands where a section has nothing to show.
const notMeasured = "not measured here"

// section is a titled table of the document, and what is said when it is empty.
type section struct {
	title string
	note  string
	empty string
	grid  grid
	long  bool // left out of a short text
}

// sections are the tables after the matrix, the same in text and Markdown.
func sections(d Document) []section {
	all := []section{
		{"Fastest platform", "Speed-up over the CPU of the same host: same subject, size, dtype and batch, both timed.",
			notMeasured + ": no model was timed on the CPU and on another platform of one host.", fastestGrid(d.Fastest), false},
		{"Coverage", coverageNote,
			notMeasured + ".", coverageGrid(d.Coverage), false},
		{"Performance", "Median of the repeats' medians [95 % interval, from six repeats on].",
			notMeasured + ": no cell was timed (assay bench times cells).", performanceGrid(d.Performance), true},
		{"Memory", "Host: growth beyond what the process had at its start. Device: the driver's counter, less what was held before where that is known. Framework: its own peak.",
			notMeasured + ".", memoryGrid(d.Memory), true},
		{"Hardware", "", notMeasured + ".", hardwareGrid(d.Hardware), false},
	}
	if len(d.Findings) > 0 {
		all = append(all, section{"Findings", findingsNote, "", findingsGrid(d.Findings), false})
	}
	return all
}

func fastestGrid(rows []matrix.Fastest) grid {
	g := grid{head: []string{"model", "fastest", "settings", "median", "over CPU", "interval", "compared", "host"}, numbers: []int{3, 4}}
	for _, r := range rows {
		over, span := overCPU(r)
		g.add(matrix.Name(r.Model), r.Latency.Target, fmt.Sprintf("%s %s b%d", r.Size, r.Latency.DType, r.Latency.Batch), marked(Milliseconds(r.Latency.MedianMS), r.Latency.Stable), over, span,
			strings.Join(r.Among, " "), r.Latency.Host)
	}
	return g
}

const coverageNote = "Whole: works; limited: right only while some inputs keep their exported values; unplaced: some nodes ran elsewhere; other: partial for another reason; " +
	"should work: did not run. Other setting: the engine's default gives wrong numbers, another setting right ones. " +
	"Shares are of the models that ran there and run on the CPU by torch."

// coverageGrid is shown where it sums something up: for several models.
func coverageGrid(rows []matrix.Coverage) grid {
	g := grid{head: []string{"target", "size", "dtype", "models", "whole", "limited", "unplaced", "other", "should work", "fail", "other setting", "whole of base", "run of base", "evidence", "failures"},
		numbers: []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}
	for _, r := range rows {
		if r.Models < fewModels {
			continue
		}
		failed := r.Models - r.Whole - r.Limited - r.WithLeftOvers - r.OtherPartial - r.ShouldWork
		row := []string{r.Target, r.Size, string(r.DType)}
		for _, n := range []int{r.Models, r.Whole, r.Limited, r.WithLeftOvers, r.OtherPartial, r.ShouldWork, failed, r.OtherSetting} {
			row = append(row, fmt.Sprint(n))
		}
		g.add(append(row, percent(r.WholeShare, r.Base), percent(r.RunShare, r.Base), counted(r.Evidence), counted(r.Fails))...)
	}
	return g
}

const fewModels = 5

func percent(share *float64, base int) string {
	if share == nil {
		return notMeasured
	}
	return fmt.Sprintf("%.1f %% of %d", 100**share, base)
}

// counted lists counts, the largest first.
func counted[K ~string](counts map[K]int) string {
	keys := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(keys, func(a, b K) int { return counts[b] - counts[a] })
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = fmt.Sprintf("%d %s", counts[k], k)
	}
	return strings.Join(out, ", ")
}

// overCPU is how many times faster than the CPU a winner is, and how sure that
// is. Without a comparison there is no number.
func overCPU(f matrix.Fastest) (ratio, span string) {
	switch {
	case f.Speedup != nil:
		return marked(Times(f.Speedup.Ratio), f.Speedup.Stable), ratioSpan(*f.Speedup)
	case f.IsCPU():
		return "1×", "the CPU is fastest"
	}
	return "–", f.NoSpeedup
}

func ratioSpan(s matrix.Speedup) string {
	if s.Lo == nil || s.Hi == nil {
		return "fewer than 6 repeats"
	}
	return "[" + digits(*s.Lo) + "–" + digits(*s.Hi) + "]"
}

func performanceGrid(rows []Performance) grid {
	g := grid{head: []string{"model", "target", "settings", "median", "interval", "p90", "p99", "throughput", "repeats × n", "stability", "host"}, numbers: []int{3, 5, 6, 7}}
	for _, r := range rows {
		g.add(matrix.Name(r.Model), r.Target, settings(r.Subject), Milliseconds(r.Latency.MedianMS), interval(r.Latency.MedianMS, r.Latency.LoMS, r.Latency.HiMS),
			percentileOr(r.Latency.P90MS, 0.90), percentileOr(r.Latency.P99MS, 0.99), rateOr(r.Throughput), fmt.Sprintf("%d × %d", r.Latency.Repeats, perRepeat(r.Latency)), steadiness(r.Latency), r.Host)
	}
	return g
}

func perRepeat(l cell.Latency) int {
	if l.Repeats == 0 {
		return 0
	}
	return l.N / l.Repeats
}

func rateOr(t *cell.Throughput) string {
	if t == nil {
		return ""
	}
	return rate(*t)
}

func steadiness(l cell.Latency) string {
	words := "stable"
	if !l.Stable {
		words = "unstable: " + l.Why
	}
	if l.Sync != "" {
		words += "; " + l.Sync
	}
	return words
}

func memoryGrid(rows []MemoryUse) grid {
	g := grid{head: []string{"model", "target", "settings", "parameters", "host memory", "device memory", "framework", "on host"}, numbers: []int{3, 4, 5, 6}}
	for _, r := range rows {
		g.add(matrix.Name(r.Model), r.Target, settings(r.Subject), parameters(r.Parameters), grown(r.Memory), heldOnDevice(r.Memory), bytesOr(r.Memory.FrameworkPeakBytes, "–"), r.Host)
	}
	return g
}

func parameters(n int64) string {
	if n == 0 {
		return "–"
	}
	return Count(n)
}

func grown(m cell.Memory) string {
	switch {
	case m.HostPeakBytes == nil:
		return "–"
	case m.HostBaselineBytes == nil: // all that a browser held
		return Bytes(*m.HostPeakBytes) + " browser"
	}
	return Bytes(max(0, *m.HostPeakBytes-*m.HostBaselineBytes))
}

// heldOnDevice is the device's peak, less what it held before where that is known.
func heldOnDevice(m cell.Memory) string {
	if m.DevicePeakBytes == nil {
		return "–"
	}
	bytes, _, _ := matrix.PeakBytes(cell.Result{Memory: &m})
	return Bytes(bytes)
}

func hardwareGrid(rows []Hardware) grid {
	g := grid{head: []string{"host", "system", "CPU", "cores", "memory", "devices", "ran", "results"}, numbers: []int{3, 4, 7}}
	for _, r := range rows {
		g.add(r.ID, strings.TrimSpace(r.OS+" "+r.Arch), cmp.Or(r.CPU, r.Instance), coresOr(r.Cores), known(r.MemoryBytes), strings.Join(r.Devices, ", "), strings.Join(r.Targets, " "), fmt.Sprint(r.Results))
	}
	return g
}

func coresOr(n int) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprint(n)
}

func known(bytes int64) string {
	if bytes == 0 {
		return "–"
	}
	return Bytes(bytes)
}

// settings writes what else decides a cell: "tiny random fp32 ×1".
func settings(s Subject) string {
	return setting(cell.Cell{Size: s.Size, Weights: s.Weights, DType: s.DType, Batch: s.Batch, Seq: s.Seq, Image: s.Image, Mode: s.Mode, Special: s.Special})
}

// setting leaves out what is a default.
func setting(c cell.Cell) string {
	parts := []string{c.Size, weightsWord(c.Weights), string(c.DType), fmt.Sprintf("b%d", c.Batch)}
	if c.Seq > 0 {
		parts = append(parts, fmt.Sprintf("s%d", c.Seq))
	}
	if c.Image > 0 {
		parts = append(parts, fmt.Sprintf("%dpx", c.Image))
	}
	if c.Mode != "" && c.Mode != cell.Infer {
		parts = append(parts, c.Mode)
	}
	return strings.Join(append(parts, c.Words()...), " ")
}
