//go:build integration

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// pooled are five models and what each is asked.
var pooled = []struct{ model, op, body string }{
	{"bert", "run", `{"input":"some text","platform":"cpu"}`},
	{"gpt2", "generate", `{"input":"Once upon a time","max_new_tokens":4,"platform":"cpu"}`},
	{"distilbert", "batch", `{"inputs":["one","two of them"],"platform":"cpu"}`},
	{"electra", "run", `{"input":"some text","platform":"cpu"}`},
	{"roberta", "run", `{"input":"some text","platform":"cpu"}`},
}

// poolLimit holds three of them: each reserves about 232 MB.
const poolLimit = 700_000_000

// TestIntegrationPool: 200 mixed requests to five models with room for three. No
// answer differs from the first one, the limit is never passed by what the processes
// really have, and nothing stays.
func TestIntegrationPool(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	cmd := p.command(t.Context(), "serve", "--json", "--pool-memory", "700MB", "--pool-requests", "3", "--pool-queue", "250")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said struct{ Dashboard string }
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	want := make([]string, len(pooled))
	for i := range pooled {
		if want[i], err = callModel(said.Dashboard, i); err != nil {
			t.Fatal(err)
		}
	}
	most, stop := watchMemory(cmd.Process.Pid)
	began := time.Now()
	var all sync.WaitGroup
	for n := range 200 {
		all.Go(func() {
			i := favourite(n)
			if got, err := callModel(said.Dashboard, i); err != nil || got != want[i] {
				t.Errorf("%s: %v %.200s", pooled[i].model, err, got)
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	stop()
	var status struct {
		UsedBytes int64 `json:"used_bytes"`
		InFlight  int   `json:"in_flight"`
		Models    []struct{ Key string }
		Counters  struct {
			PeakBytes int64 `json:"peak_bytes"`
			Evictions int
			Failed    int
		}
	}
	getJSON(t, said.Dashboard+"v1/pool", &status)
	t.Logf("200 requests in %.1f s, %d evictions, at most %.0f of %.0f MB by its count and %.0f by the processes' own", took.Seconds(), status.Counters.Evictions,
		float64(status.Counters.PeakBytes)/1e6, poolLimit/1e6, float64(*most)/1e6)
	if *most > poolLimit || status.Counters.PeakBytes > poolLimit || status.UsedBytes > poolLimit {
		t.Errorf("the limit of %d was passed: processes had %d, %+v", poolLimit, *most, status)
	}
	if runtime.GOOS == "linux" && *most == 0 || status.Counters.Evictions == 0 || status.Counters.Failed != 0 || status.InFlight != 0 {
		t.Errorf("processes had %d, %+v", *most, status)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
	if left := descendants(cmd.Process.Pid, 1); len(left) > 0 {
		t.Errorf("processes stay: %v", left)
	}
}

// favourite draws a model, the first ones more often.
func favourite(n int) int {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	return min(len(pooled)-1, int(r.ExpFloat64()*1.5))
}

// callModel is the output of a model.
func callModel(server string, i int) (string, error) {
	c := pooled[i]
	r, err := http.Post(server+"v1/models/"+c.model+"/"+c.op, "application/json", strings.NewReader(c.body))
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s %w", r.Status, text, err)
	}
	var answer struct{ Output json.RawMessage }
	err = json.Unmarshal(text, &answer)
	return string(answer.Output), err
}

// TestIntegrationServedModel: whoever asks for a model that nobody asked for is answered soon, and has its facts later.
func TestIntegrationServedModel(t *testing.T) {
	t.Parallel()
	p, _ := withTorch(t)
	base := p.dashboard(t)
	var page struct {
		Facts    *struct{ Checkpoint string }
		NoFacts  string `json:"no_facts"`
		Deriving bool
	}
	began := time.Now()
	getJSON(t, base+"/v1/models/openai%2Fwhisper-tiny", &page)
	if took := time.Since(began); took > 20*time.Second || page.Facts == nil && !page.Deriving {
		t.Errorf("after %v: %+v", took, page)
	}
	for end := began.Add(10 * time.Minute); page.Facts == nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no facts: %+v", page)
		}
		getJSON(t, base+"/v1/models/openai%2Fwhisper-tiny", &page)
	}
	if page.Facts.Checkpoint != "openai/whisper-tiny" {
		t.Errorf("facts of %+v", page.Facts)
	}
}

func getJSON(t *testing.T, url string, into any) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// watchMemory notes the most that a server's children hold for themselves at once.
func watchMemory(server int) (*int64, func()) {
	most, end, done := new(int64), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			var sum int64
			for _, pid := range descendants(server, 3) { // below the keeper and the zygote
				sum += ownBytes(pid)
			}
			*most = max(*most, sum)
			select {
			case <-end:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return most, func() { close(end); <-done }
}

// descendants are the processes at least so many generations below one; none where
// the system has no /proc.
func descendants(of, depth int) []int {
	parents := map[int]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if len(fields) > 1 {
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	var out []int
	for pid := range parents {
		generations := 0
		for at := pid; at > 1 && at != of && generations < 20; at = parents[at] {
			generations++
			if parents[at] == of && generations >= depth {
				out = append(out, pid)
			}
		}
	}
	return out
}

func ownBytes(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	var sum int64
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "Private_") && f[0] != "Private_Hugetlb:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64)
			sum += kib << 10
		}
	}
	return sum
}
