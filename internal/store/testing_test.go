//go:build cgo

package store

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/cell"
	"assay/internal/journal"
)

var start = time.Date(2026, 11, 15, 4, 30, 0, 0, time.UTC)

func header(id string) journal.Header {
	return journal.Header{
		Run: cell.Run{ID: id, StartedAt: start, PlanHash: "0123456789abcdef", Command: "test", Assay: "0.1.0"},
		Host: cell.Host{ID: "h-1", OS: "linux", Arch: "amd64", CPU: "AMD EPYC 9B14", Cores: 2, MemoryBytes: 8 << 30,
			Devices: []string{"NVIDIA H200"}},
	}
}

func ptr[T any](v T) *T { return &v }

// result is the n-th of a run: a real value of the type, small.
func result(n int) cell.Result {
	c := cell.Cell{Type: "bert", Family: "encoder-only", Batch: n + 1}.Normal()
	s := cell.SettingsOf(c)
	return cell.Result{
		Cell: c, Verdict: cell.Works, Evidence: cell.Measured, Timing: cell.Quick, Requested: s, Actual: &s,
		Outputs: []cell.Output{
			{Name: "logits", Shape: []int{n + 1, 16, 256}, DType: "float32"},
			{Name: "pooled", Shape: []int{n + 1, 64}, DType: "float32"},
		},
		PhasesMS: map[string]float64{"import": 4000, "build": 12.5, "to_device": 0.25, "first": 3, "warmup": 9},
		Latency:  &cell.Latency{Repeats: 2, N: 5, MedianMS: 1.5, MinMS: 1.25, MaxMS: 2, SamplesMS: [][]float64{{1.25, 1.5, 2}, {0.1, 1e-9}}},
		Memory:   &cell.Memory{HostBaselineBytes: ptr(int64(440e6)), HostPeakBytes: ptr(int64(500e6))},
		Attempts: 1, StartedAt: start.Add(time.Duration(n) * time.Second),
		Context: cell.Context{Versions: map[string]string{"torch": "2.15.0", "transformers": "5.22.2"}},
	}
}

// unavailable is what was asked of cuda where there is none.
func unavailable() cell.Result {
	c := cell.Cell{Type: "vit", Target: "cuda"}.Normal()
	return cell.Result{Cell: c, Verdict: cell.Unavailable, Evidence: cell.None, Timing: cell.Functional,
		Requested: cell.SettingsOf(c), Fallback: &cell.Fallback{To: "cpu", Reason: "no NVIDIA device was found"},
		Attempts: 1, StartedAt: start.Add(time.Hour)}
}

// fellBack is the other result of the same fallback: functional, so not timed.
func fellBack() cell.Result {
	c := cell.Cell{Type: "vit", Target: "cpu"}.Normal()
	r := result(0)
	r.Cell, r.Timing = c, cell.Functional
	r.Requested, r.Actual = cell.SettingsOf(c), ptr(cell.SettingsOf(c))
	r.Fallback = &cell.Fallback{From: "cuda", Reason: "no NVIDIA device was found"}
	r.StartedAt = start.Add(time.Hour + time.Second)
	return r
}

func failed(class cell.FailureClass) cell.Result {
	c := cell.Cell{Type: "clip"}.Normal()
	return cell.Result{Cell: c, Verdict: cell.Fails, Evidence: cell.Measured, Timing: cell.Functional, Requested: cell.SettingsOf(c),
		Failure:  &cell.Failure{Class: class, Detail: "killed", Hint: "try a smaller batch", Log: "a\nb"},
		Attempts: 1, StartedAt: start.Add(2 * time.Hour), Context: cell.Context{Versions: map[string]string{"torch": "2.15.0"}}}
}

const detection = `{"schema":1,"platforms":[
{"platform":"cpu","status":"present","engine":{"name":"torch","version":"2.15.0"},"devices":[{"id":"","name":"AMD EPYC 9B14","memory_bytes":8589934592,"features":["avx2","fma"],"software":false}],"hint":""},
{"platform":"cuda","status":"absent","engine":null,"devices":[],"hint":"no NVIDIA device"},
{"platform":"qnn","status":"present","engine":{"name":"qnn","version":"2.7.0"},"devices":[{"id":"sm8650","name":"HTP emulator","memory_bytes":null,"features":[],"software":true}],"hint":""},
{"platform":"webgpu","status":"unknown","engine":null,"devices":[],"hint":""}]}`

func newStore(t testing.TB) *Store {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(filepath.Join(dir, "assay.duckdb"), filepath.Join(dir, "journals"))
	must(t, err)
	return s
}

// write makes a finished journal.
func write(t testing.TB, s *Store, id string, results ...cell.Result) {
	t.Helper()
	w, err := journal.Create(s.Journals(), header(id))
	must(t, err)
	for _, r := range results {
		_, err := w.Append(r)
		must(t, err)
	}
	must(t, w.End())
	must(t, w.Close())
}

func writeDetection(t testing.TB, s *Store, id string) {
	t.Helper()
	w, err := journal.Create(s.Journals(), header(id))
	must(t, err)
	_, err = w.AppendDetection(start, json.RawMessage(detection))
	must(t, err)
	must(t, w.Close())
}

// answer is what a question gives, as text that is easy to compare.
func answer(t testing.TB, s *Store, query string, args ...any) string {
	t.Helper()
	rows, err := s.Query(t.Context(), query, args...)
	must(t, err)
	var b bytes.Buffer
	must(t, rows.WriteCSV(&b))
	return b.String()
}

// dump is all that the database holds, without syncing it.
func dump(t testing.TB, s *Store) map[string]string {
	t.Helper()
	ses, err := s.open(t.Context(), s.Path(), reading())
	must(t, err)
	defer ses.Close()
	names, err := ses.query(t.Context(), "SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() WHERE NOT internal")
	must(t, err)
	out := map[string]string{}
	for _, n := range names.Values {
		rows, err := ses.query(t.Context(), "SELECT * FROM "+n[0].(string)+" ORDER BY ALL")
		must(t, err)
		var b bytes.Buffer
		must(t, rows.WriteCSV(&b))
		out[n[0].(string)] = b.String()
	}
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
