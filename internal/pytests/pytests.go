// Package pytests runs generated files under pytest and reports the outcome of
// each.
//
// Many files share a process, since importing torch takes longer than most of
// them; a Run has as many processes as workers. A process that dies takes only
// its own file with it: its files are run again in two halves, until the one
// that killed it stands alone; a test that hangs ends its process. What pytest
// found is read from the JUnit file that it writes.
package pytests

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// perProcess is how many files share a process at most: enough that importing
// torch is nothing, few enough that what stays in memory is not much.
const perProcess = 48

// hanging is how long a single test may take: what asks assay for an artefact or
// a browser takes minutes.
const hanging = 15 * time.Minute

// Run is how files are run.
type Run struct {
	// Python starts the environment's Python.
	Python func(ctx context.Context, args ...string) *exec.Cmd
	// Program is the command of assay itself, as a shell takes it: what the
	// files call.
	Program string
	Dir     string   // where the files are
	Options []string // of pytest
	Workers int
	Limit   time.Duration // for one file; a process has that for each of its own
	// Done is told about each file as soon as it is known; it may be nil.
	Done func(File)
}

// File is what became of a file's tests.
type File struct {
	Name    string `json:"file"`
	Passed  int    `json:"passed"`
	Skipped []Case `json:"skipped"`
	Failed  []Case `json:"failed"`
}

// Case is a test and what was said about it.
type Case struct {
	Test string `json:"test"`
	Why  string `json:"why"`
}

// Green reports whether the file has tests that passed and none that failed.
func (f File) Green() bool { return f.Passed > 0 && len(f.Failed) == 0 }

// Idle reports whether every test was skipped.
func (f File) Idle() bool { return f.Passed == 0 && len(f.Failed) == 0 }

// Files runs the files and returns what became of each, sorted by name.
func (r Run) Files(ctx context.Context, names []string) ([]File, error) {
	parts := slices.Collect(slices.Chunk(slices.Clone(names), max(1, min(perProcess, (len(names)+r.Workers-1)/r.Workers))))
	var (
		mu    sync.Mutex
		found []File
		fails error
		g     errgroup.Group // without a context: what goes wrong in one process stops no other
	)
	g.SetLimit(r.Workers)
	for _, part := range parts {
		g.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			files, err := r.part(ctx, part)
			mu.Lock()
			defer mu.Unlock()
			found, fails = append(found, files...), errors.Join(fails, err)
			for _, f := range files {
				if r.Done != nil {
					r.Done(f)
				}
			}
			return nil
		})
	}
	_ = g.Wait() // the errors are in fails, all of them
	slices.SortFunc(found, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return found, cmp.Or(ctx.Err(), fails)
}

// part runs files in one process, and again in halves where it died.
func (r Run) part(ctx context.Context, names []string) ([]File, error) {
	files, died, err := r.process(ctx, names)
	switch {
	case err != nil || died == "":
		return files, err
	case len(names) == 1:
		return []File{{Name: names[0], Failed: []Case{{"(process)", died}}}}, nil
	}
	half := len(names) / 2
	first, err := r.part(ctx, names[:half])
	if err != nil {
		return first, err
	}
	second, err := r.part(ctx, names[half:])
	return append(first, second...), err
}

// process runs pytest once. died says how it ended without saying what it found.
func (r Run) process(ctx context.Context, names []string) (files []File, died string, err error) {
	out, err := os.CreateTemp("", "assay-junit-*.xml")
	if err != nil {
		return nil, "", fmt.Errorf("make a file for the results: %w", err)
	}
	out.Close()
	defer os.Remove(out.Name())
	limited, cancel := context.WithTimeout(ctx, r.Limit*time.Duration(len(names)))
	defer cancel()
	args := slices.Concat([]string{"-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "-W", "ignore", "--tb", "line", "--continue-on-collection-errors",
		"-o", fmt.Sprintf("faulthandler_timeout=%d", int(hanging.Seconds())), "-o", "faulthandler_exit_on_timeout=true", "--junitxml", out.Name()}, r.Options, names)
	cmd := r.Python(limited, args...)
	cmd.Dir = r.Dir
	// Tiny models gain nothing from threads, and processes in parallel lose.
	cmd.Env = append(cmd.Env, "ASSAY="+r.Program, "OMP_NUM_THREADS=1")
	var told bytes.Buffer
	cmd.Stdout, cmd.Stderr = &told, &told
	runtime.LockOSThread() // see environment.Group
	defer runtime.UnlockOSThread()
	ended := cmd.Run()
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	if limited.Err() != nil {
		return nil, fmt.Sprintf("it took longer than %s", r.Limit), nil
	}
	if exit := (*exec.ExitError)(nil); ended != nil && !errors.As(ended, &exit) {
		return nil, "", fmt.Errorf("start pytest: %w", ended)
	}
	files, err = read(out.Name(), names)
	code := cmd.ProcessState.ExitCode()
	failed := slices.ContainsFunc(files, func(f File) bool { return len(f.Failed) > 0 })
	switch {
	case code == usageStatus:
		return nil, "", fmt.Errorf("pytest refuses its options: %s", lastLine(told.String()))
	case err == nil && (code == passedStatus || code == noneStatus || code == failedStatus && failed):
		return files, "", nil
	}
	return nil, fmt.Sprintf("pytest ended with %s: %s", cmd.ProcessState, lastLine(told.String())), nil
}

// pytest's exit statuses after which its file of results can be believed, and
// that for wrong options.
const (
	passedStatus = 0
	failedStatus = 1
	usageStatus  = 4
	noneStatus   = 5
)

// suites is pytest's JUnit file.
type suites struct {
	Cases []struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Skipped *message `xml:"skipped"`
		Failure *message `xml:"failure"`
		Error   *message `xml:"error"`
	} `xml:"testsuite>testcase"`
}

type message struct {
	Message string `xml:"message,attr"`
}

// read returns what a JUnit file says of the files.
func read(path string, names []string) ([]File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all suites
	if err := xml.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read what pytest found: %w", err)
	}
	byModule := map[string]*File{}
	files := make([]File, len(names))
	for i, name := range names {
		files[i] = File{Name: name, Skipped: []Case{}, Failed: []Case{}}
		byModule[strings.TrimSuffix(filepath.Base(name), ".py")] = &files[i]
	}
	for _, c := range all.Cases {
		// The module, among the folders before it and a class behind it.
		var f *File
		for _, part := range strings.Split(cmp.Or(c.Class, c.Name), ".") {
			f = cmp.Or(byModule[part], f)
		}
		if f == nil {
			continue
		}
		switch bad := cmp.Or(c.Failure, c.Error); {
		case bad != nil:
			f.Failed = append(f.Failed, Case{c.Name, firstLine(bad.Message)})
		case c.Skipped != nil:
			f.Skipped = append(f.Skipped, Case{c.Name, firstLine(c.Skipped.Message)})
		default:
			f.Passed++
		}
	}
	return files, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
