package table

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"assay/internal/cell"
	"assay/internal/journal"
)

// Run is a journal that was read: one plan on one machine, by one program.
type Run struct {
	cell.Run
	Host     cell.Host
	Versions map[string]string // of the packages that results name, where all agree

	results []cell.Result
}

// Read reads journals. One that is damaged is an error: half of a run must not
// look like a whole one.
func Read(files []string) ([]Run, error) {
	var runs []Run
	for _, f := range files {
		run, err := read(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(a, b Run) int { return cmp.Compare(a.ID, b.ID) })
	return runs, nil
}

func read(path string) (Run, error) {
	r, err := journal.Open(path)
	if err != nil {
		return Run{}, err
	}
	defer r.Close()
	run := Run{Run: r.Header().Run, Host: r.Header().Host}
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return run, err
		}
		if line.Result != nil {
			run.results = append(run.results, *line.Result)
		}
	}
	if problems := r.Problems(); len(problems) > 0 {
		return run, problems[0]
	}
	run.Versions = agreed(run.results)
	return run, nil
}

// agreed are the versions that all results which name a package give it.
func agreed(results []cell.Result) map[string]string {
	versions, differ := map[string]string{}, map[string]bool{}
	for _, r := range results {
		for name, v := range r.Context.Versions {
			if old, ok := versions[name]; ok && old != v {
				differ[name] = true
			}
			versions[name] = v
		}
	}
	maps.DeleteFunc(versions, func(name, _ string) bool { return differ[name] })
	return versions
}
