package detect

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"testing"
	"testing/fstest"

	"assay/internal/cell"
	"assay/internal/platform"
)

// TestMachineKey: a machine keeps its key over a hundred detections, and over a
// reboot, a new kernel and a container that limits it; another driver keeps it too,
// and is told by its own name.
func TestMachineKey(t *testing.T) {
	t.Parallel()
	keys := map[string]string{}
	for _, name := range machines(t) {
		want := look(t, name, nil).MachineKey()
		for range 100 {
			if key := look(t, name, nil).MachineKey(); key != want {
				t.Fatalf("%s: key %s, then %s", name, want, key)
			}
		}
		for variant, change := range variants {
			h := look(t, name, change)
			if h.MachineKey() != want {
				t.Errorf("%s after %s: %+v", name, variant, h.Machine)
			}
		}
		keys[name] = want
	}
	if keys["h200"] == keys["mi300x"] || keys["apple-m3"] == keys["snapdragon-x"] {
		t.Errorf("different machines have one key: %v", keys)
	}
	before := look(t, "h200", nil).Machine.Driver
	after := look(t, "h200", func(root fstest.MapFS) {
		f := root["proc/driver/nvidia/version"]
		f.Data = driverVersion.ReplaceAllFunc(f.Data, func(b []byte) []byte {
			return append(bytes.TrimRight(b, "0123456789."), "999.1"...)
		})
	}).Machine.Driver
	if before == "" || after != string(platform.CUDA)+" 999.1" {
		t.Errorf("the driver was %q and is %q", before, after)
	}
}

var total = regexp.MustCompile(`MemTotal:\s+(\d+) kB`)

// variants are what happens to a machine that stays the same one.
var variants = map[string]func(fstest.MapFS){
	"a reboot": func(root fstest.MapFS) {
		root["proc/uptime"] = file("12.3 4.5")
		root["proc/sys/kernel/random/boot_id"] = file("2b1e0c1e-0000-4000-8000-000000000000")
		shrink(root, 3000)
	},
	"a new kernel": func(root fstest.MapFS) {
		if root["proc/sys/kernel/osrelease"] != nil {
			root["proc/sys/kernel/osrelease"] = file("9.9.9-next")
		}
		shrink(root, 60000)
	},
	"a container": func(root fstest.MapFS) {
		if root["proc/self/cgroup"] == nil {
			return
		}
		root["proc/self/cgroup"] = file("0::/")
		root["sys/fs/cgroup/cgroup.controllers"] = file("cpu memory")
		root["sys/fs/cgroup/cpu.max"] = file("100000 100000")
		root["sys/fs/cgroup/memory.max"] = file("1073741824")
	},
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text), Mode: 0o444} }

// shrink takes some of the memory away that the kernel tells: it keeps another share.
func shrink(root fstest.MapFS, kib int) {
	if f := root["proc/meminfo"]; f != nil {
		f.Data = total.ReplaceAllFunc(f.Data, func(b []byte) []byte {
			n := 0
			fmt.Sscan(string(total.FindSubmatch(b)[1]), &n)
			return fmt.Appendf(nil, "MemTotal: %d kB", n-kib)
		})
	}
}

// look is the host of a captured machine to which something happened.
func look(t *testing.T, name string, change func(fstest.MapFS)) cell.Host {
	t.Helper()
	m, _, err := Open(filepath.Join(machinesDir, name))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(m.Root.(fstest.MapFS))
	}
	return host(Look(m))
}
