package detect

import (
	"context"
	"io/fs"
	"path"
	"strings"
	"time"
)

// Machine is everything outside that detection reaches. A Machine is used by
// one goroutine at a time.
type Machine struct {
	OS, Arch string // as GOOS and GOARCH

	// Root is the root of the file system, with link reading where the
	// system has links (fs.ReadLinkFS). Names have no leading slash.
	Root fs.FS
	// Env looks an environment variable up; set and empty differ.
	Env func(name string) (string, bool)
	// Find looks a program up in PATH.
	Find func(name string) (string, bool)
	// Command runs a program of the system (macOS only) and gives its output.
	Command func(ctx context.Context, name string, args ...string) ([]byte, error)
	// Native is what only an instruction or a system call can tell.
	Native Native

	log *recorder // set while a capture is made
	pci []pciDevice
	ran map[string]string // commands already run, by key
}

// Native holds facts that no file tells. Zero fields are unknown.
type Native struct {
	Model       string       `json:"model,omitempty"`
	Vendor      string       `json:"vendor,omitempty"`
	Features    []string     `json:"features,omitempty"` // Assay's names, see cpuFeatures
	Cores       int          `json:"cores,omitempty"`
	CPUs        int          `json:"cpus,omitempty"`
	Caches      []CacheLevel `json:"caches,omitempty"`
	MemoryBytes int64        `json:"memory_bytes,omitempty"`
	Kernel      string       `json:"kernel,omitempty"`
}

// commandLimit bounds a command of the first pass.
const commandLimit = 2 * time.Second

// fileLimit is more than any file that a probe reads.
const fileLimit = 4 << 20

// text returns a file's trimmed content. Device-tree strings end in NUL; those
// become line ends.
func (m *Machine) text(name string) (string, bool) {
	data, err := readBounded(m.Root, name)
	if err != nil {
		return "", false
	}
	s := strings.TrimSpace(strings.ReplaceAll(string(data), "\x00", "\n"))
	m.log.file(name, s)
	return s, true
}

func readBounded(root fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(root, name)
	if err != nil {
		return nil, err
	}
	// Opening a device node may wake or block it.
	if !info.Mode().IsRegular() || info.Size() > fileLimit {
		return nil, fs.ErrInvalid
	}
	return fs.ReadFile(root, name)
}

// textOf returns a file's content, or "".
func (m *Machine) textOf(name string) string {
	s, _ := m.text(name)
	return s
}

// list returns the names in a folder, sorted; none when it cannot be read.
func (m *Machine) list(dir string) []string {
	entries, err := fs.ReadDir(m.Root, dir)
	if err != nil {
		return nil
	}
	m.log.dir(dir)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// glob returns the names that match a pattern, sorted.
func (m *Machine) glob(pattern string) []string {
	names, err := fs.Glob(m.Root, pattern)
	if err != nil {
		return nil
	}
	for _, n := range names {
		m.log.node(n)
	}
	return names
}

// exists reports whether there is something of that name.
func (m *Machine) exists(name string) bool {
	_, err := fs.Stat(m.Root, name)
	if err == nil {
		m.log.node(name)
	}
	return err == nil
}

// link returns the last part of what a link points to: for sysfs that is the
// name of the driver or module.
func (m *Machine) link(name string) string {
	target, err := fs.ReadLink(m.Root, name)
	if err != nil {
		return ""
	}
	m.log.link(name, path.Base(target))
	return path.Base(target)
}

func (m *Machine) env(name string) (string, bool) {
	v, ok := m.Env(name)
	if ok {
		m.log.env(name, v)
	}
	return v, ok
}

func (m *Machine) find(name string) (string, bool) {
	p, ok := m.Find(name)
	if ok {
		m.log.path(name, p)
	}
	return p, ok
}

// command returns a command's output. sysctl fails as a whole when one key is
// not there, after it printed all the others: output counts, status does not.
func (m *Machine) command(name string, args ...string) string {
	key := commandKey(name, args)
	if out, ok := m.ran[key]; ok {
		return out
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	out, _ := m.Command(ctx, name, args...)
	s := strings.TrimSpace(string(out))
	if m.ran == nil {
		m.ran = map[string]string{}
	}
	m.ran[key] = s
	if s != "" {
		m.log.command(key, s)
	}
	return s
}
