package environment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExplainCapturedLogs(t *testing.T) {
	t.Parallel()
	logs, err := filepath.Glob("testdata/explain/*.log")
	if err != nil || len(logs) < 10 {
		t.Fatalf("found %d logs (%v)", len(logs), err)
	}
	for _, path := range logs {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			head, log, _ := strings.Cut(string(text), "\n")
			want := Kind(strings.TrimPrefix(head, "kind: "))
			got := explain("installing", &failure{[]string{"pip", "install"}, errors.New("exit status 1"), log}, "/setup.log")
			if !IsKind(got, want) {
				t.Errorf("explain gave %v, want kind %s", got, want)
			}
			if !strings.Contains(got.Error(), "/setup.log") {
				t.Errorf("%q does not name the log", got)
			}
		})
	}
}

func TestExplainLeavesAlone(t *testing.T) {
	t.Parallel()
	known := &Error{Kind: NoSpace, Problem: "full"}
	for _, err := range []error{context.Canceled, known} {
		if got := explain("step", err, ""); !errors.Is(got, err) || IsKind(got, Failed) {
			t.Errorf("explain(%v) = %v, want it unchanged", err, got)
		}
	}
	if got := explain("step", errors.New("something odd"), ""); !IsKind(got, Failed) || !strings.Contains(got.Error(), "something odd") {
		t.Errorf("an unknown failure became %v", got)
	}
}
