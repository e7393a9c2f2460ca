// Package gist keeps the short form of the user's own results, so that a question
// about a model is answered without opening the database and without reading
// journals: verdict, evidence, reason, numerics, placement and versions of every
// result, and what was last detected of this machine's memory.
//
// The index is one file beside the journals. Its first line lists the journals
// that it was made of, as far as they were read, and where the block of each
// type begins; a question reads that line and the blocks that it asks for. The
// journals stay the truth: whatever they have grown by since is read and added,
// one that is another file now is read again, one that is gone is left out, and
// an index that cannot be read is made anew. Where the folder cannot be written
// the answer is the same, and only slower.
//
// Lines that are torn or damaged, and files that are no journals, make no result.
// They are told by Problems.
package gist

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/journal"
)

// Schema is the version of the index.
const Schema = 1

// fileName is the index's, in the folder of journals.
const fileName = ".gist"

// enough is how many new bytes of journals make it worth writing the index again:
// while a sweep runs they grow all the time.
const enough = 256 << 10

// Result is an own result in short, and where it came from.
type Result struct {
	Run      string
	Host     cell.Host
	Imported bool
	Result   cell.Result
}

// Device is one that was detected on this machine.
type Device struct {
	Platform    string `json:"platform"`
	ID          string `json:"id"`
	Name        string `json:"name"`
	MemoryBytes *int64 `json:"memory_bytes"`
	Software    bool   `json:"software"`
}

// Machine is what was last detected of this one.
type Machine struct {
	At          time.Time `json:"at"`
	MemoryBytes int64     `json:"memory_bytes"` // of the host
	Devices     []Device  `json:"devices"`
}

// known is a journal, as far as it was read.
type known struct {
	File     string    `json:"file"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Offset   int64     `json:"offset"`
	Lines    int       `json:"lines"`
	Tail     string    `json:"tail"`
	Run      string    `json:"run,omitempty"` // "" where it could not be read
	Host     cell.Host `json:"host,omitzero"`
	Problem  string    `json:"problem,omitempty"` // the first
	Problems int       `json:"problems,omitempty"`
}

// line is a result in the index.
type line struct {
	File     string          `json:"file"`
	Imported bool            `json:"imported,omitempty"`
	Result   json.RawMessage `json:"result"`
}

// block is where a type's lines stand, counted from the end of the first line.
type block struct {
	At    int64 `json:"at"`
	Bytes int64 `json:"bytes"`
}

// head is the first line of the index.
type head struct {
	Schema   int              `json:"schema"`
	Body     int64            `json:"body"` // bytes after the first line
	Journals []known          `json:"journals"`
	Types    map[string]block `json:"types"`
	Machine  *Machine         `json:"machine,omitempty"`
}

// Gist answers questions about own results. It is not safe for use by several
// goroutines.
type Gist struct {
	dir  string
	file *os.File // the index; nil where there is none
	head head
	// start is where the blocks begin in the file; lines are those of the
	// types that are in memory because journals have grown.
	start int64
	lines map[string][]line
	stale bool // the file's blocks hold lines of journals that are another file now
}

// Open opens the gist of the journals in a folder, and brings the index up to
// date. A folder that is not there has no results.
func Open(dir string) (*Gist, error) {
	g, err := open(dir, true)
	if errors.Is(err, errDamaged) {
		g, err = open(dir, false)
	}
	return g, err
}

func open(dir string, indexed bool) (*Gist, error) {
	g := &Gist{dir: dir, lines: map[string][]line{}}
	if indexed {
		g.readHead()
	}
	grown, err := g.update()
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	if grown >= enough || g.stale {
		g.write() // where it cannot be written, this answer needs none
	}
	return g, nil
}

// Close closes the index.
func (g *Gist) Close() error {
	if g.file == nil {
		return nil
	}
	f := g.file
	g.file = nil
	return f.Close()
}

// Machine is what was last detected here; nil where nothing was.
func (g *Gist) Machine() *Machine { return g.head.Machine }

// Problems are journals that could not be read, or not all of them.
func (g *Gist) Problems() []string {
	var out []string
	for _, k := range g.head.Journals {
		switch {
		case k.Problems == 1:
			out = append(out, fmt.Sprintf("%s: %s", k.File, k.Problem))
		case k.Problems > 1:
			out = append(out, fmt.Sprintf("%s: %s, and %d more", k.File, k.Problem, k.Problems-1))
		}
	}
	return out
}

// Of are the results of these types, in the order of their journals.
func (g *Gist) Of(types ...string) ([]Result, error) {
	out, err := g.of(types)
	if !errors.Is(err, errDamaged) {
		return out, err
	}
	anew, err := open(g.dir, false)
	if err != nil {
		return nil, err
	}
	_ = g.Close() // it is damaged anyway
	*g = *anew
	return g.of(types)
}

func (g *Gist) of(types []string) ([]Result, error) {
	byFile := map[string]known{}
	for _, k := range g.head.Journals {
		byFile[k.File] = k
	}
	var out []Result
	for _, t := range types {
		lines, err := g.ofType(t)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			k := byFile[l.File]
			r := Result{Run: k.Run, Host: k.Host, Imported: l.Imported}
			if err := json.Unmarshal(l.Result, &r.Result); err != nil {
				return nil, fmt.Errorf("%w: %w", errDamaged, err)
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// Types are those with a result.
func (g *Gist) Types() []string {
	var out []string
	for t := range g.head.Types {
		out = append(out, t)
	}
	for t := range g.lines {
		out = append(out, t)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// update reads what the journals have grown by, and says how much that was.
func (g *Gist) update() (grown int64, err error) {
	files, err := os.ReadDir(g.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the folder of journals: %w", err)
	}
	before := map[string]known{}
	for _, k := range g.head.Journals {
		before[k.File] = k
	}
	var now []known
	for _, f := range files {
		if !isJournal(f) {
			continue
		}
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return grown, err
		}
		k, seen := before[f.Name()]
		delete(before, f.Name())
		if !seen || k.Size != info.Size() || !k.Modified.Equal(info.ModTime()) {
			var read int64
			if k, read, err = g.read(f.Name(), info, k); err != nil {
				return grown, err
			}
			grown += read
		}
		now = append(now, k)
	}
	for name := range before {
		if err := g.forget(name); err != nil {
			return grown, err
		}
	}
	g.head.Journals = now
	return grown, nil
}

// isJournal is store's own rule.
func isJournal(f fs.DirEntry) bool {
	return f.Type().IsRegular() && strings.HasSuffix(f.Name(), journal.Extension) && !strings.HasPrefix(f.Name(), ".")
}

func (g *Gist) path() string { return filepath.Join(g.dir, fileName) }
