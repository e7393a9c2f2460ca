// Package arch checks the program against the table of allowed imports in
// docs/architecture.md. Its code only reads the table and the imports; its test
// compares them.
package arch

import (
	"bufio"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the path before every import of the program itself.
const Module = "assay/"

// Any in a row allows every import.
const Any = "any"

// Table says, for each package, which others it may import; all names are
// relative to the module.
type Table map[string][]string

// ParseTable reads the table whose head is "| package | may import |" from a
// Markdown text. Names in the second column stand for internal/NAME, unless a
// row has that very name.
func ParseTable(text string) (Table, error) {
	table := Table{}
	inside := false
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case len(cells) < 2:
			inside = false
		case strings.TrimSpace(cells[0]) == "package" && strings.TrimSpace(cells[1]) == "may import":
			inside = true
		case inside && !strings.HasPrefix(strings.TrimSpace(cells[0]), "---"):
			name := strings.TrimSpace(cells[0])
			if _, twice := table[name]; twice {
				return nil, fmt.Errorf("%s has two rows", name)
			}
			table[name] = strings.FieldsFunc(cells[1], func(r rune) bool { return r == ',' || r == ' ' })
		}
	}
	if len(table) == 0 {
		return nil, errors.New("there is no table with the head | package | may import |")
	}
	return table, table.resolve()
}

// resolve writes the allowed names in full.
func (t Table) resolve() error {
	for name, allowed := range t {
		for i, short := range allowed {
			full := "internal/" + short
			if _, exact := t[short]; exact || short == Any {
				full = short
			}
			if _, there := t[full]; !there && full != Any {
				return fmt.Errorf("the row of %s allows %s, which has no row of its own", name, short)
			}
			allowed[i] = full
		}
	}
	return nil
}

// Allows reports whether the package may import the other one.
func (t Table) Allows(name, imported string) bool {
	return slices.Contains(t[name], imported) || slices.Contains(t[name], Any)
}

// Imports returns, for each package of the tree that is not only tests, the
// packages of the program that it imports, with one file that does.
func Imports(tree fs.FS) (map[string]map[string]string, error) {
	found := map[string]map[string]string{}
	err := eachSource(tree, func(name string) error {
		imports, err := importsOf(tree, name)
		if err != nil {
			return err
		}
		pkg := path.Dir(name)
		if found[pkg] == nil {
			found[pkg] = map[string]string{}
		}
		for _, i := range imports {
			found[pkg][i] = name
		}
		return nil
	})
	return found, err
}

// eachSource calls a function with every Go file of the program's that is not a test.
func eachSource(tree fs.FS, each func(name string) error) error {
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(name, d.Name())
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		return each(name)
	})
}

// skip leaves folders out that hold none of the program's packages.
func skip(name, base string) error {
	if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || slices.Contains([]string{"testdata", "tools", "bin", "out", "node_modules"}, base)) {
		return fs.SkipDir
	}
	return nil
}

func importsOf(tree fs.FS, name string) ([]string, error) {
	f, err := tree.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	parsed, err := parser.ParseFile(token.NewFileSet(), name, bufio.NewReader(f), parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var ours []string
	for _, spec := range parsed.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if strings.HasPrefix(p, Module) {
			ours = append(ours, strings.TrimPrefix(p, Module))
		}
	}
	return ours, nil
}
