package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"
)

const sweepBar = 2 * time.Minute

// sweep has the program run thousands of no-op cells in a home of its
// own and asks the database for their number. The time is that of both.
func (b *bench) sweep(ctx context.Context) (findings, error) {
	const full = 2400
	n := b.times(full, 100)
	home := filepath.Join(b.tmp, "sweep")
	plan, err := b.noops(n)
	if err != nil {
		return findings{}, err
	}
	test := b.at(home, "test", "--plan", plan, "--json")
	_, carried, err := test.run(ctx)
	if err != nil {
		return findings{}, err
	}
	query := b.at(home, "query", "--json", "--sql", "select count(*) as n from hardware_results where verdict = 'works'")
	out, asked, err := query.run(ctx)
	if err != nil {
		return findings{}, err
	}
	if err := holds(out, n); err != nil {
		return findings{}, err
	}
	all := carried + asked
	row := Row{
		Name: "sweep of no-op cells", Measured: fmt.Sprintf("%d cells by test --plan, then counted by query", n),
		Value: fmt.Sprintf("%.1f s (%.1f + %.1f)", all.Seconds(), carried.Seconds(), asked.Seconds()),
		Bar:   fmt.Sprintf("≤ %.0f s for %d", sweepBar.Seconds(), full),
		Data:  map[string]float64{"cells": float64(n), "test_s": carried.Seconds(), "query_s": asked.Seconds()},
	}
	return findings{rows: []Row{row.judge(all <= sweepBar, n == full)}}, nil
}

// noops writes a plan of this many cells that differ in their seed.
func (b *bench) noops(n int) (string, error) {
	var plan cell.Plan
	for i := range n {
		plan.Cells = append(plan.Cells, cell.Cell{Type: "noop", Engine: platform.Noop, Seed: i + 1})
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.tmp, "noops.json")
	return path, os.WriteFile(path, text, 0o600)
}

// at is the program with all its files under home.
func (b *bench) at(home string, args ...string) process {
	p := b.program(args...)
	p.env = append(p.env, "ASSAY_HOME="+home)
	if b.python != "" {
		p.env = append(p.env, "ASSAY_PYTHON="+b.env.Python)
	}
	return p
}

// holds checks that the answer of a query is one row with that count.
func holds(out []byte, n int) error {
	var answer struct{ Rows []struct{ N int } }
	if err := json.Unmarshal(out, &answer); err != nil {
		return fmt.Errorf("cannot parse the query's answer: %w", err)
	}
	if len(answer.Rows) != 1 || answer.Rows[0].N != n {
		return fmt.Errorf("the database should hold %d results: %s", n, strings.TrimSpace(string(out)))
	}
	return nil
}
