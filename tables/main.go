// Command tables makes the table that Assay publishes.
//
//	go run ./tables plan cuda > plan.json     the plan of these targets, for "assay matrix --plan" or a worker
//	go run ./tables pack RUN.jsonl…           put the journals of finished runs into this folder, compressed
//	go run ./tables docs [--check]            write docs/table.md from the journals in this folder
//
// The journals here are published with the source: they are what every verdict in
// the documentation rests on. See internal/table.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/catalog"
	"assay/internal/journal"
	"assay/internal/table"
	"assay/internal/wholefile"
)

// most is how many bytes all packed journals may take.
const most = 4 << 20

func main() {
	if err := run(os.Args[1:], ".", os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "tables: %v\n", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

var errUsage = errors.New("usage: go run ./tables plan TARGET… | pack JOURNAL… | docs [--check]")

// run carries out one command in the repository at root.
func run(args []string, root string, stdout io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	switch rest := args[1:]; {
	case args[0] == "plan" && len(rest) > 0:
		return writePlan(rest, stdout)
	case args[0] == "pack" && len(rest) > 0:
		return pack(rest, filepath.Join(root, "tables"))
	case args[0] == "docs" && (len(rest) == 0 || slices.Equal(rest, []string{"--check"})):
		return writeDocs(root, len(rest) > 0)
	}
	return errUsage
}

func writePlan(targets []string, stdout io.Writer) error {
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	plan, err := table.Plan(cat, targets)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(plan)
}

func pack(journals []string, dir string) error {
	for _, path := range journals {
		r, err := journal.Open(path)
		if err != nil {
			return err
		}
		id := r.Header().Run.ID
		if err := errors.Join(r.Close(), journal.Pack(path, filepath.Join(dir, id+journal.Packed))); err != nil {
			return err
		}
	}
	return checkSize(dir)
}

func checkSize(dir string) error {
	files, err := table.Files(dir)
	var sum int64
	for _, f := range files {
		info, stat := os.Stat(f)
		if err = errors.Join(err, stat); stat == nil {
			sum += info.Size()
		}
	}
	if err == nil && sum > most {
		err = fmt.Errorf("the journals in %s take %d bytes, more than %d: remove runs that newer ones have replaced", dir, sum, most)
	}
	return err
}

func writeDocs(root string, check bool) error {
	text, err := page(root)
	if err != nil {
		return err
	}
	path := filepath.Join(root, "docs", "table.md")
	if !check {
		return wholefile.Write(path, text, wholefile.Options{Mode: 0o644})
	}
	have, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(have, text) {
		err = fmt.Errorf("%s is not what the journals say: run \"make table-docs\"", strings.TrimPrefix(path, "./"))
	}
	return err
}

// page is docs/table.md as the journals have it.
func page(root string) ([]byte, error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(root, "tables")
	if err := checkSize(dir); err != nil {
		return nil, err
	}
	files, err := table.Files(dir)
	if err != nil {
		return nil, err
	}
	runs, err := table.Read(files)
	if err != nil {
		return nil, err
	}
	types, err := table.Types(cat)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = table.Fold(types, runs).Markdown(&b)
	return b.Bytes(), err
}
