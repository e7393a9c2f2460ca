package instructions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/filelock"
	"assay/internal/wholefile"
)

// Finding is what products in children have shown.
type Finding struct {
	// Lowered is the value of the variable with which nothing died; "" is none,
	// because nothing died without it, or because none helps.
	Lowered string            `json:"lowered"`
	Died    []Death           `json:"died"`
	Skipped map[string]string `json:"skipped,omitempty"` // "openvino int8" → why it was not tried
}

// Death is a child that a signal ended. Level is the variable's value in it.
type Death struct {
	Engine string `json:"engine"`
	DType  string `json:"dtype"`
	Level  string `json:"level"`
	Signal int    `json:"signal"`
}

// Absent is the only reason for which a trial may be left out for good: others
// may be gone the next time.
const Absent = "not installed"

// Untried names the trials that gave no answer, each with the reason.
func (f Finding) Untried() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(f.Skipped)) {
		if why := f.Skipped[name]; why != Absent {
			out = append(out, name+": "+why)
		}
	}
	return out
}

// Merge joins two findings of one processor: the lower level, every death once,
// and what the second could not try.
func Merge(old, now Finding) Finding {
	rank := func(name string) int { return slices.IndexFunc(levels, func(l level) bool { return l.name == name }) }
	out := Finding{Lowered: old.Lowered, Died: []Death{}, Skipped: now.Skipped}
	if rank(now.Lowered) > rank(old.Lowered) {
		out.Lowered = now.Lowered
	}
	for _, d := range slices.Concat(old.Died, now.Died) {
		if !slices.Contains(out.Died, d) {
			out.Died = append(out.Died, d)
		}
	}
	return out
}

// Decode reads a finding and refuses anything else.
func Decode(text []byte) (Finding, error) {
	var f Finding
	if err := json.Unmarshal(text, &f); err != nil {
		return Finding{}, err
	}
	known := func(l level) bool { return l.name == f.Lowered }
	if f.Lowered != "" && !slices.ContainsFunc(levels, known) {
		return Finding{}, errors.New("its level is unknown")
	}
	if f.Lowered != "" && len(f.Died) == 0 {
		return Finding{}, errors.New("it lowers the level and nothing died")
	}
	return f, nil
}

// schema counts up when other products are tried: all are asked again.
const schema = "1"

// Packages are those whose versions decide what dies.
var Packages = []string{"torch", "openvino"}

// Key names a finding: another processor, Python or package is asked again.
// assay_runner/machine/instructions.py makes the same.
func Key(p Processor, python string, versions map[string]string) string {
	parts := []string{schema, p.Vendor, p.Family, p.Model, p.Name, p.Leaf, p.Flags, filepath.Dir(filepath.Dir(python))}
	for _, name := range Packages {
		parts = append(parts, versions[name])
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:12])
}

// Memory keeps findings in a folder, a file for each key. Several processes may
// use it at once.
type Memory struct{ Dir string }

func (m Memory) file(key string) string { return filepath.Join(m.Dir, key+".json") }

// Load returns what is kept; a damaged file is as good as none.
func (m Memory) Load(key string) (Finding, bool) {
	text, err := os.ReadFile(m.file(key))
	if err != nil {
		return Finding{}, false
	}
	f, err := Decode(text)
	return f, err == nil
}

// lockLimit is how long a change may wait for others: each takes milliseconds.
const lockLimit = 5 * time.Second

// Change replaces what is kept (the zero Finding where there is nothing) by what a
// function makes of it, and returns that. No other program changes it meanwhile.
func (m Memory) Change(key string, change func(old Finding) Finding) (now Finding, err error) {
	err = m.locked(func() error {
		old, _ := m.Load(key)
		now = change(old)
		return m.put(key, now)
	})
	return now, err
}

// Forget removes what is kept; nothing kept is not an error.
func (m Memory) Forget(key string) error {
	err := os.Remove(m.file(key))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// locked does something that no other program does meanwhile; the Python package
// takes the same lock.
func (m Memory) locked(do func() error) error {
	if err := os.MkdirAll(m.Dir, 0o700); err != nil {
		return err
	}
	lock, err := filelock.Wait(context.Background(), filepath.Join(m.Dir, "lock"), filelock.Exclusive, lockLimit, nil)
	if err != nil {
		return err
	}
	return errors.Join(do(), lock.Close())
}

// put puts a finding in its place whole: readers see the old one or the new one.
func (m Memory) put(key string, f Finding) error {
	if f.Died == nil {
		f.Died = []Death{}
	}
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return wholefile.Write(m.file(key), text, wholefile.Options{})
}
