// Package words collects what Assay says to people, so that it can be read in
// one place and kept in plain English: the texts in the Go and Python sources and
// in the web pages, and the lines of templates and of the documentation. Its test
// knows phrases that must not come back.
//
//	go test ./internal/words -print words.txt
package words

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Text is something that Assay says, and where.
type Text struct {
	File string
	Line int
	Says string
}

// Collect returns every text of a source tree: string literals of Go and Python
// that hold a space and a letter, and the lines of Markdown and of templates.
// Tests, test data and other people's files say nothing to users.
func Collect(tree fs.FS) ([]Text, error) {
	var out []Text
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(silent, d.Name()) || name == pythonTests || name != "." && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		read := readers[path.Ext(name)]
		if read == nil || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		b, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		found, err := read(name, b)
		out = append(out, found...)
		return err
	})
	return out, err
}

// silent are folders whose files are not Assay's words.
var silent = []string{"testdata", "node_modules", "dist", "bin", "out", "tools", "words", "__pycache__"}

// pythonTests are the runner's own tests; internal/generate/tests speaks to users.
const pythonTests = "runtimes/python/tests"

// readers know how each kind of file holds its texts.
var readers = map[string]func(name string, b []byte) ([]Text, error){
	".go": inGo, ".py": inPython, ".md": byLine, ".html": byLine, ".tmpl": byLine, ".ts": byLine, ".js": byLine, ".mjs": byLine,
}

func inGo(name string, b []byte) ([]Text, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, b, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []Text
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field: // its tag is for the decoder
			n.Tag = nil
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && speaks(text) {
				out = append(out, Text{name, files.Position(n.Pos()).Line, text})
			}
		}
		return true
	})
	return out, nil
}

// literal is a Python string, long or short; doc strings are for developers and
// are told apart by where they stand.
var literal = regexp.MustCompile(`(?s)([fFrRbB]{0,2})("""(?:[^\\]|\\.)*?"""|'''(?:[^\\]|\\.)*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|#[^\n]*`)

func inPython(name string, b []byte) ([]Text, error) {
	var out []Text
	for _, m := range literal.FindAllSubmatchIndex(b, -1) {
		if m[4] < 0 {
			continue // a comment
		}
		text := string(b[m[4]:m[5]])
		if strings.HasPrefix(text, `"""`) || strings.HasPrefix(text, `'''`) {
			continue
		}
		text = strings.Trim(text, `"'`)
		if speaks(text) {
			out = append(out, Text{name, 1 + bytes.Count(b[:m[0]], []byte("\n")), text})
		}
	}
	return out, nil
}

func byLine(name string, b []byte) ([]Text, error) {
	var out []Text
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 4<<20)
	for n := 1; lines.Scan(); n++ {
		if text := strings.TrimSpace(lines.Text()); speaks(text) {
			out = append(out, Text{name, n, text})
		}
	}
	return out, lines.Err()
}

// speaks reports whether a text is made of words.
func speaks(text string) bool { return spoken.MatchString(text) }

var spoken = regexp.MustCompile(`[A-Za-z]{2,} [A-Za-z]`)
