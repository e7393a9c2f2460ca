package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/catalog"
	"assay/internal/environment"
	"assay/internal/session"
)

// bench is one run under way: what the sections share.
type bench struct {
	options
	stderr  io.Writer
	folders environment.Folders
	maker   *environment.Maker
	env     environment.Environment
	catalog *catalog.Catalog
	tmp     string // removed at the end: journals, databases, plans
	order   *rand.Rand
}

// newBench finds the environment, and makes nothing but a temporary folder.
// The section gpu needs neither Python nor the program.
func newBench(ctx context.Context, o options, stderr io.Writer) (*bench, error) {
	b := &bench{options: o, stderr: stderr, order: rand.New(rand.NewPCG(o.seed, o.seed))} //nolint:gosec // an order, not a secret
	var err error
	if b.catalog, err = catalog.Load(); err != nil {
		return nil, err
	}
	if !slices.Equal(o.only, []string{"gpu"}) {
		if err := b.find(ctx); err != nil {
			return nil, err
		}
	}
	b.tmp, err = os.MkdirTemp("", "assay-bench-")
	return b, err
}

// find finds the program and the environment.
func (b *bench) find(ctx context.Context) error {
	var err error
	if b.assay, err = filepath.Abs(b.assay); err != nil {
		return err
	}
	if _, err := os.Stat(b.assay); err != nil {
		return fmt.Errorf("there is no program to measure: %w (run make build, or name it with --assay)", err)
	}
	if b.folders, err = environment.FindFolders(os.Getenv); err != nil {
		return err
	}
	if err := b.folders.Create(); err != nil {
		return err
	}
	b.maker = environment.New(b.folders, os.Environ(), b.say)
	b.env, err = b.maker.Open(ctx, environment.Choice{Python: b.python, NoSetup: true})
	return err
}

func (b *bench) close() error { return os.RemoveAll(b.tmp) }

// say prints a line of progress.
func (b *bench) say(text string) { fmt.Fprintln(b.stderr, text) }

// measure carries the sections out. One that fails costs only itself: its row
// says why, and so does the error.
func (b *bench) measure(ctx context.Context) (Document, error) {
	d := Document{Schema: 1, Machine: b.machine(ctx)}
	var failed error
	for _, s := range sections() {
		if !slices.Contains(b.only, s.name) {
			continue
		}
		b.say("== " + s.name + ": " + s.about)
		began := time.Now()
		found, err := s.measure(b, ctx)
		interrupted := context.Cause(ctx)
		if err != nil && interrupted == nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.name, err))
			found.rows = append(found.rows, Row{Name: s.name, Measured: s.about, Value: "could not be measured", Note: err.Error()})
		}
		for i := range found.rows {
			found.rows[i].Section = s.name
			if b.quick && found.where == nil {
				found.rows[i].Met = nil // a trial judges nothing
			}
		}
		if found.where != nil && len(b.only) == 1 {
			d.Machine = *found.where
		}
		d.Rows, d.Grids = append(d.Rows, found.rows...), append(d.Grids, found.grids...)
		if interrupted != nil { // what was finished is told
			return d, errors.Join(failed, interrupted)
		}
		b.say(fmt.Sprintf("   took %.0f s", time.Since(began).Seconds()))
	}
	return d, failed
}

// machine is what should be known about where this is measured.
func (b *bench) machine(ctx context.Context) Machine {
	m := Machine{
		At: time.Now().UTC(), Host: b.session().Host(),
		Versions: map[string]string{"go": strings.TrimPrefix(runtime.Version(), "go")}, LoadBefore: load(), Quick: b.quick, Seed: b.seed,
	}
	for _, name := range []string{"python", "torch", "transformers"} {
		if v := b.env.Versions[name]; v != "" {
			m.Versions[name] = v
		}
	}
	if v, err := b.version(ctx); err == nil {
		m.Versions["assay"] = v
	}
	return m
}

// load is the mean number of runnable processes over the last minute, where
// the system tells.
func load() *float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return nil
	}
	first, _, _ := strings.Cut(string(text), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return nil
	}
	return &v
}

// session opens the parts that run cells, one worker wide.
func (b *bench) session() *session.Session {
	return session.New(session.Options{
		Environments: found{session.Chosen{Maker: b.maker}, b.env}, Folders: b.folders, Catalog: b.catalog, Workers: 1, Version: "bench",
	})
}

// found are environments of which the bench has opened the main one.
type found struct {
	session.Chosen
	env environment.Environment
}

// Python is the one that was opened.
func (f found) Python(context.Context) (environment.Environment, error) { return f.env, nil }

// times is the number of repetitions: the full one, or that of a trial.
func (b *bench) times(full, quick int) int {
	if b.quick {
		return quick
	}
	return full
}
