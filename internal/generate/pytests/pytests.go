// Package pytests runs generated test files under pytest and says what became
// of each.
//
// Importing torch takes longer than most tests, so a process of pytest gets many
// files: a batch. Batches run side by side, so many as there are workers. What
// pytest says is read from its JUnit report; a process that dies writes none,
// and its files are then run one by one, so that the one which killed it is
// known and the others keep their results.
package pytests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// batch is how many files a process gets.
const batch = 24

// Result is what became of a file.
type Result struct {
	File    string  `json:"file"`
	Passed  int     `json:"passed"`
	Failed  int     `json:"failed"`
	Skipped int     `json:"skipped"`
	Why     string  `json:"why,omitempty"` // the first failure, or why all was skipped
	Seconds float64 `json:"seconds"`
}

// OK reports whether nothing failed, and something ran.
func (r Result) OK() bool { return r.Failed == 0 && r.Passed+r.Skipped > 0 }

// Runner runs test files of a folder.
type Runner struct {
	// Python starts the environment's Python.
	Python func(ctx context.Context, args ...string) *exec.Cmd
	// Program is the path of assay itself: what the files call.
	Program string
	Dir     string
	Workers int
	// Done is told of every file, as soon as it is known; calls do not overlap.
	Done func(Result)
}

// Run runs files with further arguments of pytest. Results have the order of
// the files. A file that fails is no error.
func (r Runner) Run(ctx context.Context, files []string, args ...string) ([]Result, error) {
	work := make(chan []string)
	results := map[string]Result{}
	var saying sync.Mutex
	var failed error
	var wait sync.WaitGroup
	for range max(1, r.Workers) {
		wait.Go(func() {
			for some := range work {
				found, err := r.batch(ctx, some, args)
				saying.Lock()
				failed = errors.Join(failed, err)
				for _, one := range found {
					results[one.File] = one
					r.Done(one)
				}
				saying.Unlock()
			}
		})
	}
	for some := range slices.Chunk(files, batch) {
		select {
		case work <- some:
		case <-ctx.Done():
		}
	}
	close(work)
	wait.Wait()
	if err := errors.Join(context.Cause(ctx), failed); err != nil {
		return nil, err
	}
	ordered := make([]Result, len(files))
	for i, f := range files {
		ordered[i] = results[f]
	}
	return ordered, nil
}

// batch runs some files in one process, or one by one where that dies.
func (r Runner) batch(ctx context.Context, files, args []string) ([]Result, error) {
	found, said, err := r.process(ctx, files, args)
	if err != nil || found != nil {
		return found, err
	}
	if len(files) == 1 {
		return []Result{{File: files[0], Failed: 1, Why: "pytest died: " + said}}, nil
	}
	for _, f := range files {
		one, err := r.batch(ctx, []string{f}, args)
		if err != nil {
			return nil, err
		}
		found = append(found, one...)
	}
	return found, nil
}

// process runs pytest once. Without results it died, and said why.
func (r Runner) process(ctx context.Context, files, args []string) (found []Result, said string, err error) {
	dir, err := os.MkdirTemp("", "assay-pytest-")
	if err != nil {
		return nil, "", fmt.Errorf("make a folder for pytest's report: %w", err)
	}
	defer os.RemoveAll(dir)
	report := filepath.Join(dir, "report.xml")
	all := append([]string{"-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "--junitxml", report}, args...)
	cmd := r.Python(ctx, append(all, files...)...)
	cmd.Dir = r.Dir
	cmd.Env = append(cmd.Env, "ASSAY="+r.Program, "PYTHONDONTWRITEBYTECODE=1")
	out, runErr := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, "", context.Cause(ctx)
	}
	text, err := os.ReadFile(report)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Sprintf("%v: %s", runErr, lastLine(out)), nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read pytest's report: %w", err)
	}
	found, err = read(text, files)
	return found, "", err
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
