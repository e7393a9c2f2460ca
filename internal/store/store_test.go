//go:build cgo

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/cell"
	"assay/internal/filelock"
	"assay/internal/journal"
)

func TestHardwareResults(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s, "run-1", result(0), unavailable(), fellBack(), failed(cell.OutOfMemory))
	want := `id,model_id,model_type,hardware,success,load_time,inference_time,memory_usage,error,timestamp,output_shape,evidence,verdict,requested,size,weights,dtype,batch,mode,host,imported
run-1.1,bert,bert,cpu,true,0.01275,0.0015,60,,2026-11-15T04:30:00Z,"[1, 16, 256]",measured,works,cpu,tiny,random,fp32,1,infer,h-1,false
run-1.2,vit,vit,cuda,false,,,,,2026-11-15T05:30:00Z,,none,unavailable,cuda,tiny,random,fp32,1,infer,h-1,false
run-1.3,vit,vit,cpu,true,0.01275,,60,,2026-11-15T05:30:01Z,"[1, 16, 256]",measured,works,cuda,tiny,random,fp32,1,infer,h-1,false
run-1.4,clip,clip,cpu,false,,,,out-of-memory: killed,2026-11-15T06:30:00Z,,measured,fails,cpu,tiny,random,fp32,1,infer,h-1,false
`
	if d := cmp.Diff(want, answer(t, s, "SELECT * FROM hardware_results ORDER BY id")); d != "" {
		t.Error(d)
	}
}

// What nothing ran is not a success, and no time is one of inference.
func TestEvidenceInTheView(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var results []cell.Result
	for _, e := range []cell.Evidence{cell.Measured, cell.Emulated, cell.Compiled, cell.Derived, cell.Predicted} {
		r := result(len(results))
		r.Evidence = e
		results = append(results, r)
	}
	write(t, s, "run-1", results...)
	want := "evidence,success,inference_time\nmeasured,true,0.0015\nemulated,true,\ncompiled,,\nderived,,\npredicted,,\n"
	if d := cmp.Diff(want, answer(t, s, "SELECT evidence, success, inference_time FROM hardware_results ORDER BY timestamp")); d != "" {
		t.Error(d)
	}
}

func TestHardwareDetection(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	writeDetection(t, s, "run-1")
	want := `id,hardware_type,available,name,features,timestamp,imported
run-1.1.cpu.0,cpu,true,AMD EPYC 9B14,"[""avx2"",""fma""]",2026-11-15T04:30:00Z,false
run-1.1.cuda.0,cuda,false,,,2026-11-15T04:30:00Z,false
run-1.1.qnn.0,qnn,false,HTP emulator,[],2026-11-15T04:30:00Z,false
run-1.1.webgpu.0,webgpu,false,,,2026-11-15T04:30:00Z,false
`
	if d := cmp.Diff(want, answer(t, s, "FROM hardware_detection ORDER BY id")); d != "" {
		t.Error(d)
	}
}

// What was imported is never a host's own, though it bears its id.
func TestImportedIsNoHostsOwn(t *testing.T) {
	t.Parallel()
	s, far := newStore(t), newStore(t)
	write(t, s, "run-1", result(0))
	write(t, far, "run-2", result(1))
	if _, err := journal.Import(t.Context(), journal.Path(far.Journals(), "run-2"), s.Journals(), journal.Here{}); err != nil {
		t.Fatal(err)
	}
	want := "id,host,imported\nrun-1.1,h-1,false\nrun-2.1,imported:h-1,true\n"
	if d := cmp.Diff(want, answer(t, s, "SELECT id, host, imported FROM hardware_results ORDER BY id")); d != "" {
		t.Error(d)
	}
	own, err := s.Results(t.Context(), Filter{Hosts: []string{"h-1"}})
	must(t, err)
	if len(own) != 1 || own[0].ID != "run-1.1" {
		t.Errorf("the host's own are %v: want what it ran alone", own)
	}
	hosts, err := s.Hosts(t.Context())
	must(t, err)
	if len(hosts) != 2 || hosts[0].ID != "h-1" || hosts[1].ID != "imported:h-1" {
		t.Errorf("hosts are %v", hosts)
	}
}

// A store is empty until there is a database or a journal, and asking makes neither.
func TestEmpty(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for range 2 {
		if empty, err := s.Empty(); err != nil || !empty {
			t.Fatalf("%v, %v: want an empty store", empty, err)
		}
	}
	write(t, s, "run-1", result(0))
	if empty, err := s.Empty(); err != nil || empty {
		t.Errorf("%v, %v: a journal is there", empty, err)
	}
	_, err := s.Sync(t.Context())
	must(t, err)
	must(t, os.RemoveAll(s.Journals()))
	if empty, err := s.Empty(); err != nil || empty {
		t.Errorf("%v, %v: a database is there", empty, err)
	}
}

func TestOtherTables(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s, "run-1", result(0))
	for query, want := range map[string]string{
		"FROM samples": "result_id,repeat,iteration,ms,device_ms\nrun-1.1,1,1,1.25,\nrun-1.1,1,2,1.5,\nrun-1.1,1,3,2,\nrun-1.1,2,1,0.1,\nrun-1.1,2,2,1e-9,\n",
		"FROM outputs": "result_id,position,name,shape,dtype\nrun-1.1,1,logits,\"[1,16,256]\",float32\nrun-1.1,2,pooled,\"[1,64]\",float32\n",
		"SELECT phase, ms FROM phases ORDER BY phase":                                          "phase,ms\nbuild,12.5\nfirst,3\nimport,4000\nto_device,0.25\nwarmup,9\n",
		"SELECT id, cpu, cores, memory_bytes, devices, seen_at FROM hosts":                     "id,cpu,cores,memory_bytes,devices,seen_at\nh-1,AMD EPYC 9B14,2,8589934592,\"[\"\"NVIDIA H200\"\"]\",2026-11-15T04:30:00Z\n",
		"SELECT id, ended, plan FROM runs":                                                     "id,ended,plan\nrun-1,true,\n",
		"SELECT result->>'$.context.versions.torch' AS v, versions['torch'] AS w FROM results": "v,w\n2.15.0,2.15.0\n",
		"SELECT count(*) AS n FROM results WHERE model = ? AND batch = ?":                      "n\n0\n",
	} {
		var args []any
		if strings.Contains(query, "?") {
			args = []any{"bert", 7}
		}
		if d := cmp.Diff(want, answer(t, s, query, args...)); d != "" {
			t.Errorf("%s: %s", query, d)
		}
	}
}

func TestOnlyWhatIsNewIsLoaded(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	w, err := journal.Create(s.Journals(), header("run-1"))
	must(t, err)
	defer w.Close()
	for n := range 4 {
		_, err := w.Append(result(n))
		must(t, err)
		done, err := s.Sync(t.Context())
		must(t, err)
		if d := cmp.Diff(Synced{Journals: 1, Results: 1}, done); d != "" {
			t.Error(d)
		}
		if got := answer(t, s, "SELECT count(*) AS n FROM results"); got != fmt.Sprintf("n\n%d\n", n+1) {
			t.Errorf("after %d results there are %s", n+1, got)
		}
	}
	if done, err := s.Sync(t.Context()); err != nil || done.Journals != 0 {
		t.Errorf("a sync with nothing new gave %+v %v", done, err)
	}
	if got := answer(t, s, "SELECT ended FROM runs"); got != "ended\nfalse\n" {
		t.Errorf("a run under way is %s", got)
	}
}

// Whatever happens to the journals between syncs, the database is what a
// rebuild makes of them.
func TestRebuildMakesTheSame(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	file := func(id string) string { return journal.Path(s.Journals(), id) }
	add := func(path, text string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
		must(t, err)
		_, err = f.WriteString(text)
		must(t, errors.Join(err, f.Close()))
	}
	for i, step := range []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}},
		{"runs", func() {
			write(t, s, "a", result(0), fellBack())
			write(t, s, "b", result(1))
			writeDetection(t, s, "d")
		}},
		{"growth", func() {
			add(file("a"), `{"kind":"result","id":"a.9","result":{"cell":{"type":"t5"},"verdict":"works","evidence":"measured","new_field":[1]}}`+"\n")
		}},
		{"a broken line", func() { add(file("a"), "garbage\n") }},
		{"an id twice", func() {
			add(file("a"), `{"kind":"result","id":"a.1","result":{"cell":{"type":"t5"},"verdict":"works","evidence":"measured"}}`+"\n")
		}},
		{"a torn line", func() { add(file("b"), `{"kind":"resu`) }},
		{"its end", func() {
			add(file("b"), `lt","id":"b.7","result":{"cell":{"type":"t5"},"verdict":"works","evidence":"measured"}}`+"\n")
		}},
		{"a foreign file", func() { add(filepath.Join(s.Journals(), "foreign.jsonl"), "hello\n") }},
		{"a copied journal", func() { add(filepath.Join(s.Journals(), "copy.jsonl"), readFile(t, file("a"))) }},
		{"a journal of a newer version", func() { add(file("n"), `{"schema":9,"kind":"run"}`+"\n") }},
		{"a header under way", func() { add(file("h"), `{"schema":1,"ki`) }},
		{"bad detection", func() { add(file("d"), `{"kind":"detection","id":"d.8","detection":{"platforms":3}}`+"\n") }},
		{"a replaced journal", func() {
			must(t, os.Remove(file("a")))
			_, err := s.Sync(t.Context()) // while it is there, one that lacks lines is damaged
			must(t, err)
			write(t, s, "a", result(3), result(4), result(5), result(6))
		}},
		{"a journal gone", func() { must(t, os.Remove(file("b"))) }},
		{"a foreign file repaired", func() { must(t, os.Remove(file("n"))); write(t, s, "n", result(0)) }},
	} {
		step.do()
		_, err := s.Sync(t.Context())
		must(t, err)
		if i%3 != 2 { // what a step did wrong would still be there
			continue
		}
		before := dump(t, s)
		_, err = s.Rebuild(t.Context())
		must(t, err)
		if d := cmp.Diff(before, dump(t, s)); d != "" {
			t.Fatalf("after %s, a rebuild differs:\n%s", step.name, d)
		}
	}
	want := "file,line\ncopy.jsonl,\nd.jsonl,3\nforeign.jsonl,\n"
	if d := cmp.Diff(want, answer(t, s, "SELECT file, line FROM problems ORDER BY file")); d != "" {
		t.Error(d)
	}
	if left, err := filepath.Glob(s.Path() + ".*"); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

func TestSyncReportsProblems(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s, "a", result(0))
	path := journal.Path(s.Journals(), "a")
	must(t, os.WriteFile(path, []byte(readFile(t, path)+"garbage\n"), 0o644))
	rows, err := s.Query(t.Context(), "SELECT 1")
	must(t, err)
	if len(rows.Notes) != 1 || !strings.HasPrefix(rows.Notes[0], "skipped: "+path+":4: ") {
		t.Errorf("notes are %q", rows.Notes)
	}
}

func TestBrokenDatabases(t *testing.T) {
	t.Parallel()
	whole := func(t *testing.T) string {
		s := newStore(t)
		write(t, s, "a", result(0))
		_, err := s.Sync(t.Context())
		must(t, err)
		return readFile(t, s.Path())
	}(t)
	for name, bytes := range map[string]string{
		"headed":    "01234567DUCK, and then something else\n",
		"cut":       whole[:5000],
		"scrambled": whole[:12288] + strings.Repeat("\xa5", len(whole)-12288),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			write(t, s, "a", result(0))
			must(t, os.WriteFile(s.Path(), []byte(bytes), 0o644))
			useless := (*BrokenError)(nil)
			if _, err := s.Query(t.Context(), "FROM results"); !errors.As(err, &useless) || !strings.Contains(err.Error(), "run `assay db rebuild`") {
				t.Fatalf("Query gave %v", err)
			}
			if exists(s.lockPath()) {
				t.Error("a lock was made beside a file whose owner cannot be read")
			}
			if _, err := s.Sync(t.Context()); !errors.As(err, &useless) {
				t.Errorf("Sync gave %v", err)
			}
			if readFile(t, s.Path()) != bytes {
				t.Error("the file was changed")
			}
			done, err := s.Rebuild(t.Context())
			must(t, err)
			if !strings.HasPrefix(done.Aside, s.Path()+".broken-") || readFile(t, done.Aside) != bytes {
				t.Errorf("the broken file was not kept: %+v", done)
			}
			if got := answer(t, s, "SELECT id FROM results"); got != "id\na.1\n" {
				t.Errorf("after the rebuild: %s", got)
			}
		})
	}
}

// foreign makes a database that is not one of this version.
func foreign(t *testing.T, s *Store, statements string) {
	t.Helper()
	ses, err := s.open(t.Context(), s.Path(), writing())
	must(t, err)
	must(t, ses.exec(t.Context(), statements))
	must(t, ses.Close())
}

func TestForeignAndNewerDatabases(t *testing.T) {
	t.Parallel()
	for statements, broken := range map[string]bool{
		"CREATE TABLE cats (name VARCHAR)":                                                      true,
		"CREATE TABLE schema_version (version INTEGER)":                                         true,
		"CREATE TABLE schema_version (application VARCHAR, version INTEGER, migration VARCHAR)": true,
		"CREATE TABLE schema_version (application VARCHAR, version INTEGER, migration VARCHAR); INSERT INTO schema_version VALUES ('assay', 99, 'x')": false,
	} {
		s := newStore(t)
		foreign(t, s, statements)
		before := readFile(t, s.Path())
		if _, err := s.Rebuild(t.Context()); err == nil || readFile(t, s.Path()) != before {
			t.Errorf("%s: without a journal the file must stay as it is: %v", statements, err)
		}
		write(t, s, "a", result(0))
		useless, newer := (*BrokenError)(nil), (*NewerError)(nil)
		for range 2 {
			if _, err := s.Query(t.Context(), "SELECT 1"); errors.As(err, &useless) != broken || errors.As(err, &newer) == broken {
				t.Errorf("%s: %v", statements, err)
			}
		}
		if _, err := s.Sync(t.Context()); errors.As(err, &useless) != broken || errors.As(err, &newer) == broken {
			t.Errorf("%s: %v", statements, err)
		}
		done, err := s.Rebuild(t.Context())
		if broken != (err == nil) || broken != (done.Aside != "") {
			t.Errorf("%s: rebuild gave %+v %v", statements, done, err)
		}
		if !broken && readFile(t, s.Path()) != before {
			t.Error("a newer database was changed")
		}
		if newer != nil && !strings.Contains(newer.Error(), "was made by a newer Assay") {
			t.Error(newer)
		}
	}
}

func TestPathsTheDriverCannotTake(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"a?b", "a#b", "a%zz"} {
		if _, err := Open(path, "j"); err == nil {
			t.Errorf("%s was taken", path)
		}
	}
	dir := filepath.Join(t.TempDir(), "ein Ordner: ä & 'b'")
	s, err := Open(filepath.Join(dir, "x.db"), filepath.Join(dir, "j"))
	must(t, err)
	write(t, s, "a", result(0))
	if got := answer(t, s, "SELECT count(*) AS n FROM results"); got != "n\n1\n" {
		t.Error(got)
	}
}

// A reader that does not let go keeps no question from being answered.
func TestBusy(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	write(t, s, "a", result(0))
	_, err := s.Sync(t.Context())
	must(t, err)
	held, err := filelock.Wait(t.Context(), s.lockPath(), filelock.Shared, 0, nil)
	must(t, err)
	defer held.Close()
	write(t, s, "b", result(1))
	told := ""
	s.Wait, s.Waiting = 30*time.Millisecond, func(m string) { told = m }
	rows, err := s.Query(t.Context(), "SELECT count(*) FROM results")
	must(t, err)
	if fmt.Sprint(rows.Values) != "[[1]]" || len(rows.Notes) != 1 || !strings.Contains(told, "waiting for another assay") {
		t.Errorf("%v %q %q", rows.Values, rows.Notes, told)
	}
	busy := (*BusyError)(nil)
	if _, err := s.Sync(t.Context()); !errors.As(err, &busy) {
		t.Errorf("Sync gave %v", err)
	}
}
