package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"assay/internal/cell"
	"assay/internal/journal"
	"assay/internal/measure"
	"assay/internal/platform"
)

// What all types on a GPU may take: the first time, when recipes are adopted
// from another release or searched for, and again.
const (
	gpuFirstBar  = 180 * time.Second
	gpuAgainBar  = 100 * time.Second
	gpuImportBar = 100.0 // ms, in a child
	gpuQuickBar  = 3 * time.Second
)

// every is how many cells make a run a sweep.
const every = 300

// gpuRun is one worker's run as its journal tells it.
type gpuRun struct {
	header  journal.Header
	results []cell.Result // on the GPU
	took    time.Duration // from the run's start to its detection, which stands behind the results; 0 is unknown
}

func readRun(path string) (gpuRun, error) {
	j, err := journal.Open(path)
	if err != nil {
		return gpuRun{}, err
	}
	defer j.Close()
	run := gpuRun{header: j.Header()}
	for {
		line, err := j.Next()
		switch {
		case errors.Is(err, io.EOF):
			return run, nil
		case err != nil:
			return run, err
		case line.Kind == journal.KindDetection:
			run.took = line.At.Sub(run.header.Run.StartedAt)
		case line.Result != nil && line.Result.Cell.Platform != platform.CPU:
			run.results = append(run.results, *line.Result)
		}
	}
}

// runRows are what whole runs on a GPU took: sweeps of every type, the first
// with another release of transformers than the recipes', and timed cells.
func runRows(paths []string) ([]Row, error) {
	var rows []Row
	seen := map[string]bool{} // plans of sweeps
	for _, path := range paths {
		run, err := readRun(path)
		if err != nil {
			return nil, err
		}
		timing := cell.Functional
		if len(run.results) > 0 {
			timing = run.results[0].Timing
		}
		switch {
		case run.took <= 0:
		case timing == cell.Functional && len(run.results) >= every:
			again := seen[run.header.Run.PlanHash]
			seen[run.header.Run.PlanHash] = true
			rows = append(rows, sweepRow(run, again), importRow(run))
		case timing == cell.Quick:
			rows = append(rows, furtherRow(run))
		}
	}
	return rows, nil
}

func sweepRow(run gpuRun, again bool) Row {
	name, bar := "every type on a GPU, the first time", gpuFirstBar
	if again {
		name, bar = "every type on a GPU, recipes kept", gpuAgainBar
	}
	counts := map[cell.Verdict]int{}
	fresh := 0
	for _, r := range run.results {
		counts[r.Verdict]++
		if r.Context.JobsBefore == 0 && r.Attempts > 0 {
			fresh++
		}
	}
	row := Row{
		Name: name, Measured: fmt.Sprintf("%d tiny cells in fp32: works %d, partial %d, fails %d; the run %s", len(run.results), counts[cell.Works], counts[cell.Partial], counts[cell.Fails], run.header.Run.ID),
		Value: fmt.Sprintf("%.0f s", run.took.Seconds()), Bar: fmt.Sprintf("≤ %.0f s", bar.Seconds()),
		Note: fmt.Sprintf("%d cells were the first of their child", fresh),
		Data: map[string]float64{"s": run.took.Seconds(), "cells": float64(len(run.results)), "fresh": float64(fresh)},
	}
	return row.judge(run.took <= bar, true)
}

func importRow(run gpuRun) Row {
	var ms []float64
	for _, r := range run.results {
		// Later jobs of a child find most of it imported.
		if v, ok := r.PhasesMS["import"]; ok && r.Context.JobsBefore == 0 {
			ms = append(ms, v)
		}
	}
	row := Row{Name: "import in a fresh child", Measured: fmt.Sprintf("median of the %d children of the same run, at their first job", len(ms)), Value: "not reported", Bar: fmt.Sprintf("≤ %.0f ms", gpuImportBar)}
	if len(ms) > 0 {
		row.Value, row.Data = fmt.Sprintf("%.0f ms", measure.Median(ms)), map[string]float64{"ms": measure.Median(ms)}
	}
	return row.judge(len(ms) > 0 && measure.Median(ms) <= gpuImportBar, len(ms) > 0)
}

// furtherRow is what each cell of a timed run took, check and repeats.
func furtherRow(run gpuRun) Row {
	each := run.took / time.Duration(max(1, len(run.results)))
	row := Row{
		Name: "a further quick cell on a GPU", Measured: fmt.Sprintf("%d tiny cells, checked and timed in three fresh children each: the whole run over its cells", len(run.results)),
		Value: fmt.Sprintf("%.1f s", each.Seconds()), Bar: fmt.Sprintf("≤ %.0f s", gpuQuickBar.Seconds()), Data: map[string]float64{"s": each.Seconds()},
	}
	return row.judge(each <= gpuQuickBar, len(run.results) > 0)
}
