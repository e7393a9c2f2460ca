package detect

import (
	"runtime"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// native asks the processor itself and, on Windows, the system.
func native() Native {
	c := cpuid.CPU
	n := Native{
		Model: strings.TrimSpace(c.BrandName), Vendor: c.VendorString,
		Cores: c.PhysicalCores, CPUs: runtime.NumCPU(),
		Caches: nativeCaches(c.Cache.L1D, c.Cache.L2, c.Cache.L3),
	}
	for _, f := range cpuFeatures {
		if f.id != cpuid.UNKNOWN && c.Has(f.id) {
			n.Features = append(n.Features, f.name)
		}
	}
	addSystemFacts(&n)
	return n
}

func nativeCaches(l1d, l2, l3 int) []CacheLevel {
	var caches []CacheLevel
	for _, c := range []CacheLevel{{1, "data", int64(l1d)}, {2, "unified", int64(l2)}, {3, "unified", int64(l3)}} {
		if c.SizeBytes > 0 {
			caches = append(caches, c)
		}
	}
	return caches
}
