package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	fleetBar      = 40 * time.Second
	fleetRatioBar = 1.5
	fleetWorkers  = 8
)

// fleet sends no-op cells to a coordinator and eight workers, all on this machine,
// and then runs the same plan without them, each in an empty home.
func (b *bench) fleet(ctx context.Context) (findings, error) {
	const full = 10_000
	n := b.times(full, 100)
	plan, err := b.noops(n)
	if err != nil {
		return findings{}, err
	}
	url, stop, err := b.startFleet(ctx)
	if err != nil {
		return findings{}, err
	}
	sent, err := b.counted(ctx, "fleet", n, "test", "--plan", plan, "--json", "--fleet", url)
	stop()
	if err != nil {
		return findings{}, err
	}
	alone, err := b.counted(ctx, "alone", n, "test", "--plan", plan, "--json")
	if err != nil {
		return findings{}, err
	}
	ratio := sent.Seconds() / alone.Seconds()
	row := Row{
		Name: "no-op cells by a fleet", Measured: fmt.Sprintf("%d cells through %d workers here, synced to the disk, then counted by query; the same without a fleet", n, fleetWorkers),
		Value: fmt.Sprintf("%.1f s; %.1f s without (%.2f)", sent.Seconds(), alone.Seconds(), ratio),
		Bar:   fmt.Sprintf("≤ %.0f s for %d, and ≤ %.1f × without", fleetBar.Seconds(), full, fleetRatioBar),
		Data:  map[string]float64{"cells": float64(n), "fleet_s": sent.Seconds(), "alone_s": alone.Seconds(), "ratio": ratio},
	}
	return findings{rows: []Row{row.judge(sent <= fleetBar && ratio <= fleetRatioBar, n == full)}}, nil
}

// counted runs a sweep in a home of its own and checks that the database has it.
func (b *bench) counted(ctx context.Context, name string, n int, args ...string) (time.Duration, error) {
	home := filepath.Join(b.tmp, name)
	_, carried, err := b.at(home, args...).run(ctx)
	if err != nil {
		return 0, err
	}
	out, asked, err := b.at(home, "query", "--json", "--sql", "select count(*) as n from hardware_results where verdict = 'works'").run(ctx)
	if err != nil {
		return 0, err
	}
	return carried + asked, holds(out, n)
}

// startFleet starts a coordinator and its workers, which are here when it returns.
func (b *bench) startFleet(ctx context.Context) (url string, stop func(), err error) {
	var started []*exec.Cmd
	stop = func() {
		for _, c := range started {
			_ = c.Process.Signal(os.Interrupt)
		}
		for _, c := range started {
			_ = c.Wait()
		}
	}
	start := func(path, home string, args ...string) (io.Reader, error) {
		c := exec.CommandContext(ctx, path, args...) //nolint:gosec // the program that is measured
		c.Env = append(os.Environ(), "ASSAY_HOME="+home)
		said, err := c.StderrPipe()
		if err == nil {
			err = c.Start()
		}
		if err == nil {
			started = append(started, c)
		}
		return said, err
	}
	dir := filepath.Join(b.tmp, "coordinator")
	said, err := start(b.assay, dir, "coordinator", "--addr", "127.0.0.1:0", "--dir", dir)
	if err != nil {
		return "", stop, err
	}
	if url, err = address(said); err != nil {
		stop()
		return "", stop, err
	}
	worker := filepath.Join(filepath.Dir(b.assay), "assay-worker")
	for i := range fleetWorkers {
		name := "w" + strconv.Itoa(i+1)
		said, err := start(worker, filepath.Join(b.tmp, name), "join", url, "--noop", "--workers", "1", "--name", name)
		if err != nil {
			stop()
			return "", stop, err
		}
		go func() { _, _ = io.Copy(io.Discard, said) }()
	}
	time.Sleep(5 * time.Second) // joining is no part of it
	return url, stop, nil
}

// address reads where the coordinator says that it is, and the rest of what it says.
func address(said io.Reader) (string, error) {
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		for _, word := range strings.Fields(strings.ReplaceAll(lines.Text(), ",", " ")) {
			if strings.HasPrefix(word, "nats://") {
				go func() { _, _ = io.Copy(io.Discard, said) }()
				return word, nil
			}
		}
	}
	return "", errors.New("the coordinator did not start")
}
