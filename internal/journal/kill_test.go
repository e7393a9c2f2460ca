//go:build !windows

package journal

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The tests start this binary again as another process, told by this variable
// what to be.
const role = "ASSAY_JOURNAL_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "writer":
		endless(os.Args[1])
	case "limited":
		limited(os.Args[1])
	}
}

// endless writes results from three goroutines until it is killed, and prints
// the id of each once it is acknowledged.
func endless(dir string) {
	w, err := Create(dir, header("run-1"))
	if err != nil {
		panic(err)
	}
	var out sync.Mutex
	for g := range 3 {
		go func() {
			for i := g; ; i += 3 {
				id, err := w.Append(result(i))
				if err != nil {
					panic(err)
				}
				out.Lock()
				fmt.Println(id)
				out.Unlock()
			}
		}()
	}
	select {}
}

func again(t *testing.T, as, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe, dir)
	cmd.Env = append(os.Environ(), role+"="+as)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

func TestKilledWriterLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	for round := range 12 {
		dir := t.TempDir()
		cmd, out := again(t, "writer", dir)
		var acked []string
		if round%4 > 0 && out.Scan() { // else it may die before its first line
			acked = append(acked, out.Text())
		}
		kill := time.AfterFunc(time.Duration(rand.IntN(100))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		for out.Scan() {
			acked = append(acked, out.Text())
		}
		_ = cmd.Wait()
		checkKilled(t, dir, acked)
	}
}

func checkKilled(t *testing.T, dir string, acked []string) {
	t.Helper()
	lines, problems, err := readAll(Path(dir, "run-1"))
	if err != nil {
		if len(acked) > 0 || !errors.Is(err, ErrEmpty) && !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("after %d acknowledged lines: %v", len(acked), err)
		}
		return
	}
	have := map[string]bool{}
	for _, l := range lines {
		have[l.ID] = true
	}
	for _, id := range acked {
		if !have[id] {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
	for _, p := range problems {
		if !errors.Is(p, errTorn) {
			t.Errorf("a kill left more than a torn line: %v", p)
		}
	}
	// The lock went with its holder: the run can be extended at once.
	if _, err := Import(t.Context(), write(t, t.TempDir(), "run-2", 1), dir, Here{}); err != nil {
		t.Error(err)
	}
	f, err := os.OpenFile(Path(dir, "run-1"), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	must(t, lock(f))
}

// limited writes until the operating system refuses a larger file, then prints
// how many lines were acknowledged.
func limited(dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 10_000, Max: 10_000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
	w, err := Create(dir, header("run-1"))
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		_, err := w.Append(result(i))
		full := (*FullError)(nil)
		if errors.As(err, &full) {
			fmt.Println(i)
			return
		}
		if err != nil {
			panic(err)
		}
	}
}

func TestTheSystemsOwnLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, out := again(t, "limited", dir)
	out.Scan()
	must(t, cmd.Wait())
	lines, problems := read(t, Path(dir, "run-1"))
	if fmt.Sprint(len(lines)) != out.Text() || len(lines) == 0 || len(problems) != 0 {
		t.Errorf("%s acknowledged, %d in the file, problems %v", out.Text(), len(lines), problems)
	}
}
