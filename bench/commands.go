package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/measure"
)

const (
	detectBarMS  = 300
	instantBarMS = 30
)

// commands times what must be instant, from start of the process to its end.
// The commands take turns, so that a slow second falls on all of them.
func (b *bench) commands(ctx context.Context) (findings, error) {
	helps, err := b.helps(ctx, nil)
	if err != nil {
		return findings{}, err
	}
	lines := append([][]string{{"detect", "--look"}, {"models"}}, helps...)
	taken := make([][]float64, len(lines))
	runs := b.times(20, 3)
	for range runs + 1 {
		for i, args := range lines {
			_, wall, err := b.program(args...).run(ctx)
			if err != nil {
				return findings{}, err
			}
			taken[i] = append(taken[i], float64(wall)/float64(time.Millisecond))
		}
	}
	medians := make([]float64, len(lines))
	for i := range taken {
		taken[i] = taken[i][1:] // the first brings the program into memory
		medians[i] = measure.Median(taken[i])
	}
	worst := 2
	for i := worst; i < len(lines); i++ {
		if medians[i] > medians[worst] {
			worst = i
		}
	}
	measured := fmt.Sprintf("whole process, median of %d runs", runs)
	row := func(name string, i int, bar float64) Row {
		r := Row{
			Name: name, Measured: measured, Value: fmt.Sprintf("%.1f ms", medians[i]), Bar: fmt.Sprintf("≤ %.0f ms", bar),
			Data: map[string]float64{"median_ms": medians[i]}, Raw: map[string][]float64{"ms": taken[i]},
		}
		return r.judge(medians[i] <= bar, true)
	}
	help := row(fmt.Sprintf("any --help (of %d)", len(helps)), worst, instantBarMS)
	help.Value += ": assay " + strings.Join(lines[worst], " ")
	help.Measured += ", the slowest"
	return findings{rows: []Row{row("first pass of detect", 0, detectBarMS), row("models", 1, instantBarMS), help}}, nil
}

// helps are the command lines that ask each command, and each command below
// it, for its help.
func (b *bench) helps(ctx context.Context, command []string) ([][]string, error) {
	line := append(slices.Clone(command), "--help")
	out, _, err := b.program(line...).run(ctx)
	if err != nil {
		return nil, err
	}
	found := [][]string{line}
	for _, name := range subcommands(string(out)) {
		below, err := b.helps(ctx, append(slices.Clone(command), name))
		if err != nil {
			return nil, err
		}
		found = append(found, below...)
	}
	return found, nil
}

// subcommands reads the names of the commands that a help lists.
func subcommands(help string) []string {
	_, list, found := strings.Cut(help, "Available Commands:\n")
	if !found {
		return nil
	}
	var names []string
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			break
		}
		if fields[0] != "help" { // which is another way to ask the same
			names = append(names, fields[0])
		}
	}
	return names
}
