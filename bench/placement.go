package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"assay/internal/fleet/simulation"
)

// runPlacement simulates fleets on durations of journals and prints how well tasks were placed.
func runPlacement(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	f := flag.NewFlagSet("placement", flag.ContinueOnError)
	f.SetOutput(stderr)
	n := f.Uint64("n", 100, "workloads of each setting")
	first := f.Uint64("seed", 0, "of the first workload; the others follow")
	journals := f.String("journals", "tables/*.jsonl.br", "the journals to take durations from")
	if err := f.Parse(args); err != nil {
		return err
	}
	files, err := filepath.Glob(*journals)
	if err != nil {
		return err
	}
	samples, err := simulation.Samples(files)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d durations of %d journals; seeds %d to %d\n\n", len(samples), len(files), *first, *first+*n-1)
	fmt.Fprintln(stdout, "| setting | | median | worst | first come, first served: median | worst | later than that | copies |")
	fmt.Fprintln(stdout, "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
	var later []string
	for _, s := range simulation.Settings() {
		var outcomes []simulation.Outcome
		for seed := *first; seed < *first+*n; seed++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			o, err := s.Try(samples, seed)
			if err != nil {
				return err
			}
			outcomes = append(outcomes, o)
		}
		r := simulation.Summarise(outcomes)
		fmt.Fprintf(stdout, "| %s | %s | %.3f | %.3f | %.3f | %.3f | %d of %d | %.1f %% |\n", s.Name, s, r.Median, r.Worst, r.ServedMedian, r.ServedMost, r.Worse, r.Workloads, 100*r.Copies)
		if r.Worse > 0 {
			later = append(later, fmt.Sprintf("%s: later than first come, first served with the seeds %v, at most %.2f times as late", s.Name, r.WorseSeeds, r.WorseMost))
		}
	}
	fmt.Fprintln(stdout)
	for _, text := range later {
		fmt.Fprintln(stdout, text)
	}
	return nil
}
