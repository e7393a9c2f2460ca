package dash

import (
	"context"
	"sync"
	"time"

	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/matrix"
)

// snapshot is all that is stored, at one moment, and the answers made of it.
type snapshot struct {
	stamp   string
	made    time.Time
	results []Stored // newest first
	byID    map[string]int
	hosts   []cell.Host
	runs    []Run                // newest first
	seenBy  map[string]cell.Host // a run's host, as the run saw it

	mu      sync.Mutex
	answers map[string]*kept
	bytes   int // of the answers
}

// kept is an answer that is made once, by the first who asks.
type kept struct {
	once sync.Once
	body *body
	err  error
}

// mostAnswers bounds the answers of one snapshot, and mostKept their bytes: filters are the askers'.
const (
	mostAnswers = 256
	mostKept    = 64 << 20
)

// answer is one of the snapshot's, made now if it was not before.
func (s *snapshot) answer(name string, fresh func() (*body, error)) (*body, error) {
	s.mu.Lock()
	k := s.answers[name]
	if k == nil {
		if len(s.answers) >= mostAnswers || s.bytes >= mostKept {
			clear(s.answers)
			s.bytes = 0
		}
		k = &kept{}
		s.answers[name] = k
	}
	s.mu.Unlock()
	k.once.Do(func() {
		k.body, k.err = fresh()
		if k.body != nil {
			s.mu.Lock()
			s.bytes += len(k.body.plain)
			s.mu.Unlock()
		}
	})
	return k.body, k.err
}

// observations are the results as a matrix takes them.
func (s *snapshot) observations() []matrix.Observation {
	out := make([]matrix.Observation, len(s.results))
	for i, x := range s.results {
		out[i] = x.observation()
	}
	return out
}

// ofType are those of a model type, the newest first.
func (s *snapshot) ofType(modelType string) []matrix.Observation {
	var out []matrix.Observation
	for _, x := range s.results {
		if x.Result.Cell.Type == modelType {
			out = append(out, x.observation())
		}
	}
	return out
}

func (x Stored) observation() matrix.Observation {
	return matrix.Observation{Result: x.Result, Host: x.Host, Imported: x.Imported}
}

// entries are the results as one side of a comparison.
func (s *snapshot) entries(results []Stored) []compare.Entry {
	out := make([]compare.Entry, len(results))
	for i := range results {
		host := s.seenBy[results[i].Run]
		host.ID = results[i].Host
		out[i] = compare.Entry{Result: &results[i].Result, Run: results[i].Run, Host: host, Imported: results[i].Imported}
	}
	return out
}

// snapshots gives the newest one. While results keep changing, in the middle of a
// run, an old one is given and a new one made beside it: askers never wait for more
// than the first.
type snapshots struct {
	past Past
	now  func() time.Time

	mu      sync.Mutex
	current *snapshot
	looked  time.Time
	making  chan struct{} // closed when the one being made is there; nil where none is
	failed  error
	wait    time.Duration // before the next one, by what the last one took
}

// The pace of snapshots: how long a stamp is believed, and how many times as long as
// making one took nobody makes another.
const (
	believed = 100 * time.Millisecond
	pause    = 4
)

func (s *snapshots) get(ctx context.Context) (*snapshot, error) {
	s.mu.Lock()
	now := s.now()
	if s.current != nil && now.Sub(s.looked) < believed {
		defer s.mu.Unlock()
		return s.current, nil
	}
	if s.making == nil {
		if err := s.look(now); err != nil {
			defer s.mu.Unlock()
			return nil, err
		}
	}
	current, making := s.current, s.making
	s.mu.Unlock()
	if current != nil {
		return current, nil
	}
	select {
	case <-making:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.current == nil {
			return nil, s.failed
		}
		return s.current, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// look begins to make a new snapshot if results have changed.
func (s *snapshots) look(now time.Time) error {
	stamp, err := s.past.Stamp()
	if err != nil {
		return err
	}
	s.looked = now
	fresh := s.current != nil && (s.current.stamp == stamp || now.Sub(s.current.made) < s.wait)
	if fresh {
		return nil
	}
	made := make(chan struct{})
	s.making = made
	go func() {
		began := time.Now()
		snap, err := read(context.Background(), s.past, stamp)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			snap.made = s.now()
			s.current = snap
		}
		s.failed, s.making, s.wait = err, nil, pause*time.Since(began)
		close(made)
	}()
	return nil
}

// fresh is a snapshot with all that was stored when it was asked for.
func (s *snapshots) fresh(ctx context.Context) (*snapshot, error) {
	stamp, err := s.past.Stamp()
	if err != nil {
		return nil, err
	}
	if snap, err := s.get(ctx); err != nil || snap.stamp == stamp {
		return snap, err
	}
	snap, err := read(ctx, s.past, stamp)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	snap.made = s.now()
	s.current, s.looked = snap, s.now()
	return snap, nil
}

func read(ctx context.Context, past Past, stamp string) (*snapshot, error) {
	results, hosts, err := past.Results(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := past.Runs(ctx)
	if err != nil {
		return nil, err
	}
	s := &snapshot{stamp: stamp, results: results, hosts: hosts, runs: runs, byID: map[string]int{}, seenBy: map[string]cell.Host{}, answers: map[string]*kept{}}
	for i, x := range results {
		s.byID[x.ID] = i
	}
	for _, r := range runs {
		s.seenBy[r.ID] = r.Host
	}
	return s, nil
}
