package environment

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"assay/internal/instructions"
)

// askingLimit is how long the trial of instruction sets may take: a few seconds
// beside importing torch from a cold disk.
const askingLimit = 2 * time.Minute

// host is what this machine's processor means for an environment's children. It
// is shared by the copies of an Environment, asked on first need, and once.
type host struct {
	processor instructions.Processor
	memory    instructions.Memory
	key       string
	asks      bool // whether a child may be asked; else what is remembered has to do
	pinned    bool // the user has set the variable, and it stays
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

// settle needs the lock.
func (h *host) settle(ctx context.Context, e Environment) {
	found, known := h.memory.Load(h.key)
	if known || !h.asks {
		h.finding, h.settled = found, true
		return
	}
	h.say("trying once which instruction sets this processor executes: " + h.processor.Name + " announces ones that some virtual machines cannot run")
	found, err := e.tryInstructions(ctx, h.processor.Levels())
	if ctx.Err() != nil {
		return // half an answer is none
	}
	h.settled = true
	if err == nil {
		h.finding = found
		err = h.memory.Save(h.key, found)
	}
	if err != nil {
		h.say("which instruction sets this processor executes is not known: " + err.Error())
	}
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
// lived that had died without. Of jobs side by side the lowest level stays.
func (e Environment) Remember(level string, died instructions.Death) error {
	h := e.host
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.settled = true
	if all := h.processor.Levels(); slices.Index(all, level) > slices.Index(all, h.finding.Lowered) {
		h.finding.Lowered = level
	}
	h.finding.Died = append(h.finding.Died[:len(h.finding.Died):len(h.finding.Died)], died)
	return h.memory.Save(h.key, h.finding)
}
