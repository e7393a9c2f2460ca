package environment

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"sync"
	"time"

	"assay/internal/instructions"
)

// askingLimit is how long the trial of instruction sets may take: a few seconds
// beside importing torch from a cold disk. It lies above the trial's own limits.
const askingLimit = 3 * time.Minute

// host is what this machine's processor means for an environment's children. It
// is shared by the copies of an Environment, asked when first needed, and once.
type host struct {
	processor instructions.Processor
	memory    instructions.Memory
	key       string
	asks      bool // whether a child may be asked; else what is remembered has to do
	pinned    bool // the user has set the variable, which is left alone
	say       func(string)

	mu      sync.Mutex
	settled bool
	finding instructions.Finding
}

// OnProcessor makes the Maker take another file for /proc/cpuinfo.
func (m *Maker) OnProcessor(cpuinfo string) *Maker {
	m.cpuinfo = cpuinfo
	return m
}

// hosted ties an environment to this machine's processor.
func (m *Maker) hosted(env Environment, asks bool) Environment {
	get, p := lookup(m.environ), instructions.Read(m.cpuinfo)
	env.host = &host{
		processor: p, memory: instructions.Memory{Dir: m.folders.instructions()}, key: instructions.Key(p, env.Python, env.Versions),
		asks: asks && p.Announces(), pinned: get(instructions.Variable) != "" || get(instructions.OldVariable) != "", say: m.say,
	}
	return env
}

// Instructions is what was found of the instruction sets that the processor
// announces. It is asked in a child where it is not known yet, which takes
// seconds, once for a machine and its packages.
func (e Environment) Instructions(ctx context.Context) instructions.Finding {
	h := e.host
	if h == nil || h.pinned {
		return instructions.Finding{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.settled {
		h.settle(ctx, e)
	}
	return h.finding
}

// settle needs the lock. What gave no answer is asked again by the next program.
func (h *host) settle(ctx context.Context, e Environment) {
	kept, known := h.memory.Load(h.key)
	if known && len(kept.Untried()) == 0 || !h.asks {
		h.finding, h.settled = kept, true
		return
	}
	h.say("checking once which of its announced instruction sets " + h.processor.Name + " really executes (some virtual machines announce more than they can run)")
	found, err := e.tryInstructions(ctx, h.processor.Levels())
	if ctx.Err() != nil {
		return // half an answer is none
	}
	h.settled, h.finding = true, kept
	if err != nil {
		h.say(executes + " is not known: " + err.Error())
		return
	}
	h.finding = instructions.Merge(kept, found)
	if untried := found.Untried(); len(untried) > 0 {
		h.say(executes + " is not known in full and is tried again next time: " + strings.Join(untried, ", "))
		return
	}
	if h.finding, err = h.keep(found); err != nil {
		h.say(executes + " could not be saved and is tried again next time: " + err.Error())
	}
}

const executes = "which instruction sets this processor executes"

// keep adds to what is known here and to what programs beside this one have kept
// meanwhile. It needs the lock.
func (h *host) keep(more instructions.Finding) (instructions.Finding, error) {
	known := instructions.Merge(h.finding, more)
	now, err := h.memory.Change(h.key, func(old instructions.Finding) instructions.Finding { return instructions.Merge(old, known) })
	if err != nil {
		return known, err
	}
	return now, nil
}

// tryInstructions multiplies in children of a child.
func (e Environment) tryInstructions(ctx context.Context, levels []string) (instructions.Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, askingLimit)
	defer cancel()
	runtime.LockOSThread() // see Group
	defer runtime.UnlockOSThread()
	e.host = nil // the trial itself must not wait for its outcome
	var stdout, stderr bytes.Buffer
	cmd := e.Group(ctx, append([]string{"-m", "assay_runner", "instructions"}, levels...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return instructions.Finding{}, &failure{cmd.Args, err, stderr.String()}
	}
	return instructions.Decode(stdout.Bytes())
}

// Processor is this machine's, as far as /proc/cpuinfo tells.
func (e Environment) Processor() instructions.Processor {
	if e.host == nil {
		return instructions.Processor{}
	}
	return e.host.processor
}

// Below is the level that a child which died of an illegal instruction may be
// tried with next; "" where there is none, or where the user has set one.
func (e Environment) Below(level string) string {
	if e.host == nil || e.host.pinned {
		return ""
	}
	return e.host.processor.Below(level)
}

// Remember keeps, for this machine and these packages, a level with which a child
// lived that had died without. Of jobs and programs in parallel the lowest level
// stays.
func (e Environment) Remember(level string, died instructions.Death) (err error) {
	h := e.host
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settled = true
	h.finding, err = h.keep(instructions.Finding{Lowered: level, Died: []instructions.Death{died}, Skipped: h.finding.Skipped})
	return err
}

// ForgetInstructions makes the next child be preceded by a new trial, whatever was
// found or remembered before.
func (e Environment) ForgetInstructions() error {
	h := e.host
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settled, h.finding = false, instructions.Finding{}
	return h.memory.Forget(h.key)
}
