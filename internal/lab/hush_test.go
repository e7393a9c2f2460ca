package lab

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestHush: on every system, company is welcome beside company and nobody
// beside one that times; whoever waits hears why and may give up.
func TestHush(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() // the lock is the system's: only time is the bubble's own
	synctest.Test(t, func(t *testing.T) {
		hush, told := Hush(dir), 0
		note := func(string) { told++ }
		first, err := hush(t.Context(), false, note)
		if err != nil {
			t.Fatal(err)
		}
		second, err := hush(t.Context(), false, note)
		if err != nil || told != 0 {
			t.Fatalf("company is kept out: %v, told %d times", err, told)
		}
		impatient, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := hush(impatient, true, note); !errors.Is(err, context.DeadlineExceeded) || told != 1 {
			t.Errorf("timing beside others: %v, told %d times", err, told)
		}
		first()
		time.AfterFunc(time.Second, second)
		alone, err := hush(t.Context(), true, note)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, alone)
		last, err := hush(t.Context(), false, note)
		if err != nil {
			t.Fatal(err)
		}
		last()
	})
}
