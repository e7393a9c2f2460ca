package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"assay/internal/fleet"
	fleetworker "assay/internal/fleet/worker"
	"assay/internal/platform"
)

// The guest that was asked for by name runs the cell, also where another one is free, and has its target alone.
func TestTakeByName(t *testing.T) {
	t.Parallel()
	gpu, nn := platform.Target{Platform: platform.WebGPU, Browser: "chrome"}.Normal(), platform.Target{Platform: platform.WebNN, Browser: "chrome"}.Normal()
	l := newLodge(nil, nil, func(string) {})
	l.guests = []*lodger{{name: "lab-1", offers: []fleet.Offer{{Target: gpu}}}, {name: "lab-2", offers: []fleet.Offer{{Target: gpu}, {Target: nn}}}}
	for _, c := range []struct {
		target platform.Target
		guest  string
		want   string
	}{{gpu, "", "lab-1"}, {gpu, "lab-2", "lab-2"}, {nn, "", "lab-2"}, {nn, "lab-1", "lab-1"}} {
		g, err := l.take(t.Context(), c.target, c.guest)
		if err != nil || g.name != c.want {
			t.Fatalf("%s, guest %q: %v, %+v", c.target, c.guest, err, g)
		}
		l.free(g)
	}
	if _, err := l.take(t.Context(), gpu, "lab-2"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if g, err := l.take(ctx, gpu, "lab-2"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that is busy is not waited for: %v, %+v", err, g)
	}
}

// Nobody is waited for who is not there, whoever else is.
func TestTakeWhereNobodyIs(t *testing.T) {
	t.Parallel()
	l := newLodge(nil, nil, func(string) {})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	target := platform.Target{Platform: platform.WebGPU, Browser: "chrome"}.Normal()
	for _, guest := range []string{"", "lab-1"} {
		if _, err := l.take(ctx, target, guest); !errors.Is(err, fleetworker.ErrAway) {
			t.Errorf("guest %q: %v", guest, err)
		}
	}
}
