package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/journal"
	"assay/internal/measure"
	"assay/internal/platform"
)

// Synchronised times may differ from the device's own events by the larger of the two: awaiting
// a device costs some microseconds, whatever it did.
const (
	eventsBar   = 0.01
	eventsBarMS = 0.04
)

// gpu makes the table of a worker's results from a GPU machine, and judges how
// far synchronised times are from the device's own events.
func (b *bench) gpu(context.Context) (findings, error) {
	documents, paths, err := readDocuments(strings.Split(b.options.gpu, ","))
	if err != nil {
		return findings{}, err
	}
	if len(paths) == 0 {
		return documents, nil
	}
	rows, err := runRows(paths)
	if err != nil {
		return findings{}, err
	}
	rows = append(documents.rows, rows...)
	h, results, err := readJournals(paths)
	if err != nil {
		return findings{}, err
	}
	// Sweeps have rows of their own: a line for each of their cells says little.
	timed := slices.DeleteFunc(slices.Clone(results), func(r cell.Result) bool { return r.Latency == nil })
	if len(results) >= every {
		results = timed
	}
	results = slices.DeleteFunc(results, func(r cell.Result) bool { return r.Cell.Platform == platform.CPU })
	if len(results) == 0 {
		if len(rows) > 0 {
			return findings{rows: rows, where: &Machine{At: h.Run.StartedAt, Host: h.Host}}, nil
		}
		return findings{}, fmt.Errorf("%s has no GPU results", b.options.gpu)
	}
	sortResults(results)
	grid := Grid{Title: gpuTitle(h, results), Head: []string{"model", "size", "dtype", "batch", "median ms", "events ms", "synchronised / events", "device peak", "verdict"}}
	for _, r := range results {
		grid.Rows = append(grid.Rows, gpuCells(r))
	}
	where := Machine{At: h.Run.StartedAt, Host: h.Host, Versions: results[0].Context.Versions, LoadBefore: results[0].Context.LoadBefore}
	return findings{rows: append(rows, eventsRow(results)), grids: append(documents.grids, grid), where: &where}, nil
}

// readDocuments takes what is the bench's own JSON out of the files: what it measured on that machine,
// whose rows come as they are. The other files are journals.
func readDocuments(paths []string) (found findings, journals []string, _ error) {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return found, nil, err
		}
		var d Document
		if json.Unmarshal(text, &d) != nil { // a journal has many lines
			journals = append(journals, path)
			continue
		}
		if d.Schema != 1 || len(d.Rows) == 0 {
			return found, nil, fmt.Errorf("%s is neither a worker's journal nor what bench --json wrote", path)
		}
		found.rows, found.grids, found.where = append(found.rows, d.Rows...), append(found.grids, d.Grids...), &d.Machine
	}
	return found, journals, nil
}

// readJournals reads several runs of one machine as one; of two results of a
// cell the later one stands.
func readJournals(paths []string) (journal.Header, []cell.Result, error) {
	var first journal.Header
	var all []cell.Result
	for i, path := range paths {
		h, results, err := readJournal(path)
		if err != nil {
			return first, nil, err
		}
		if i == 0 {
			first = h
		}
		if h.Host.ID != first.Host.ID {
			return first, nil, fmt.Errorf("%s comes from a different machine than %s", path, paths[0])
		}
		for _, r := range results {
			all = slices.DeleteFunc(all, func(old cell.Result) bool { return old.Cell.Hash == r.Cell.Hash })
			all = append(all, r)
		}
	}
	return first, all, nil
}

func readJournal(path string) (journal.Header, []cell.Result, error) {
	j, err := journal.Open(path)
	if err != nil {
		return journal.Header{}, nil, err
	}
	defer j.Close()
	var out []cell.Result
	for {
		line, err := j.Next()
		switch {
		case errors.Is(err, io.EOF):
			return j.Header(), out, nil
		case err != nil:
			return j.Header(), out, err
		case line.Result != nil:
			out = append(out, *line.Result)
		}
	}
}

// sortResults puts the key models first, in their order, tiny before full.
func sortResults(results []cell.Result) {
	key := catalog.KeyTypes()
	rank := func(c cell.Cell) int {
		if i := slices.Index(key, c.Type); i >= 0 {
			return i
		}
		return len(key)
	}
	slices.SortStableFunc(results, func(x, y cell.Result) int {
		a, b := x.Cell, y.Cell
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Type, b.Type), cmp.Compare(b.Size, a.Size),
			cmp.Compare(b.DType, a.DType), cmp.Compare(a.Batch, b.Batch))
	})
}

// gpuTitle names the machine, since other rows may come from another one.
func gpuTitle(h journal.Header, results []cell.Result) string {
	where := append(slices.Clone(h.Host.Devices), h.Host.CPU)
	for _, name := range []string{"driver", "cuda", "torch"} {
		if v := results[0].Context.Versions[name]; v != "" {
			where = append(where, name+" "+v)
		}
	}
	return "On " + strings.Join(where, ", ") + " (run " + h.Run.ID + ")"
}

func gpuCells(r cell.Result) []string {
	c, verdict := r.Cell, string(r.Verdict)
	if r.Failure != nil {
		verdict += ": " + string(r.Failure.Class)
	}
	out := []string{c.Model(), c.Size, string(c.DType), fmt.Sprint(c.Batch), "–", "–", "–", "–", verdict}
	if r.Latency != nil {
		out[4] = interval(r.Latency)
	}
	if x, ok := synchronised(r.Latency); ok && r.Latency.DeviceMS != nil {
		out[5], out[6] = fmt.Sprintf("%.3f", *r.Latency.DeviceMS), fmt.Sprintf("%.4f", x.ratio)
	}
	if r.Memory != nil && r.Memory.DevicePeakBytes != nil {
		out[7] = fmt.Sprintf("%.0f MB", float64(*r.Memory.DevicePeakBytes)/1e6)
	}
	return out
}

func interval(l *cell.Latency) string {
	if l.LoMS == nil || l.HiMS == nil {
		return fmt.Sprintf("%.3f", l.MedianMS)
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f]", l.MedianMS, *l.LoMS, *l.HiMS)
}

// gap is how synchronised time and the time between the device's events differ, over the samples
// that have both: the median over repeats of the median over samples.
type gap struct{ ratio, ms float64 }

// within says whether the gap is no larger than the bar.
func (g gap) within() bool { return math.Abs(g.ratio-1) <= eventsBar || math.Abs(g.ms) <= eventsBarMS }

func synchronised(l *cell.Latency) (gap, bool) {
	if l == nil || len(l.DeviceSamples) != len(l.SamplesMS) {
		return gap{}, false
	}
	var ratios, differences []float64
	for i, device := range l.DeviceSamples {
		var ratio, ms []float64
		for j := range min(len(device), len(l.SamplesMS[i])) {
			if device[j] > 0 {
				ratio, ms = append(ratio, l.SamplesMS[i][j]/device[j]), append(ms, l.SamplesMS[i][j]-device[j])
			}
		}
		if len(ratio) > 0 {
			ratios, differences = append(ratios, measure.Median(ratio)), append(differences, measure.Median(ms))
		}
	}
	return gap{measure.Median(ratios), measure.Median(differences)}, len(ratios) > 0
}

func eventsRow(results []cell.Result) Row {
	var worst gap
	name, with, timed, outside := "", 0, 0, 0
	for _, r := range results {
		if r.Latency == nil {
			continue
		}
		timed++
		x, ok := synchronised(r.Latency)
		if !ok {
			continue
		}
		with++
		if !x.within() {
			outside++
		}
		if name == "" || math.Abs(x.ratio-1) > math.Abs(worst.ratio-1) {
			worst, name = x, fmt.Sprintf("%s %s %s", r.Cell.Model(), r.Cell.Size, r.Cell.DType)
		}
	}
	row := Row{
		Name: "synchronised time against device events", Bar: fmt.Sprintf("within %.0f %% or %.0f µs", 100*eventsBar, 1000*eventsBarMS), Value: "no cell has device events",
		Measured: fmt.Sprintf("%d timed cells, %d with events", timed, with),
	}
	if with > 0 {
		row.Value = fmt.Sprintf("%d of %d; the farthest by its share is off by %.2f %% and %.0f µs (%s)", with-outside, with, 100*math.Abs(worst.ratio-1), 1000*math.Abs(worst.ms), name)
		row.Data = map[string]float64{"outside": float64(outside), "worst_ratio": worst.ratio, "worst_ms": worst.ms, "cells": float64(with)}
	}
	if with < timed {
		row.Note = "events are recorded only while they cost less than 1 % of a sample"
	}
	return row.judge(outside == 0, with > 0)
}
