//go:build cgo && !windows

package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/cell"
	"assay/internal/journal"
)

// The tests start this binary again as another process, told by this variable
// what to be.
const role = "ASSAY_STORE_TEST_ROLE"

var roles = map[string]func(*Store) error{"write": writeRun, "sync": syncOften, "query": queryOften}

func TestMain(m *testing.M) {
	be, ok := roles[os.Getenv(role)]
	if !ok {
		os.Exit(m.Run())
	}
	s, err := Open(filepath.Join(os.Args[1], "assay.duckdb"), filepath.Join(os.Args[1], "journals"))
	if err == nil {
		err = be(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// many is how many results a writing process makes.
const many = 60

func writeRun(s *Store) error {
	w, err := journal.Create(s.Journals(), header(journal.NewRunID(time.Now())))
	if err != nil {
		return err
	}
	for n := range many {
		if _, err := w.Append(result(n)); err != nil {
			return err
		}
		time.Sleep(3 * time.Millisecond)
	}
	return w.Close()
}

func syncOften(s *Store) error {
	for range 12 {
		if _, err := s.Sync(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// queryOften sees that results only ever grow in number, and that each is there
// with all of its rows.
func queryOften(s *Store) error {
	last := int64(0)
	for range 12 {
		rows, err := s.Query(context.Background(), "SELECT (SELECT count(*) FROM results), (SELECT count(*) FROM timings)")
		if err != nil {
			return err
		}
		n, timings := rows.Values[0][0].(int64), rows.Values[0][1].(int64)
		if n < last || timings != 2*n {
			return fmt.Errorf("%d results after %d, with %d timings", n, last, timings)
		}
		last = n
	}
	return nil
}

func child(t *testing.T, s *Store, as string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe, filepath.Dir(s.Path()))
	cmd.Env = append(os.Environ(), role+"="+as)
	return cmd
}

func TestProcessesAtOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var wg sync.WaitGroup
	for _, as := range []string{"write", "write", "sync", "sync", "query", "query"} {
		wg.Go(func() {
			if out, err := child(t, s, as).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", as, err, out)
			}
		})
	}
	for range 4 { // this process too, from several goroutines
		wg.Go(func() {
			if err := queryOften(s); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := answer(t, s, "SELECT count(*) AS n, count(DISTINCT id) AS ids FROM results"); got != fmt.Sprintf("n,ids\n%d,%[1]d\n", 2*many) {
		t.Errorf("two writers left %s", got)
	}
}

// A sync that is killed leaves a database that the next one finishes.
func TestKilledSync(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for i := range 8 {
		var results []cell.Result
		for n := range 40 {
			results = append(results, result(n))
		}
		write(t, s, fmt.Sprintf("run-%d", i), results...)
		cmd := child(t, s, "sync")
		must(t, cmd.Start())
		time.Sleep(time.Duration(20+rand.IntN(120)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if got := answer(t, s, "SELECT count(*) AS n FROM results"); got != fmt.Sprintf("n\n%d\n", 40*(i+1)) {
			t.Fatalf("after kill %d: %s", i, got)
		}
	}
	before := dump(t, s)
	_, err := s.Rebuild(t.Context())
	must(t, err)
	if d := cmp.Diff(before, dump(t, s)); d != "" {
		t.Errorf("the database differs from its journals:\n%s", d)
	}
}

// A sweep of all model types is loaded in a moment.
func TestLargeSync(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	h := header("run-1")
	var b strings.Builder
	w, err := journal.Create(s.Journals(), h)
	must(t, err)
	_, err = w.Append(result(0))
	must(t, err)
	must(t, w.Close())
	lines := strings.SplitAfter(readFile(t, w.Path()), "\n")
	b.WriteString(lines[0])
	const n = 2400
	for i := range n {
		b.WriteString(strings.Replace(lines[1], `"run-1.1"`, fmt.Sprintf(`"run-1.%d"`, i+1), 1))
	}
	must(t, os.WriteFile(w.Path(), []byte(b.String()), 0o644))
	from := time.Now()
	done, err := s.Sync(t.Context())
	must(t, err)
	t.Logf("%d results in %v", done.Results, time.Since(from))
	if done.Results != n || time.Since(from) > 20*time.Second {
		t.Errorf("%d results in %v", done.Results, time.Since(from))
	}
}
