package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/hub"
	"assay/internal/loading"
	"assay/internal/plan"
	"assay/internal/platform"
	"assay/internal/pool"

	"github.com/spf13/pflag"
)

// poolFlags are those of the pool of loaded models.
type poolFlags struct {
	memory   string
	requests int
	queue    int
}

func (f *poolFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.memory, "pool-memory", "", "memory that loaded models may take together, such as 4GB (default: half of this machine's)")
	fs.IntVar(&f.requests, "pool-requests", 0, "requests to models that run at once (default: one per core)")
	fs.IntVar(&f.queue, "pool-queue", 64, "requests to models that wait; more are refused with 429")
}

func (f *poolFlags) check() error {
	if _, err := parseBytes(f.memory); err != nil {
		return usage("--pool-memory: %w", err)
	}
	if f.requests < 0 || f.queue < 0 {
		return usage("--pool-requests and --pool-queue must be at least 0")
	}
	return nil
}

// units of memory, the longest first.
var units = []struct {
	name  string
	bytes float64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"GB", 1e9}, {"MB", 1e6}, {"G", 1e9}, {"M", 1e6}}

// parseBytes reads an amount of memory; "" is 0.
func parseBytes(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	for _, u := range units {
		if number, ok := strings.CutSuffix(strings.TrimSpace(s), u.name); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err == nil && n > 0 && n*u.bytes < 1e15 {
				return int64(n * u.bytes), nil
			}
		}
	}
	return 0, fmt.Errorf("%q is no amount of memory: give a number with MB or GB, such as 4GB", s)
}

// callLimit is how long one call of a model may take, and loadLimit loading one.
const (
	callLimit = 5 * time.Minute
	loadLimit = 10 * time.Minute
)

// openModels opens the pool of loaded models. Nothing is loaded yet.
func (a *app) openModels(l *servedLab, f poolFlags) (*pool.Pool, error) {
	limits, err := a.poolLimits(l, f)
	if err != nil {
		return nil, err
	}
	loader := &loading.Loader{
		Session: l.session, Threads: max(1, runtime.GOMAXPROCS(0)/2), Say: a.say,
		Planner: func() *plan.Planner {
			p := a.planner(l.flags, l.catalog, nil)
			p.Hub = func() (plan.Hub, error) {
				h, err := l.flags.open(a.env, a.say)
				return onlyCached{h}, err
			}
			p.Say = nil
			return p
		},
		Times: func(ctx context.Context, c cell.Cell) ([]cell.Time, error) {
			return a.home().Times(ctx, l.session.Host().ID, cell.Plan{Cells: []cell.Cell{c}})
		},
	}
	return pool.New(loader, limits, time.Now), nil
}

func (a *app) poolLimits(l *servedLab, f poolFlags) (pool.Limits, error) {
	limit, err := parseBytes(f.memory)
	if err != nil {
		return pool.Limits{}, err
	}
	if limit == 0 {
		limit = l.session.Host().MemoryBytes / 2
	}
	requests := f.requests
	if requests == 0 {
		requests = max(1, runtime.GOMAXPROCS(0))
	}
	out := pool.Limits{Host: limit, Devices: map[string]int64{}, InFlight: requests, Queue: f.queue, Call: callLimit, Load: loadLimit, Watch: 250 * time.Millisecond}
	for _, p := range detect.JudgeFirst(l.session.Sighting()).Platforms {
		if p.Platform != platform.CUDA && p.Platform != platform.ROCm {
			continue
		}
		for _, d := range p.Devices {
			if d.MemoryBytes != nil {
				out.Devices[string(p.Platform)+":"+d.ID] = *d.MemoryBytes * 9 / 10
			}
		}
	}
	return out, nil
}

// onlyCached is the Hub without its network: who asks over HTTP loads nothing from it.
type onlyCached struct{ plan.Hub }

func (onlyCached) Fetch(_ context.Context, ref hub.Ref, _ hub.Want) (hub.Snapshot, error) {
	return hub.Snapshot{}, &hub.Error{Kind: hub.Offline, Problem: fmt.Sprintf("%s is not in the Hugging Face cache: assay fetch loads it", ref.Model)}
}

// Visit opens the way to a page in a browser.
func (l *servedLab) Visit(ctx context.Context, t platform.Target) (address string, leave func() error, err error) {
	v, missing, err := l.session.Visit(ctx, t)
	if err != nil {
		return "", nil, err
	}
	if v == nil {
		return "", nil, &pool.RefusedError{Kind: pool.Unavailable, Err: errors.New(missing)}
	}
	return v.Address(), v.Close, nil
}
