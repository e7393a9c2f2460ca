package browser

import (
	"sync"
	"time"
)

// sampleEvery is how often the memory of a browser is looked at. A look costs
// a few milliseconds of one core.
const sampleEvery = 250 * time.Millisecond

// rest is how much longer than a look at what processes share the time is that
// passes before the next one: the kernel walks all pages for it.
const rest = 100

// meter watches the memory of a tree of processes.
type meter struct {
	tree *group // nil: nothing is known
	done chan struct{}
	once sync.Once

	mu     sync.Mutex
	peak   *int64
	twice  int64     // what is counted more than once, by the last look
	rested time.Time // when the next look may be
}

func watch(tree *group) *meter {
	m := &meter{tree: tree, done: make(chan struct{})}
	if tree != nil {
		m.now()
		go m.run()
	}
	return m
}

func (m *meter) run() {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.now()
		case <-m.done:
			return
		}
	}
}

// now looks, and remembers the most that was seen. What processes share is
// taken to be as much as at the last look at it.
func (m *meter) now() *int64 {
	if m.tree == nil {
		return nil
	}
	bytes, known := m.tree.memory()
	if !known {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	bytes = max(bytes-m.shared(), 0)
	if m.peak == nil || bytes > *m.peak {
		m.peak = &bytes
	}
	return &bytes
}

// shared is what the sum over processes counts more than once.
func (m *meter) shared() int64 {
	start := time.Now()
	if start.Before(m.rested) {
		return m.twice
	}
	if twice, known := m.tree.twice(); known {
		m.twice = twice
	}
	m.rested = start.Add(rest * time.Since(start))
	return m.twice
}

// most is the system's own peak where it keeps one, else what was seen.
func (m *meter) most() *int64 {
	if m.tree == nil {
		return nil
	}
	if bytes, known := m.tree.peak(); known {
		return &bytes
	}
	m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.peak == nil {
		return nil
	}
	bytes := *m.peak
	return &bytes
}

func (m *meter) stop() { m.once.Do(func() { close(m.done) }) }
