package table

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"assay/internal/cell"
)

// Least is the share of a column's cells that must have an answer before a
// share of them is printed.
const Least = 0.9

// count is how a column's cells came out, by what people are shown.
type count struct {
	of, answered int
	shown        map[cell.Verdict]int
	evidence     map[cell.Evidence]int
	classes      map[cell.FailureClass][]string
	runs         map[string]int
}

func (t Table) count(column int, rows []Row) count {
	c := count{of: len(rows), shown: map[cell.Verdict]int{}, evidence: map[cell.Evidence]int{},
		classes: map[cell.FailureClass][]string{}, runs: map[string]int{}}
	for _, row := range rows {
		a := row.Answers[column]
		if a == nil {
			continue
		}
		c.answered++
		c.shown[a.Shown()]++
		c.evidence[a.Evidence]++
		c.runs[a.Run]++
		if a.Failure != nil && a.Verdict != cell.Works && a.Verdict != cell.Partial {
			c.classes[a.Failure.Class] = append(c.classes[a.Failure.Class], row.Type)
		}
	}
	return c
}

// share is n of what was answered, with a percentage only where enough was.
func (c count) share(n int) string {
	if float64(c.answered) < Least*float64(c.of) {
		return fmt.Sprintf("%d (incomplete, %d of %d)", n, c.answered, c.of)
	}
	return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(max(c.answered, 1)))
}

// Markdown writes the table's page.
func (t Table) Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`# The whole table
Every type of the catalogue, tiny, with random weights, on every platform. This page is made from the journals in ` + "`tables/`" + ` by ` + "`make table-docs`" + `, and a test
makes it again: nothing on it was typed. Each column names its runs, and each run the commit of Assay, the machine and the versions.
Import the journals to see every number behind it: ` + "`assay import tables/*.jsonl.br`" + `, then ` + "`assay matrix show --all`" + `.

`)
	t.writeVerdicts(&b)
	t.writeRuns(&b)
	t.writeFamilies(&b)
	t.writeFailures(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (t Table) writeVerdicts(b *strings.Builder) {
	fmt.Fprintf(b, `## Verdicts
%d types. *Works* and *partial* ran and gave the right numbers; *should work* was derived from a list of kernels, or converted and not run. *Cannot be tried* is what Assay, or the model, cannot do there
(models that are run as several calls, on engines that take one graph). A percentage is of the cells that have an answer, and is printed where at least %.0f %% have one.

| column | evidence | works | partial | should work | fails | cannot be tried | not run | runs |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |
`, len(t.Rows), 100*Least)
	for i, column := range t.Columns {
		c := t.count(i, t.Rows)
		if c.answered == 0 {
			fmt.Fprintf(b, "| %s | | | | | | | %d | |\n", column, c.of)
			continue
		}
		should := c.shown[cell.ShouldWork] + c.shown[cell.ShouldWorkPartly]
		fmt.Fprintf(b, "| %s | %s | %s | %d | %d | %d | %d | %d | %s |\n", column, listed(c.evidence), c.share(c.shown[cell.Works]),
			c.shown[cell.Partial], should, c.shown[cell.Fails], c.shown[cell.Unavailable]+c.shown[cell.Unknown], c.of-c.answered, t.letters(c.runs))
	}
	b.WriteString("\n")
}

func (t Table) writeRuns(b *strings.Builder) {
	b.WriteString("## Runs\n| run | id | commit | machine | versions | answers |\n| --- | --- | --- | --- | --- | ---: |\n")
	for i, run := range t.Runs {
		n := 0
		for _, row := range t.Rows {
			for _, a := range row.Answers {
				if a != nil && a.Run == run.ID {
					n++
				}
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %d |\n", letter(i), run.ID, run.Assay, machine(run.Host), versions(run.Versions), n)
	}
	b.WriteString("\n")
}

func machine(h cell.Host) string {
	parts := append([]string{h.CPU, fmt.Sprintf("%d cores", h.Cores), fmt.Sprintf("%d GiB", (h.MemoryBytes+1<<29)>>30)}, h.Devices...)
	return strings.Join(parts, ", ")
}

func versions(all map[string]string) string {
	var parts []string
	for _, name := range []string{"python", "torch", "transformers", "onnxruntime", "openvino", "onnxruntime-qnn", "onnxruntime-web", "coremltools"} {
		if v := all[name]; v != "" {
			parts = append(parts, name+" "+v)
		}
	}
	return strings.Join(parts, ", ")
}

func (t Table) writeFamilies(b *strings.Builder) {
	families := map[string][]Row{}
	for _, row := range t.Rows {
		families[row.Family] = append(families[row.Family], row)
	}
	b.WriteString("## What works, by family\nHow many types work, of those that have an answer. What should work is counted where nothing ran, and marked ○.\n\n| family | types |")
	var shown []int
	for i, column := range t.Columns {
		if t.count(i, t.Rows).answered > 0 {
			shown = append(shown, i)
			fmt.Fprintf(b, " %s |", column)
		}
	}
	b.WriteString("\n| --- | ---: |" + strings.Repeat(" ---: |", len(shown)) + "\n")
	for _, family := range slices.Sorted(maps.Keys(families)) {
		rows := families[family]
		fmt.Fprintf(b, "| %s | %d |", family, len(rows))
		for _, i := range shown {
			c := t.count(i, rows)
			switch n := c.shown[cell.ShouldWork]; {
			case c.answered == 0:
				b.WriteString(" |")
			case n > 0:
				fmt.Fprintf(b, " ○ %d of %d |", n, c.answered)
			default:
				fmt.Fprintf(b, " %d of %d |", c.shown[cell.Works], c.answered)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

func (t Table) writeFailures(b *strings.Builder) {
	b.WriteString("## What does not work, by class\nWhat each class means, and what to do, is in the result itself: `assay models show TYPE`.\n\n| column | class | types | which |\n| --- | --- | ---: | --- |\n")
	for i, column := range t.Columns {
		c := t.count(i, t.Rows)
		for _, class := range cell.Classes() {
			if types := c.classes[class]; len(types) > 0 {
				fmt.Fprintf(b, "| %s | %s | %d | %s |\n", column, class, len(types), strings.Join(types, ", "))
			}
		}
	}
}

// letter is what a run is called on the page.
func letter(i int) string { return string(rune('A'+i%26)) + strings.Repeat("'", i/26) }

func (t Table) letters(runs map[string]int) string {
	var names []string
	for i, run := range t.Runs {
		if n := runs[run.ID]; n > 0 {
			names = append(names, fmt.Sprintf("%s (%d)", letter(i), n))
		}
	}
	return strings.Join(names, ", ")
}

// listed are the kinds of evidence, the most frequent first.
func listed(evidence map[cell.Evidence]int) string {
	delete(evidence, cell.None)
	kinds := slices.SortedFunc(maps.Keys(evidence), func(a, b cell.Evidence) int {
		return cmp.Or(cmp.Compare(evidence[b], evidence[a]), cmp.Compare(a, b))
	})
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}
