package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// runServe asks assay serve for its overview at a steady rate, then has viewers watch
// a run of no-ops, and prints how long answers and events took.
func runServe(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	f := flag.NewFlagSet("serve", flag.ContinueOnError)
	f.SetOutput(stderr)
	program := f.String("assay", "bin/assay", "the program")
	rate := f.Int("rate", 1000, "requests a second")
	seconds := f.Int("seconds", 10, "how long")
	viewers := f.Int("viewers", 50, "who watch a run")
	if err := f.Parse(args); err != nil {
		return err
	}
	url, stop, err := startServer(ctx, *program, f.Args(), stderr)
	if err != nil {
		return err
	}
	defer stop()
	took, failed, err := hammer(ctx, url+"v1/overview", *rate, *seconds)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "overview: %d requests at %d/s, %d failed: median %s, p99 %s, most %s\n",
		len(took), *rate, failed, at(took, 0.5), at(took, 0.99), at(took, 1))
	late, err := watchers(ctx, url, *viewers)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "events: %d seen by %d viewers: median %s, p99 %s, most %s after they happened\n", len(late), *viewers, at(late, 0.5), at(late, 0.99), at(late, 1))
	return nil
}

// startServer starts the program and returns its address.
func startServer(ctx context.Context, program string, more []string, stderr io.Writer) (string, func(), error) {
	cmd := exec.CommandContext(ctx, program, append([]string{"serve", "--json"}, more...)...)
	cmd.Stderr = stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, err
	}
	stop := func() {
		_ = cmd.Process.Signal(os.Interrupt) // one that is gone is what is wanted
		_ = cmd.Wait()
	}
	var said struct{ Dashboard string }
	if err := json.NewDecoder(out).Decode(&said); err != nil {
		stop()
		return "", nil, fmt.Errorf("%s serve printed no address: %w", program, err)
	}
	return said.Dashboard, stop, nil
}

// hammer asks at a steady rate, whatever answers take: each time counts from the
// moment at which the request was due.
func hammer(ctx context.Context, url string, rate, seconds int) ([]time.Duration, int, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, MaxConnsPerHost: 256}, Timeout: 30 * time.Second}
	if err := answered(ctx, client, url); err != nil { // the first one reads all results
		return nil, 0, err
	}
	n := rate * seconds
	took, errs := make([]time.Duration, n), make([]error, n)
	began := time.Now()
	var all sync.WaitGroup
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		all.Go(func() {
			errs[i] = answered(ctx, client, url)
			took[i] = time.Since(due)
		})
	}
	all.Wait()
	failed := 0
	for _, err := range errs {
		if err != nil {
			failed++
		}
	}
	return took, failed, ctx.Err()
}

// answered asks and reads the answer.
func answered(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return err
}

// watched is how many no-ops the viewers see run.
const watched = 200

// watchers start a run of no-ops and have viewers watch it: how long after it happened
// each of them heard of each event.
func watchers(ctx context.Context, url string, viewers int) ([]time.Duration, error) {
	cells := make([]string, watched)
	for i := range cells {
		cells[i] = fmt.Sprintf(`{"type":"noop","engine":"noop","seed":%d}`, i)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"v1/runs", strings.NewReader(`{"cells":[`+strings.Join(cells, ",")+`]}`))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var begun struct{ ID, Detail string }
	if err := json.NewDecoder(answer.Body).Decode(&begun); err != nil || begun.ID == "" {
		return nil, fmt.Errorf("the run was not begun: %s %w", begun.Detail, err)
	}
	var mu sync.Mutex
	var late []time.Duration
	errs := make([]error, viewers)
	var all sync.WaitGroup
	for i := range viewers {
		all.Go(func() {
			var mine []time.Duration
			mine, errs[i] = follow(ctx, url+"v1/runs/"+begun.ID+"/events")
			mu.Lock()
			late = append(late, mine...)
			mu.Unlock()
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return late, nil
}

// follow reads events until the run ends. What happened before the viewer came does
// not count.
func follow(ctx context.Context, url string) ([]time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	came := time.Now()
	answer, err := (&http.Client{Transport: &http.Transport{}}).Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var late []time.Duration
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct{ At time.Time }
		if json.Unmarshal([]byte(text), &e) == nil && e.At.After(came) {
			late = append(late, time.Since(e.At))
		}
	}
	return late, lines.Err()
}

// at is a quantile of times.
func at(list []time.Duration, q float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Round(10 * time.Microsecond)
}
