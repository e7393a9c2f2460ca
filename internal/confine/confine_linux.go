package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	kernel "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// netVersion is the version of landlock from which on it knows TCP.
const netVersion = 4

func landlockVersion() int {
	v, err := kernel.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

// supported refuses what the policy requires and the kernel does not have.
func supported(o order) error {
	if o.Landlock != Require {
		return nil
	}
	switch v := landlockVersion(); {
	case v == 0:
		return errors.New(`the policy requires landlock, and this kernel does not have it: set landlock to "use", or start a kernel with it (Linux 5.13 or later, lsm=landlock)`)
	case v < netVersion && !o.Network:
		return fmt.Errorf("the policy keeps tasks from the network, for which landlock must be of version %d: this kernel has %d", netVersion, v)
	}
	return nil
}

func plan(o order) []string {
	var out []string
	l := o.Limits
	if l.Memory > 0 {
		out = append(out, fmt.Sprintf("a task's process allocates at most %.1f GB (rlimit)", float64(l.Memory)/1e9))
	}
	if o.Group != "" {
		out = append(out, fmt.Sprintf("all tasks together have %.1f GB (cgroup %s)", float64(l.TotalMemory)/1e9, o.Group))
	}
	if l.Time > 0 {
		out = append(out, fmt.Sprintf("a task takes at most %v", time.Duration(l.Time)))
	}
	if l.FileSize > 0 {
		out = append(out, fmt.Sprintf("a file has at most %.1f GB (rlimit)", float64(l.FileSize)/1e9))
	}
	v := landlockVersion()
	switch {
	case o.Landlock != Use && o.Landlock != Require:
	case v == 0:
		out = append(out, "files are NOT confined: this kernel has no landlock")
	default:
		out = append(out, fmt.Sprintf("tasks write only to %d folders (landlock %d)", len(o.Write), v))
		if len(o.Read) > 0 {
			out = append(out, fmt.Sprintf("tasks read only from %d folders, and the system's", len(o.Read)))
		}
		if !o.Network && v < netVersion {
			out = append(out, "the network is NOT confined: this kernel's landlock is too old")
		} else if !o.Network {
			out = append(out, "tasks have no TCP")
		}
	}
	return out
}

// become applies the order and executes the program.
func become(o order, program string, argv []string) error {
	if o.Group != "" {
		if err := os.WriteFile(filepath.Join(o.Group, "cgroup.procs"), []byte("0"), 0); err != nil {
			return fmt.Errorf("enter the cgroup: %w", err)
		}
	}
	if err := limit(o.Limits); err != nil {
		return err
	}
	if o.Landlock == Use || o.Landlock == Require {
		if err := lock(o); err != nil {
			return fmt.Errorf("confine files: %w", err)
		}
	}
	return fmt.Errorf("start %s: %w", program, unix.Exec(program, argv, os.Environ()))
}

// limit sets rlimits. Memory is what is allocated (RLIMIT_DATA): drivers of GPUs reserve addresses by the
// terabyte, which RLIMIT_AS would count.
func limit(l Limits) error {
	seconds := time.Duration(l.Time).Seconds() * float64(runtime.NumCPU())
	for _, row := range []struct {
		what  int
		value uint64
		name  string
	}{
		{unix.RLIMIT_DATA, uint64(l.Memory), "memory"},
		{unix.RLIMIT_FSIZE, uint64(l.FileSize), "file size"},
		{unix.RLIMIT_NOFILE, uint64(l.OpenFiles), "open files"},
		{unix.RLIMIT_CPU, uint64(seconds), "processor time"}, // should whoever watches the clock be gone
	} {
		if row.value == 0 {
			continue
		}
		var now unix.Rlimit
		if err := unix.Getrlimit(row.what, &now); err != nil {
			return fmt.Errorf("limit %s: %w", row.name, err)
		}
		v := min(row.value, now.Max)
		if err := unix.Setrlimit(row.what, &unix.Rlimit{Cur: v, Max: v}); err != nil {
			return fmt.Errorf("limit %s: %w", row.name, err)
		}
	}
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

// system is what every program reads.
var system = []string{"/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/proc", "/sys", "/dev", "/run", "/var/lib"}

// lock confines this process, and what it becomes, to folders.
func lock(o order) error {
	read := []string{"/"}
	if len(o.Read) > 0 {
		read = slices.Concat(o.Read, system)
	}
	// /proc is where a child says how ready it is to be killed for memory; /dev has devices.
	write := slices.Concat(o.Write, []string{"/dev", "/proc"})
	c := landlock.V5
	if o.Network {
		c = landlock.V3
	}
	c = c.BestEffort()
	rules := []landlock.Rule{landlock.RODirs(read...).IgnoreIfMissing(), landlock.RWDirs(write...).WithRefer().WithIoctlDev().IgnoreIfMissing()}
	if o.Network {
		return c.RestrictPaths(rules...)
	}
	return c.Restrict(rules...)
}
