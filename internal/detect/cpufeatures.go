package detect

import (
	"slices"

	"github.com/klauspost/cpuid/v2"
)

// cpuFeature is a feature that matters to inference, by its three names:
// Assay's, cpuid's, and those of the flags of /proc/cpuinfo.
type cpuFeature struct {
	name  string
	id    cpuid.FeatureID
	flags []string
}

// cpuFeatures is in the order in which features are shown.
var cpuFeatures = []cpuFeature{
	{"sse4.2", cpuid.SSE42, []string{"sse4_2"}},
	{"avx", cpuid.AVX, []string{"avx"}},
	{"f16c", cpuid.F16C, []string{"f16c"}},
	{"fma", cpuid.FMA3, []string{"fma"}},
	{"avx2", cpuid.AVX2, []string{"avx2"}},
	{"avx_vnni", cpuid.AVXVNNI, []string{"avx_vnni"}},
	{"avx_vnni_int8", cpuid.AVXVNNIINT8, []string{"avx_vnni_int8"}},
	{"avx512f", cpuid.AVX512F, []string{"avx512f"}},
	{"avx512bw", cpuid.AVX512BW, []string{"avx512bw"}},
	{"avx512vl", cpuid.AVX512VL, []string{"avx512vl"}},
	{"avx512_vnni", cpuid.AVX512VNNI, []string{"avx512_vnni"}},
	{"avx512_bf16", cpuid.AVX512BF16, []string{"avx512_bf16"}},
	{"avx512_fp16", cpuid.AVX512FP16, []string{"avx512_fp16"}},
	{"amx_tile", cpuid.AMXTILE, []string{"amx_tile"}},
	{"amx_int8", cpuid.AMXINT8, []string{"amx_int8"}},
	{"amx_bf16", cpuid.AMXBF16, []string{"amx_bf16"}},
	{"amx_fp16", cpuid.AMXFP16, []string{"amx_fp16"}},
	{"neon", cpuid.ASIMD, []string{"asimd", "neon"}},
	{"fp16", cpuid.ASIMDHP, []string{"asimdhp"}},
	{"dotprod", cpuid.ASIMDDP, []string{"asimddp"}},
	{"i8mm", cpuid.I8MM, []string{"i8mm"}},
	{"bf16", cpuid.BF16, []string{"bf16"}},
	{"sve", cpuid.SVE, []string{"sve"}},
	{"sve2", cpuid.SVE2, []string{"sve2"}},
	{"sme", cpuid.UNKNOWN, []string{"sme"}},
	{"sme2", cpuid.UNKNOWN, []string{"sme2"}},
}

// ordered returns the features without repeats, in the table's order.
func ordered(features []string) []string {
	kept := []string{}
	for _, f := range cpuFeatures {
		if slices.Contains(features, f.name) {
			kept = append(kept, f.name)
		}
	}
	return kept
}

// armParts names ARM cores, which /proc/cpuinfo gives as numbers only, by
// implementer and part.
var armParts = map[string]string{
	"0x41/0xd03": "ARM Cortex-A53",
	"0x41/0xd05": "ARM Cortex-A55",
	"0x41/0xd08": "ARM Cortex-A72",
	"0x41/0xd0b": "ARM Cortex-A76",
	"0x41/0xd0c": "ARM Neoverse-N1",
	"0x41/0xd40": "ARM Neoverse-V1",
	"0x41/0xd42": "ARM Cortex-A78AE",
	"0x41/0xd49": "ARM Neoverse-N2",
	"0x41/0xd4f": "ARM Neoverse-V2",
	"0x41/0xd83": "ARM Neoverse-V3AE",
	"0x41/0xd84": "ARM Neoverse-V3",
	"0x41/0xd8e": "ARM Neoverse-N3",
	"0x4e/0x004": "NVIDIA Carmel",
	"0x51/0x001": "Qualcomm Oryon",
	"0xc0/0xac3": "Ampere-1",
	"0xc0/0xac4": "Ampere-1a",
}
