package hub

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// progress says now and then how far a model's files are, all in one line.
type progress struct {
	ref         Ref
	files       int
	total       int64
	say         func(string)
	begun       time.Time
	had         int64 // bytes that were there before
	bytes, done atomic.Int64
	stop        chan struct{}
	ended       sync.WaitGroup
}

func (h *Hub) newProgress(ref Ref, files int, total, had int64) *progress {
	p := &progress{ref: ref, files: files, total: total, had: had, say: h.o.Say, begun: time.Now(), stop: make(chan struct{})}
	p.bytes.Store(had)
	p.ended.Go(func() { p.beat(h.o.Every) })
	return p
}

func (p *progress) beat(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			p.say(p.line(time.Since(p.begun)))
		}
	}
}

// line is how far it is after that time.
func (p *progress) line(after time.Duration) string {
	now := min(p.bytes.Load(), p.total)
	rate := float64(now-p.had) / max(after.Seconds(), 0.001)
	return fmt.Sprintf("loading %s: %s of %s, %d of %d files, %s/s", p.ref, size(now), size(p.total), p.done.Load(), p.files, size(int64(max(rate, 0))))
}

func (p *progress) close() {
	close(p.stop)
	p.ended.Wait()
}
