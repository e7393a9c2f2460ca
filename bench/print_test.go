package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/cell"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func document() Document {
	load := 0.25
	return Document{
		Schema: 1,
		Machine: Machine{
			At: time.Date(2026, 11, 15, 5, 0, 0, 0, time.UTC), LoadBefore: &load, Seed: 1, Quick: true,
			Host:     cell.Host{OS: "linux", Arch: "amd64", Kernel: "6.18", CPU: "A CPU", Cores: 2, MemoryBytes: 24 << 30},
			Versions: map[string]string{"torch": "2.15.0", "go": "1.26.8"},
		},
		Rows: []Row{
			Row{Section: "sweep", Name: "sweep", Measured: "2400 cells", Value: "60 s", Bar: "≤ 120 s"}.judge(true, true),
			Row{Section: "bare", Name: "loop", Measured: "a|b", Value: "1.2", Bar: "≤ 1", Note: "a note"}.judge(false, true),
			Row{Section: "bare", Name: "witness", Value: "1.0", Bar: "≤ 1"}.judge(true, false),
		},
		Grids: []Grid{{Title: "A GPU", Head: []string{"model", "ms"}, Rows: [][]string{{"bert", "1.5"}}}},
	}
}

func TestPrinters(t *testing.T) {
	t.Parallel()
	for format, write := range printers {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := write(&b, document()); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "document."+format)
			if *update {
				if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestJSONReadsBack(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := printJSON(&b, document()); err != nil {
		t.Fatal(err)
	}
	var got Document
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(document(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
