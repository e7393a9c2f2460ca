// Command packaging makes what users install: for each system an archive and a
// wheel, a list of what the program is made of, checksums, and a signature of
// these. "make dist" runs it.
//
//	go run ./packaging -out out/dist -version 0.1.0 [-only linux/amd64] [-duckdb] [-key FILE]
//
// A target is a system and a processor; a build is a program for it with the
// files that lie beside it; an archive, a wheel and the components of the list
// are made of builds. Programs are built without cgo, so every system's can be
// built on any, and without DuckDB (see internal/store); with -duckdb there is one
// more archive, for this system, that has it.
//
// The same source, version and SOURCE_DATE_EPOCH give the same bytes, wherever
// the source lies: no time, user, path or order of a map is in them.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "packaging: %v\n", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// order is what is to be made.
type order struct {
	version string
	at      time.Time // of the source
	out     string
	root    string // of the source
	python  string
	targets []target
	duckdb  bool
	key     string // a file with a minisign key; "" signs nothing
	secret  string // what the key is encrypted with
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	o := order{secret: getenv("MINISIGN_PASSWORD")}
	var only string
	fs := flag.NewFlagSet("packaging", flag.ContinueOnError)
	fs.StringVar(&o.version, "version", "", "the program's version")
	fs.StringVar(&o.out, "out", "out/dist", "the folder to write into; it is emptied first")
	fs.StringVar(&o.root, "source", ".", "the root of the source")
	fs.StringVar(&o.python, "python", "python3", "a Python ≥ 3.11, which packs the wheels")
	fs.StringVar(&only, "only", "", "only these targets, such as linux/amd64,windows/arm64")
	fs.BoolVar(&o.duckdb, "duckdb", false, "also an archive for this system with DuckDB, which needs a C++ compiler")
	fs.StringVar(&o.key, "key", "", "sign the checksums with this minisign key; MINISIGN_PASSWORD decrypts it")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if o.version == "" {
		return fmt.Errorf("-version is missing")
	}
	var err error
	if o.targets, err = parseTargets(only); err != nil {
		return err
	}
	if o.at, err = sourceDate(getenv("SOURCE_DATE_EPOCH")); err != nil {
		return err
	}
	return o.fill(ctx, stdout)
}

func sourceDate(text string) (time.Time, error) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q: it must be the source's date in seconds, as of git log -1 --format=%%ct", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// fill makes everything.
func (o order) fill(ctx context.Context, stdout io.Writer) error {
	if err := o.empty(); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "assay-packaging-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	builds, err := o.build(ctx, work, stdout)
	if err != nil {
		return err
	}
	for _, b := range builds {
		if err := o.archive(b); err != nil {
			return err
		}
		if b.duckdb {
			continue // its C++ library ties it to this system's C library
		}
		if err := o.wheel(ctx, b); err != nil {
			return err
		}
	}
	if err := o.writeComponents(builds); err != nil {
		return err
	}
	names, err := o.writeSums()
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Fprintln(stdout, filepath.Join(o.out, name))
	}
	return nil
}

// empty removes what an earlier call made, and nothing else: a folder with other
// files in it is an error.
func (o order) empty() error {
	old, err := filepath.Glob(filepath.Join(o.out, "*"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if !ours(filepath.Base(path)) {
			return fmt.Errorf("%s is not one of the files that are made here: name another folder with -out", path)
		}
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return os.MkdirAll(o.out, 0o755)
}
