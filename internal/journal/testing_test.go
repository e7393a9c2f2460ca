package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/cell"
)

var start = time.Date(2026, 11, 15, 4, 30, 0, 0, time.UTC)

func header(id string) Header {
	return Header{
		Schema: Schema,
		Run:    cell.Run{ID: id, StartedAt: start, PlanHash: "0123456789abcdef", Command: "test", Assay: "0.1.0"},
		Host:   cell.Host{ID: "h-1", OS: "linux", Arch: "amd64", CPU: "AMD EPYC 9B14", Cores: 2, MemoryBytes: 8 << 30},
	}
}

// result is the n-th of a run: a real value of the type, small.
func result(n int) cell.Result {
	c := cell.Cell{Type: "bert", Batch: n + 1}.Normal()
	s := cell.SettingsOf(c)
	return cell.Result{
		Cell: c, Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Quick, Requested: s, Actual: &s,
		Note:     "a < b & c",
		Outputs:  []cell.Output{{Name: "logits", Shape: []int{n + 1, 16, 256}, DType: "float32"}},
		PhasesMS: map[string]float64{"build": 12.5, "to_device": 0.25},
		Latency:  &cell.Latency{Repeats: 1, N: 3, MedianMS: 1.5, SamplesMS: [][]float64{{1.25, 1.5, 2}}},
		Attempts: 1, StartedAt: start.Add(time.Duration(n) * time.Second),
	}
}

const detection = `{"schema":1,"platforms":[{"platform":"cpu","status":"present","devices":[{"id":"","name":"AMD EPYC 9B14","features":["avx2"]}]}]}`

// write makes a finished journal with n results and a detection.
func write(t testing.TB, dir, id string, n int) string {
	t.Helper()
	w, err := Create(dir, header(id))
	must(t, err)
	_, err = w.AppendDetection(start, json.RawMessage(detection))
	must(t, err)
	for i := range n {
		_, err := w.Append(result(i))
		must(t, err)
	}
	must(t, w.End())
	must(t, w.Close())
	return w.Path()
}

// read returns all good lines and the problems.
func read(t testing.TB, path string) ([]Line, []Problem) {
	t.Helper()
	lines, problems, err := readAll(path)
	must(t, err)
	return lines, problems
}

func readAll(path string) ([]Line, []Problem, error) {
	r, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	lines, err := rest(r)
	return lines, r.Problems(), err
}

func rest(r *Reader) ([]Line, error) {
	var lines []Line
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
}

func ids(lines []Line) []string {
	var out []string
	for _, l := range lines {
		out = append(out, fmt.Sprintf("%s %s", l.Kind, l.ID))
	}
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func bytesOf(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}

func put(t testing.TB, dir, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.WriteFile(path, b, 0o644))
	return path
}
