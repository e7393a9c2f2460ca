package cell

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Machine are the facts of a host that its results depend on and that a reboot, a
// new kernel or a container does not change: what a container may use of it is not
// among them. Two results are of one machine when these are equal.
type Machine struct {
	System    string   `json:"system"` // operating system and architecture
	CPU       string   `json:"cpu"`
	CPUs      int      `json:"cpus"`       // logical, of the whole machine
	MemoryGiB int      `json:"memory_gib"` // its class: kernels keep different shares of it for themselves
	Devices   []string `json:"devices,omitempty"`
	Driver    string   `json:"driver,omitempty"` // of the accelerator
}

// Key is the machine in short, without its driver: a new one is told by its name.
func (m Machine) Key() string {
	m.Driver = ""
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings and integers always marshal
	}
	sum := sha256.Sum256(append([]byte("machine/1\n"), b...))
	return hex.EncodeToString(sum[:8])
}

// MachineKey is what a host is known by where results of several days are compared:
// its machine, or for results of older versions its id.
func (h Host) MachineKey() string {
	if h.Machine == nil {
		return h.ID
	}
	return h.Machine.Key()
}

// MemoryClass is the size that a machine's memory is sold in, in GiB: the smallest
// usual one that holds what the kernel tells of it.
func MemoryClass(bytes int64) int {
	const gib = 1 << 30
	if bytes <= 0 {
		return 0
	}
	for class := 1; ; class *= 2 {
		for _, size := range []int{class, class + class/2} { // 1, 2, 3, 4, 6, 8, 12, 16, 24, 32 …
			if bytes <= int64(size)*gib {
				return size
			}
		}
	}
}
