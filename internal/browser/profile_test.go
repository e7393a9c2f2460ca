package browser

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"assay/internal/filelock"
)

// TestAProfileIsNotSweptAwayWhileItIsMade: sweeps of other processes come at any
// time, and no profile that is in use is touched by them. It runs by itself:
// what it sweeps at, other tests sweep too.
func TestAProfileIsNotSweptAwayWhileItIsMade(t *testing.T) {
	var done atomic.Bool
	var sweeps sync.WaitGroup
	for range 2 {
		sweeps.Go(func() {
			for !done.Load() {
				sweepProfiles()
			}
		})
	}
	for range 200 {
		p, err := newProfile()
		if err != nil {
			t.Fatal(err)
		}
		if !inPlace(p.lock) {
			t.Errorf("the lock %s is not in its place", p.lock.Name())
		}
		if info, err := os.Stat(p.temp()); err != nil || !info.IsDir() {
			t.Errorf("the profile is not whole: %v", err)
		}
		if err := p.remove(); err != nil {
			t.Error(err)
		}
	}
	done.Store(true)
	sweeps.Wait()
}

func TestInPlace(t *testing.T) {
	t.Parallel()
	f, err := os.CreateTemp(t.TempDir(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := filelock.Try(f, filelock.Exclusive); err != nil || !inPlace(f) {
		t.Errorf("a file that was just made: %v", err)
	}
	if err := os.Remove(f.Name()); err != nil || inPlace(f) {
		t.Errorf("a file without a name is in its place (%v)", err)
	}
	if other, err := os.Create(f.Name()); err != nil || inPlace(f) || other.Close() != nil {
		t.Errorf("another file of the name stands for it (%v)", err)
	}
}
