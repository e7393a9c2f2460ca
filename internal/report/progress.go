package report

import (
	"fmt"
	"io"
	"sync"
	"time"

	"assay/internal/cell"
	"assay/internal/progress"
)

// Progress hears of a run under way. It writes to standard error only, so that
// standard output holds results and nothing else, and never stops a run. Events
// may come from several goroutines; after Close none may come.
type Progress interface {
	progress.Listener
	// Above returns the writer to use in place of w while the progress shows:
	// where both are one terminal, lines come out above the bar.
	Above(w io.Writer) io.Writer
	// Close leaves the terminal as it should be. It is safe to call twice.
	Close()
}

// NewProgress returns bars for a terminal and plain lines for anything else.
// env is the environment, as os.Environ gives it.
func NewProgress(w io.Writer, terminal bool, env []string) Progress {
	if terminal {
		return newBar(w, env)
	}
	return &lines{w: w, now: time.Now}
}

// quiet is how long lines keep silent about cells that went well.
const quiet = 2 * time.Second

// lines is progress for a log. The first and the last cell and each that fails
// are named at once, of the others one every two seconds: thousands of cells make
// no thousands of lines. Of cells without a device it says one line a target.
type lines struct {
	mu          sync.Mutex
	w           io.Writer
	now         func() time.Time
	begun       time.Time
	done, total int
	said        time.Time
	unsaid      *cell.Result    // the last that ended, where no line told of it
	absent      map[string]bool // targets that were said to be unavailable
}

// Hear prints what the event asks for.
func (p *lines) Hear(e progress.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case progress.KindPlanned:
		p.planned(e.Cells)
	case progress.KindFinished:
		p.finished(*e.Result)
	case progress.KindNote:
		fmt.Fprintln(p.w, oneLine(e.Text))
	}
	return nil
}

func (p *lines) planned(cells int) {
	p.total = cells
	if p.begun.IsZero() {
		p.begun = p.now()
	}
}

func (p *lines) finished(r cell.Result) {
	p.done++
	if r.Verdict == cell.Unavailable && r.Failure == nil && p.unavailable(r) {
		return
	}
	now := p.now()
	due := p.said.IsZero() || now.Sub(p.said) >= quiet || p.done == p.total
	if r.Verdict == cell.Fails || r.Verdict == cell.Unknown || due {
		p.say(r, now)
		return
	}
	p.unsaid = &r
}

func (p *lines) say(r cell.Result, now time.Time) {
	p.said, p.unsaid = now, nil
	fmt.Fprintf(p.w, "%d/%d %s %s on %s: %s (%s)\n", p.done, max(p.total, p.done), lookOf(r.Shown()).mark, called(r.Cell), r.Cell.Target,
		r.Shown().Word(), now.Sub(p.begun).Round(time.Second))
}

// unavailable tells why a target is not there, once, and reports whether it did.
func (p *lines) unavailable(r cell.Result) bool {
	if p.absent[r.Cell.Target] {
		return false
	}
	if p.absent == nil {
		p.absent = map[string]bool{}
	}
	p.absent[r.Cell.Target] = true
	fmt.Fprintf(p.w, "%s %s is unavailable here: %s\n", lookOf(r.Verdict).mark, r.Cell.Target, oneLine(r.Note))
	return true
}

func (p *lines) Above(w io.Writer) io.Writer { return w }

// Close tells how far a run came that was stopped before its last cell.
func (p *lines) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unsaid != nil {
		p.say(*p.unsaid, p.now())
	}
}
