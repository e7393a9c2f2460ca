// Command tables makes the table that Assay publishes.
//
//	go run ./tables plan cuda > plan.json     the plan of these targets, for "assay matrix --plan" or a worker
//	go run ./tables left openvino > plan.json what of it has no published answer yet; "openvino fp32" is one dtype of it
//	go run ./tables pack RUN.jsonl…           put the journals of finished runs into this folder, compressed
//	go run ./tables full cuda > plan.json     the same of checkpoints at their true size
//	go run ./tables docs [--check]            write docs/table.md and docs/full.md from the journals in this folder
//	go run ./tables atlas [--check]           write the atlas, which is embedded in the program, from the same
//	go run ./tables atlas --because REASON    the same where less is measured than before: the reason is kept in lowered.jsonl
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
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/atlas"
	"assay/internal/atlas/build"
	"assay/internal/catalog"
	"assay/internal/cell"
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

var errUsage = errors.New("usage: go run ./tables plan TARGET… | left TARGET… | full TARGET… | pack JOURNAL… | docs [--check] | atlas [--check | --because REASON]")

// run carries out one command in the repository at root.
func run(args []string, root string, stdout io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	switch rest := args[1:]; {
	case args[0] == "plan" && len(rest) > 0:
		return writePlan(table.Plan, rest, stdout)
	case args[0] == "left" && len(rest) > 0:
		return writeLeft(root, rest, stdout)
	case args[0] == "full" && len(rest) > 0:
		return writePlan(table.FullPlan, rest, stdout)
	case args[0] == "pack" && len(rest) > 0:
		return pack(rest, filepath.Join(root, "tables"))
	case args[0] == "docs" && (len(rest) == 0 || slices.Equal(rest, []string{"--check"})):
		return writeDocs(root, len(rest) > 0)
	case args[0] == "atlas" && (len(rest) == 0 || slices.Equal(rest, []string{"--check"})):
		return writeAtlas(root, len(rest) > 0, "")
	case args[0] == "atlas" && len(rest) == 2 && rest[0] == "--because":
		because := strings.TrimSpace(strings.Join(rest[1:], " "))
		if because == "" {
			return errUsage
		}
		return writeAtlas(root, false, because)
	}
	return errUsage
}

func writePlan(of func(*catalog.Catalog, []string) (cell.Plan, error), targets []string, stdout io.Writer) error {
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	plan, err := of(cat, targets)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(plan)
}

func writeLeft(root string, targets []string, stdout io.Writer) error {
	cat, runs, err := journals(root)
	if err != nil {
		return err
	}
	plan, err := table.Plan(cat, targets)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(table.Left(plan, runs))
}

// named refuses a run whose program does not say which commit it is: nobody could make its numbers again.
func named(run cell.Run) error {
	if run.Assay == "" || run.Assay == "dev" {
		return errors.New("its program does not know its commit: run it again with the one that make build makes")
	}
	return nil
}

func pack(journals []string, dir string) error {
	for _, path := range journals {
		r, err := journal.Open(path)
		if err != nil {
			return err
		}
		run := r.Header().Run
		if err := errors.Join(r.Close(), named(run)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := journal.Pack(path, filepath.Join(dir, run.ID+journal.Packed)); err != nil {
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
	pages, err := pages(root)
	for _, p := range pages {
		err = errors.Join(err, put(filepath.Join(root, "docs", p.name), p.text, check, "make table-docs"))
	}
	return err
}

// writeAtlas writes internal/atlas/data, which the program embeds. Where less is
// measured than in the one before it, a reason must be given, and is kept.
func writeAtlas(root string, check bool, because string) error {
	cat, runs, err := journals(root)
	if err != nil {
		return err
	}
	made, err := build.From(cat, runs)
	if err != nil {
		return err
	}
	file, err := made.Encode()
	if err != nil {
		return err
	}
	path := filepath.Join(root, "internal", "atlas", "data", "atlas.jsonl.br")
	if !check {
		if err := lowered(root, path, file, because); err != nil {
			return err
		}
	}
	return put(path, file, check, "make atlas")
}

// lowered refuses an atlas of which less is measured than of the one at the path, unless a
// reason is given, which it writes down.
func lowered(root, path string, file []byte, because string) error {
	have, err := os.ReadFile(path)
	if err != nil {
		return nil //nolint:nilerr // there is none to compare with
	}
	before, err := quality(have)
	if err != nil {
		return nil //nolint:nilerr // what cannot be read measures nothing
	}
	after, err := quality(file)
	if err != nil {
		return err
	}
	less := atlas.Lowered(before, after)
	switch {
	case len(less) == 0:
		return nil
	case because == "":
		return fmt.Errorf("less is measured than before (%s): give the reason with --because, or bring the journals back", strings.Join(less, "; "))
	}
	row, err := json.Marshal(map[string]any{"lowered": less, "because": because, "newest": after.Newest})
	if err != nil {
		return err
	}
	list, err := os.OpenFile(filepath.Join(root, "tables", "lowered.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = list.Write(append(row, '\n'))
	return errors.Join(err, list.Close())
}

func quality(file []byte) (atlas.Quality, error) {
	book, err := atlas.Open(bytes.NewReader(file))
	if err != nil {
		return atlas.Quality{}, err
	}
	return book.Quality()
}

// put writes a file, or says that it is not what the journals say.
func put(path string, made []byte, check bool, remedy string) error {
	if check {
		return same(path, made, remedy)
	}
	return wholefile.Write(path, made, wholefile.Options{Mode: 0o644})
}

func same(path string, text []byte, remedy string) error {
	have, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(have, text) {
		err = fmt.Errorf("%s is not what the journals say: run %q", filepath.Base(path), remedy)
	}
	return err
}

type page struct {
	name string
	text []byte
}

// journals are the published runs, and the catalogue.
func journals(root string) (*catalog.Catalog, []table.Run, error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(root, "tables")
	if err := checkSize(dir); err != nil {
		return nil, nil, err
	}
	files, err := table.Files(dir)
	if err != nil {
		return nil, nil, err
	}
	runs, err := table.Read(files)
	return cat, runs, err
}

// pages are those of the documentation that the journals make.
func pages(root string) ([]page, error) {
	cat, runs, err := journals(root)
	if err != nil {
		return nil, err
	}
	types, err := table.Types(cat)
	if err != nil {
		return nil, err
	}
	causes, err := readCauses(filepath.Join(root, "tables", "causes.json"))
	if err != nil {
		return nil, err
	}
	var whole, full bytes.Buffer
	err = errors.Join(table.Fold(types, runs).Markdown(&whole), table.WriteFull(&full, table.Pairs(cat, runs), causes))
	return []page{{"table.md", whole.Bytes()}, {"full.md", full.Bytes()}}, err
}

// readCauses reads why pairs of sizes differ, by checkpoint and column: what people found out.
func readCauses(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var causes map[string]string
	if err == nil {
		err = json.Unmarshal(b, &causes)
	}
	return causes, err
}
