package detect

import (
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// memoryStatus is MEMORYSTATUSEX of the Windows API.
type memoryStatus struct {
	length, load                                  uint32
	totalPhys, availPhys, totalPage, availPage    uint64
	totalVirtual, availVirtual, availExtendedVirt uint64
}

// addSystemFacts fills in what files do not tell on Windows: the version, the
// memory, and on ARM, which has no cpuid, the processor's name.
func addSystemFacts(n *Native) {
	v := windows.RtlGetVersion()
	n.Kernel = fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
	n.MemoryBytes = totalMemory()
	if name := processorName(); name != "" {
		n.Model = name
	}
}

func totalMemory() int64 {
	status := memoryStatus{}
	status.length = uint32(unsafe.Sizeof(status))
	call := windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if ok, _, _ := call.Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		return 0
	}
	return int64(status.totalPhys)
}

func processorName() string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `HARDWARE\DESCRIPTION\System\CentralProcessor\0`, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer key.Close()
	name, _, err := key.GetStringValue("ProcessorNameString")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(name)
}
