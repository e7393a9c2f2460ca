package generate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/wholefile"
)

// State is how a file in a folder stands to what would be written.
type State string

// The states of a file.
const (
	New      State = "new"      // it is not there
	Same     State = "same"     // it is there, to the letter
	Outdated State = "outdated" // nobody edited it, and today's templates write it differently
	Edited   State = "edited"   // somebody edited it outside of the marked lines
	Broken   State = "broken"   // its marked lines are no longer in pairs
	Foreign  State = "foreign"  // it is there, and was not generated
)

// Change is a file and what stands in its place.
type Change struct {
	File
	Path  string
	State State
}

// Changes is what writing would do, in the order of the files.
type Changes []Change

// Paths are the files'.
func (p Changes) Paths() []string {
	out := []string{}
	for _, c := range p {
		out = append(out, c.Path)
	}
	return out
}

// Plan compares files with a folder. Nothing is written.
func Plan(dir string, files []File) (Changes, error) {
	seen := map[string]bool{}
	var plan Changes
	for _, f := range files {
		if seen[f.Name] {
			return nil, fmt.Errorf("two models would be written to %s", f.Name)
		}
		seen[f.Name] = true
		c, err := compare(filepath.Join(dir, f.Name), f)
		if err != nil {
			return nil, err
		}
		plan = append(plan, c)
	}
	return plan, nil
}

func compare(path string, f File) (Change, error) {
	c := Change{File: f, Path: path, State: New}
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read what is there already: %w", err)
	}
	// A checkout may end lines as its system does.
	there := strings.ReplaceAll(string(old), "\r\n", "\n")
	c.Text = Keep(f.Text, there)
	_, edited, ok := Origin(there)
	switch {
	case c.Text == there:
		c.State = Same
	case !ok:
		c.State, c.Text = Foreign, f.Text
	case Torn(f.Text, there):
		c.State = Broken
	case edited:
		c.State = Edited
	default:
		c.State = Outdated
	}
	return c, nil
}

// Of returns the changes of files that are in one of the states.
func (p Changes) Of(states ...State) Changes {
	var of Changes
	for _, c := range p {
		if slices.Contains(states, c.State) {
			of = append(of, c)
		}
	}
	return of
}

// LeftAlone are the files that Write leaves as they are though they differ.
func (p Changes) LeftAlone(force bool) Changes {
	if force {
		return p.Of(Broken, Foreign)
	}
	return p.Of(Edited, Broken, Foreign)
}

// Differing are the files that are there and not as they would be written, and
// how many are there at all.
func (p Changes) Differing() (differ Changes, there int) {
	return p.Of(Outdated, Edited, Broken, Foreign), len(p) - len(p.Of(New))
}

// Write runs the plan: what is new or outdated, and with force also what
// somebody edited. What Assay did not write, and what has a keeper's lines that
// would be lost, is never written over. Each file is there whole or as it was.
func (p Changes) Write(force bool) (written Changes, err error) {
	states := []State{New, Outdated}
	if force {
		states = append(states, Edited)
	}
	for _, c := range p.Of(states...) {
		if err := write(c.Path, c.Text); err != nil {
			return written, err
		}
		written = append(written, c)
	}
	return written, nil
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	if err := wholefile.Write(path, []byte(text), wholefile.Options{Mode: 0o644}); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
