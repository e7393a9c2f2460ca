package python

import (
	"testing"

	"assay/internal/cell"
	"assay/internal/runner"
)

// BenchmarkNoop is the cost of a job that does nothing, from dispatch to exit.
func BenchmarkNoop(b *testing.B) {
	r, err := bare(b, false).Start(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	job := runner.Job{Kind: runner.NoopJob, Cell: cell.Cell{Type: "noop", Engine: "noop"}}
	for b.Loop() {
		if exit, err := r.Run(b.Context(), job, nil); err != nil || exit.Outcome() != runner.Finished {
			b.Fatalf("%v, %v", exit, err)
		}
	}
}

// BenchmarkFlood is a child that prints 1 GiB.
func BenchmarkFlood(b *testing.B) {
	r, err := bare(b, false).Start(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	const size = 1 << 30
	job := runner.Job{
		Kind:    runner.NoopJob,
		Cell:    cell.Cell{Type: "noop", Engine: "noop", Task: "flood"},
		Options: map[string]any{"bytes": size},
	}
	b.SetBytes(size)
	for b.Loop() {
		if exit, err := r.Run(b.Context(), job, nil); err != nil || exit.LogBytes != size {
			b.Fatalf("%v, %v", exit, err)
		}
	}
}
