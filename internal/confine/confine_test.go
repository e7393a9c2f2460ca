package confine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/runner"
)

// TestMain makes this test binary a confined program when it is started as one, and the
// program that is confined when it is asked to misbehave.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Verb {
		fmt.Fprintln(os.Stderr, Become(os.Args[2:]))
		os.Exit(70)
	}
	if deed := os.Getenv("CONFINE_TEST_DEED"); deed != "" {
		os.Exit(misbehave(deed, os.Getenv("CONFINE_TEST_ON")))
	}
	os.Exit(m.Run())
}

// misbehave does one thing and tells how it went: 0 it was done, 3 it was refused.
func misbehave(deed, on string) int {
	var err error
	switch deed {
	case "write":
		err = os.WriteFile(filepath.Join(on, "written"), []byte("x"), 0o600)
	case "large":
		err = os.WriteFile(filepath.Join(on, "large"), make([]byte, 4<<20), 0o600)
	case "read":
		_, err = os.ReadDir(on)
	case "allocate":
		n, _ := strconv.Atoi(on)
		b := make([]byte, n)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		fmt.Println(len(b))
	case "spin":
		for {
			runtime.Gosched()
		}
	case "environment":
		if _, there := os.LookupEnv(variable); there {
			err = errors.New("the order is still in the environment")
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return 0
}

// deed runs one under a policy and returns the exit status and what it said.
func deed(t *testing.T, p Policy, writable, deed, on string) (int, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Ready(p, self, writable)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cmd := c.Wrap(runner.Command{Path: self, Env: append(os.Environ(), "CONFINE_TEST_DEED="+deed, "CONFINE_TEST_ON="+on, "GORACE=atexit_sleep_ms=0")})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	child := exec.CommandContext(ctx, cmd.Path, cmd.Args...)
	var out bytes.Buffer
	child.Env, child.Stdout, child.Stderr = cmd.Env, &out, &out
	if err := child.Run(); err != nil && child.ProcessState == nil {
		t.Fatal(err)
	}
	if child.ProcessState.ExitCode() == 70 {
		t.Fatalf("it was not started: %s", out.String())
	}
	return child.ProcessState.ExitCode(), out.String()
}

func TestMemory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("limits are Linux's")
	}
	p := Policy{Limits: Limits{Memory: 1 << 30}}
	if status, said := deed(t, p, t.TempDir(), "allocate", "100000000"); status != 0 {
		t.Errorf("100 MB within 1 GiB: status %d: %s", status, said)
	}
	if status, said := deed(t, p, t.TempDir(), "allocate", "3000000000"); status == 0 || !strings.Contains(said, "out of memory") && !strings.Contains(said, "allocate") {
		t.Errorf("3 GB within 1 GiB: status %d: %s", status, said)
	}
	if status, said := deed(t, Policy{}, t.TempDir(), "allocate", "300000000"); status != 0 {
		t.Errorf("without a limit: status %d: %s", status, said)
	}
}

func TestFileSize(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("limits are Linux's")
	}
	dir := t.TempDir()
	if status, said := deed(t, Policy{Limits: Limits{FileSize: 1 << 20}}, dir, "large", dir); status == 0 {
		t.Errorf("4 MiB within 1 MiB: status %d: %s", status, said)
	}
	if status, said := deed(t, Policy{Limits: Limits{FileSize: 8 << 20}}, dir, "large", dir); status != 0 {
		t.Errorf("4 MiB within 8 MiB: status %d: %s", status, said)
	}
}

func TestProcessorTime(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.NumCPU() > 8 {
		t.Skip("a second for each processor is spun away")
	}
	if status, said := deed(t, Policy{Limits: Limits{Time: Duration(time.Second)}}, t.TempDir(), "spin", ""); status == 0 {
		t.Errorf("it spun for ever: status %d: %s", status, said)
	}
}

func TestOrderIsNotInherited(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("limits are Linux's")
	}
	if status, said := deed(t, Policy{}, t.TempDir(), "environment", ""); status != 0 {
		t.Errorf("status %d: %s", status, said)
	}
}

// TestFolders: what is outside cannot be written, nor read where the policy names what can.
func TestFolders(t *testing.T) {
	t.Parallel()
	if err := supported(order{Landlock: Require, Network: true}); err != nil {
		t.Skip(err)
	}
	inside, outside := t.TempDir(), t.TempDir()
	for _, landlock := range []Landlock{Use, Require} {
		p := Policy{Landlock: landlock}
		if status, said := deed(t, p, inside, "write", inside); status != 0 {
			t.Errorf("%s: inside: status %d: %s", landlock, status, said)
		}
		if status, said := deed(t, p, inside, "write", outside); status != 3 || !strings.Contains(said, "permission denied") {
			t.Errorf("%s: outside: status %d: %s", landlock, status, said)
		}
		if status, said := deed(t, p, inside, "read", outside); status != 0 {
			t.Errorf("%s: reading outside: status %d: %s", landlock, status, said)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		p.Read = []string{filepath.Dir(self)}
		if status, said := deed(t, p, inside, "read", outside); status != 3 || !strings.Contains(said, "permission denied") {
			t.Errorf("%s: reading elsewhere than the policy says: status %d: %s", landlock, status, said)
		}
	}
	if status, said := deed(t, Policy{Landlock: Off}, inside, "write", outside); status != 0 {
		t.Errorf("not confined: status %d: %s", status, said)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	quoted, err := json.Marshal(dir)
	if err != nil {
		t.Fatal(err)
	}
	for text, says := range map[string]string{
		`{}`: "",
		`{"hub":true,"pickle":true,"code":true,"limits":{"memory":"8GB","total_memory":20000000000,"time":"10m","file_size":"20GB","open_files":4096},"landlock":"use","network":false}`: "",
		`{"landlock":"require","write":[` + string(quoted) + `]}`: "",
		`{"hubs":true}`:                                    `unknown field "hubs"`,
		`{"limits":{"memory":"plenty"}}`:                   "plenty",
		`{"limits":{"memory":"1MB"}}`:                      "256 MB",
		`{"limits":{"memory":-1}}`:                         "negative",
		`{"limits":{"time":10}}`:                           "is not a time",
		`{"limits":{"time":"1ms"}}`:                        "at least a second",
		`{"limits":{"memory":"8GB","total_memory":"1GB"}}`: "less than one task",
		`{"limits":{"open_files":3}}`:                      "at least 64",
		`{"landlock":"yes"}`:                               "off, use or require",
		`{"pickle":true}`:                                  "set hub too",
		`{"network":false}`:                                "need landlock",
		`{"landlock":"use","read":["here"]}`:               "not an absolute path",
		`{"landlock":"use","read":["/nowhere/at/all"]}`:    "is not a folder",
		`{} {}`:   "after its end",
		`garbage`: "invalid character",
	} {
		_, err := Parse([]byte(text))
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"hub":true,"limits":{"memory":"8GB","time":"10m"},"landlock":"use"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Parse(b)
		if err == nil && p.Check() != nil {
			t.Errorf("%s is read and is wrong", b)
		}
	})
}
