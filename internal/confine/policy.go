package confine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"assay/internal/exports"
	"assay/internal/input"
)

// Policy is what a worker's owner lets tasks do. The zero one allows no weights from the
// Hub and no code but the libraries', limits nothing, and confines nothing.
type Policy struct {
	// Hub allows weights to be loaded from the Hub, Pickle also those of a kind that can
	// hold code, and Code a model's own code.
	Hub    bool   `json:"hub,omitempty"`
	Pickle bool   `json:"pickle,omitempty"`
	Code   bool   `json:"code,omitempty"`
	Limits Limits `json:"limits,omitzero"`
	// Landlock is whether writing (and reading, where Read names something) is
	// confined to folders.
	Landlock Landlock `json:"landlock,omitempty"`
	Write    []string `json:"write,omitempty"` // folders beside those that a runner needs
	Read     []string `json:"read,omitempty"`  // if any, nothing else can be read
	// Network false keeps tasks from TCP; weights are loaded by the worker, so that they need none.
	Network *bool `json:"network,omitempty"`
}

// Limits are of one task, but for TotalMemory. Zero is no limit.
type Limits struct {
	Memory      Bytes    `json:"memory,omitempty"`       // that a task's process may allocate
	TotalMemory Bytes    `json:"total_memory,omitempty"` // of all tasks together: a cgroup
	Time        Duration `json:"time,omitempty"`
	FileSize    Bytes    `json:"file_size,omitempty"` // of any file that a task writes
	OpenFiles   int64    `json:"open_files,omitempty"`
}

// Landlock says whether folders are confined.
type Landlock string

// The choices.
const (
	Off     Landlock = "off" // "" too
	Use     Landlock = "use" // where the kernel has it
	Require Landlock = "require"
)

// Bytes is a size, written as people do: "8GB".
type Bytes int64

// UnmarshalJSON reads "8GB", or a number of bytes.
func (b *Bytes) UnmarshalJSON(text []byte) error {
	var n int64
	if json.Unmarshal(text, &n) == nil {
		*b = Bytes(n)
		return nil
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("%s is not a size: write \"8GB\"", text)
	}
	n, err := exports.ParseBytes(s)
	*b = Bytes(n)
	return err
}

// Duration is a time, written as Go does: "10m".
type Duration time.Duration

// UnmarshalJSON reads "10m".
func (d *Duration) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("%s is not a time: write \"10m\"", text)
	}
	v, err := time.ParseDuration(s)
	*d = Duration(v)
	return err
}

// MarshalJSON writes "10m0s".
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// maxPolicy is how large a policy's file may be.
const maxPolicy = 1 << 20

// Load reads a policy. Unknown fields, and values that cannot be meant, are errors that name
// them.
func Load(path string) (Policy, error) {
	f, err := input.Open(path)
	if err != nil {
		return Policy{}, fmt.Errorf("open the policy: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPolicy+1))
	if err != nil {
		return Policy{}, fmt.Errorf("read the policy %s: %w", path, err)
	}
	p, err := Parse(b)
	if err != nil {
		return Policy{}, fmt.Errorf("the policy %s: %w", path, err)
	}
	return p, nil
}

// Parse reads a policy's text.
func Parse(b []byte) (Policy, error) {
	if len(b) > maxPolicy {
		return Policy{}, fmt.Errorf("it is larger than %d kB", maxPolicy>>10)
	}
	var p Policy
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return Policy{}, input.InWords(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Policy{}, errors.New("there is text after its end")
	}
	return p, p.Check()
}

// leastMemory is what a runner that has imported its libraries needs.
const leastMemory = 256 << 20

// Check says what cannot be meant.
func (p Policy) Check() error {
	l := p.Limits
	switch {
	case l.Memory < 0 || l.TotalMemory < 0 || l.FileSize < 0 || l.Time < 0 || l.OpenFiles < 0:
		return errors.New("a limit must not be negative")
	case l.Memory > 0 && l.Memory < leastMemory:
		return fmt.Errorf("limits.memory is %d bytes: no task fits into less than 256 MB", l.Memory)
	case l.TotalMemory > 0 && l.TotalMemory < max(leastMemory, l.Memory):
		return errors.New("limits.total_memory is less than one task may have")
	case l.OpenFiles > 0 && l.OpenFiles < 64:
		return errors.New("limits.open_files must be at least 64")
	case l.Time > 0 && time.Duration(l.Time) < time.Second:
		return errors.New("limits.time must be at least a second")
	case p.Landlock != "" && p.Landlock != Off && p.Landlock != Use && p.Landlock != Require:
		return fmt.Errorf("landlock is %q: it is off, use or require", p.Landlock)
	case p.Pickle && !p.Hub:
		return errors.New("pickle without hub allows nothing: set hub too")
	case p.Landlock != Use && p.Landlock != Require && (len(p.Read) > 0 || len(p.Write) > 0 || p.Network != nil && !*p.Network):
		return errors.New("read, write and network need landlock: set it to use or require")
	}
	for _, dir := range append(p.Read, p.Write...) {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("%q is not an absolute path", dir)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("%s is not a folder", dir)
		}
	}
	return nil
}
