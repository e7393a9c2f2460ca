package lab

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/platform"

	"pgregory.net/rapid"
)

// Whatever is asked for, no limit is ever exceeded except by a job that is
// larger than everything and then runs alone.
func TestAdmissionKeepsItsLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := NewAdmission(rapid.IntRange(1, 4).Draw(t, "workers"))
		s.learn(func() int64 { return 100 }, map[string]int64{"gpu:0": 50})
		var held []need
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "release") {
				s.release(held[0])
				held = held[1:]
				continue
			}
			n := need{
				silicon:     rapid.SampledFrom([]string{"cpu", "gpu:0"}).Draw(t, "silicon"),
				alone:       rapid.Bool().Draw(t, "alone"),
				hostBytes:   rapid.Int64Range(0, 150).Draw(t, "host"),
				deviceBytes: rapid.Int64Range(0, 80).Draw(t, "device"),
			}
			if !s.fits(n) {
				continue
			}
			s.take(n, 1)
			held = append(held, n)
			if len(held) == 1 {
				continue
			}
			if len(held) > s.workers || s.usedHost > 100 || n.silicon == "gpu:0" && s.usedDevice["gpu:0"] > 50 {
				t.Fatalf("%d jobs hold %d host and %d device bytes", len(held), s.usedHost, s.usedDevice["gpu:0"])
			}
			for _, h := range held {
				if h.alone {
					t.Fatalf("a timed job shares the host with %d others", len(held)-1)
				}
			}
		}
	})
}

func TestATimedJobWaitsForSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewAdmission(2)
		release, err := s.acquire(t.Context(), need{silicon: "cpu"})
		if err != nil {
			t.Fatal(err)
		}
		var alone atomic.Bool
		go func() {
			free, err := s.acquire(t.Context(), need{silicon: "cpu", alone: true})
			if err == nil {
				alone.Store(true)
				free()
			}
		}()
		synctest.Wait()
		if alone.Load() {
			t.Fatal("the timed job began beside a functional one")
		}
		release()
		release() // releasing twice must not free a slot twice
		synctest.Wait()
		if !alone.Load() {
			t.Fatal("the timed job never began")
		}
		if s.running != 0 {
			t.Fatalf("%d jobs are still counted", s.running)
		}
	})
}

func TestWaitingCanBeCancelled(t *testing.T) {
	t.Parallel()
	s := NewAdmission(1)
	if _, err := s.acquire(t.Context(), need{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.acquire(ctx, need{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
}

func TestSilicon(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"cpu": "cpu", "cpu/onnxruntime": "cpu", "openvino": "cpu", "openvino:NPU": "intel:NPU", "webnn": "cpu",
		"cuda": "gpu:0", "cuda:1": "gpu:1", "rocm": "gpu:0",
	} {
		x, err := platform.ParseTarget(target)
		if err != nil {
			t.Fatal(err)
		}
		if got := silicon(x, false); got != want {
			t.Errorf("%s occupies %s, want %s", target, got, want)
		}
	}
	if got := silicon(platform.Target{Platform: platform.QNN}, true); got != "cpu" {
		t.Errorf("the QNN emulator occupies %s, want cpu", got)
	}
}
