package detect

import (
	"strconv"
)

// sysctlKeys are asked for in one call. None of them names the machine or its
// user.
var sysctlKeys = []string{
	"machdep.cpu.brand_string", "hw.model", "hw.memsize",
	"hw.physicalcpu", "hw.logicalcpu", "hw.perflevel0.physicalcpu", "hw.perflevel1.physicalcpu",
	"hw.l1dcachesize", "hw.l2cachesize", "hw.l3cachesize",
	"hw.optional.arm.FEAT_FP16", "hw.optional.arm.FEAT_DotProd", "hw.optional.arm.FEAT_I8MM",
	"hw.optional.arm.FEAT_BF16", "hw.optional.arm.FEAT_SME", "hw.optional.arm.FEAT_SME2",
	"iogpu.wired_limit_mb",
}

// sysctls returns what macOS says of those keys that it knows.
func sysctls(m *Machine) map[string]string {
	return fields(m.command("sysctl", sysctlKeys...))
}

// darwinFeatures names the features behind macOS's own keys; every Apple chip
// has NEON.
var darwinFeatures = map[string]string{
	"hw.optional.arm.FEAT_FP16":    "fp16",
	"hw.optional.arm.FEAT_DotProd": "dotprod",
	"hw.optional.arm.FEAT_I8MM":    "i8mm",
	"hw.optional.arm.FEAT_BF16":    "bf16",
	"hw.optional.arm.FEAT_SME":     "sme",
	"hw.optional.arm.FEAT_SME2":    "sme2",
}

func lookDarwinCPU(m *Machine, c *CPU) {
	keys := sysctls(m)
	c.Model = orUnnamed(keys["machdep.cpu.brand_string"], c.Model)
	c.Cores = orCount(keys["hw.physicalcpu"], c.Cores)
	c.CPUs = orCount(keys["hw.logicalcpu"], c.CPUs)
	c.Affinity, c.Usable = c.CPUs, c.Cores
	if m.Arch == "arm64" {
		c.Vendor = "Apple"
		c.Features = append(c.Features, "neon")
	}
	for key, name := range darwinFeatures {
		if keys[key] == "1" {
			c.Features = append(c.Features, name)
		}
	}
	size := func(key string) int { return orCount(keys[key], 0) }
	if caches := nativeCaches(size("hw.l1dcachesize"), size("hw.l2cachesize"), size("hw.l3cachesize")); caches != nil {
		c.Caches = caches
	}
}

func orCount(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return n
	}
	return otherwise
}
