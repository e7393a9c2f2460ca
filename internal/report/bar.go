package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"assay/internal/cell"
	"assay/internal/progress"
)

// bar is progress for a terminal: one bar, what runs now, and how it went so
// far. Notes scroll by above it.
type bar struct {
	bars  *mpb.Progress
	bar   *mpb.Bar
	style func(cell.Verdict, string) string
	close sync.Once

	mu      sync.Mutex
	running []string
	counts  map[cell.Verdict]int
	note    string
}

// showRunning is how many of the cells under way are named.
const showRunning = 2

func newBar(w io.Writer, env []string) *bar {
	p := &bar{counts: map[cell.Verdict]int{}, style: ink}
	if !coloured(w, env) {
		p.style = func(_ cell.Verdict, s string) string { return s }
	}
	p.bars = mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithRefreshRate(120*time.Millisecond), mpb.WithWidth(28))
	p.bar = p.bars.New(0,
		mpb.BarStyle().Lbound("").Rbound("").Filler("━").Tip("━").Padding("─"),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.CountersNoUnit("%d/%d ", decor.WCSyncSpace)),
		mpb.AppendDecorators(decor.Elapsed(decor.ET_STYLE_MMSS, decor.WC{W: 6}), decor.Any(func(decor.Statistics) string { return "  " + p.status() })),
	)
	return p
}

// Hear takes the event into what is drawn next.
func (p *bar) Hear(e progress.Event) error {
	switch e.Kind {
	case progress.KindPlanned:
		p.bar.SetTotal(int64(e.Cells), false)
	case progress.KindStarted:
		p.started(*e.Cell)
	case progress.KindFinished:
		p.finished(*e.Result)
	case progress.KindNote:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.note = oneLine(e.Text)
	}
	return nil
}

func (p *bar) started(c cell.Cell) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, name(c))
	p.note = ""
}

func (p *bar) finished(r cell.Result) {
	p.mu.Lock()
	p.counts[r.Shown()]++
	for i, n := range p.running {
		if n == name(r.Cell) {
			p.running = append(p.running[:i:i], p.running[i+1:]...)
			break
		}
	}
	p.mu.Unlock()
	p.bar.Increment()
}

// Above routes a terminal's lines through the bar, which redraws itself below.
func (p *bar) Above(w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return w
	}
	return above{f, p.bars}
}

// above is a terminal whose lines scroll by above a bar. It stays a file, so
// that colours are still seen to be welcome.
type above struct {
	*os.File
	bars *mpb.Progress
}

func (a above) Write(b []byte) (int, error) {
	n, err := a.bars.Write(b)
	if errors.Is(err, mpb.ErrDone) {
		return a.File.Write(b)
	}
	return n, err
}

// Close ends the bar where it stands and waits until its line is gone.
func (p *bar) Close() {
	p.close.Do(func() {
		p.bar.Abort(true)
		p.bars.Wait()
	})
}

func name(c cell.Cell) string { return called(c) + " on " + c.Target }

// status is what stands after the bar: counts, then a note or what runs now.
func (p *bar) status() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := tally(p.counts, p.style)
	switch n := len(p.running); {
	case p.note != "":
		text += "  " + p.note
	case n > showRunning:
		text += fmt.Sprintf("  %s and %d more", p.running[0], n-1)
	case n > 0:
		text += "  " + p.running[0]
		if n == 2 {
			text += ", " + p.running[1]
		}
	}
	return lipgloss.NewStyle().MaxWidth(90).Render(text)
}
