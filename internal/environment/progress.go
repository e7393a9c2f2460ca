package environment

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// progressEvery is how long a step may be silent.
const progressEvery = 10 * time.Second

// progress turns what uv prints into lines for people: what is worth telling
// at once, and now and then how far it is.
type progress struct {
	mu              sync.Mutex
	say             func(string)
	then            string // what follows the installation
	begun, finished int    // large packages
	start           time.Time
	done            chan struct{}
	ended           sync.WaitGroup
}

func newProgress(say func(string), then string) *progress {
	p := &progress{say: say, then: then, start: time.Now(), done: make(chan struct{})}
	p.ended.Go(p.beat)
	return p
}

// told are the first words of the lines that people want to see.
var told = []string{"Prepared", "Bytecode compiled", "warning:"}

func (p *progress) line(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s = strings.TrimSpace(s)
	switch {
	case strings.HasPrefix(s, "Downloading "):
		p.begun++
		if strings.Contains(s, "GiB") || len(sizeOf(s)) >= len("100.0MiB") {
			p.say("loading " + strings.TrimPrefix(s, "Downloading "))
		}
	case strings.HasPrefix(s, "Downloaded "):
		p.finished++
	case strings.HasPrefix(s, "Installed "):
		p.say("installed " + strings.TrimPrefix(s, "Installed ") + p.then)
	default:
		for _, first := range told {
			if strings.HasPrefix(s, first) {
				p.say(strings.ToLower(s[:1]) + s[1:])
			}
		}
	}
}

// sizeOf returns "812.3MiB" of "Downloading torch (812.3MiB)".
func sizeOf(s string) string {
	_, size, _ := strings.Cut(s, "(")
	return strings.TrimSuffix(size, ")")
}

func (p *progress) beat() {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-tick.C:
			p.mu.Lock()
			p.say(p.standing())
			p.mu.Unlock()
		}
	}
}

// standing says how far it is. Packages that uv has in its cache are not loaded.
func (p *progress) standing() string {
	s := fmt.Sprintf("still installing, %.0f s so far", time.Since(p.start).Seconds())
	if p.finished < p.begun {
		s += fmt.Sprintf(": %d of %d large packages loaded", p.finished, p.begun)
	}
	return s
}

func (p *progress) stop() {
	close(p.done)
	p.ended.Wait()
}
