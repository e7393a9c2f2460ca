//go:build integration && linux

package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"
)

// owner is the variable that makes this test binary a program that owns a
// browser and waits to be killed.
const owner = "ASSAY_TEST_BROWSER"

type owned struct {
	PID     int
	Profile string
}

func TestMain(m *testing.M) {
	if text := os.Getenv(owner); text != "" {
		own(text)
	}
	os.Exit(m.Run())
}

func own(text string) {
	var o Options
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	b, err := Start(context.Background(), o)
	if err == nil {
		_, err = b.Open(context.Background(), "about:blank")
	}
	if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(owned{b.PID(), b.profile.dir}); err != nil {
		panic(err)
	}
	time.Sleep(time.Hour)
}

// TestIntegrationDiesWithUs: when Assay is killed, its browser is too, and the
// next start of a browser removes the profile.
func TestIntegrationDiesWithUs(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	perFamily(t, func(t *testing.T, o Options) {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), owner+"="+string(text))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var has owned
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err != nil || json.Unmarshal(line, &has) != nil {
			t.Fatalf("the owner said %q (%v)", line, err)
		}
		g := &group{leader: has.PID}
		t.Cleanup(g.kill)
		if len(g.processes()) == 0 {
			t.Fatal("the browser does not run")
		}
		kill(t, cmd.Process.Pid)
		_ = cmd.Wait()
		soon(t, "the browser's processes are gone", func() bool { return len(g.processes()) == 0 })
		sweepProfiles()
		soon(t, "the profile is gone", func() bool { _, err := os.Stat(has.Profile); return os.IsNotExist(err) })
	})
}

func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("within %v it is not so that %s", patience, what)
		}
	}
}
