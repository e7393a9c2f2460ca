// Package instructions knows which instruction sets a processor announces but
// cannot execute and the variable that keeps libraries from using them, and
// remembers both for this host.
//
// A virtual machine may announce AMX and hide the CPUID leaves that say how its
// tiles are set up. oneDNN, which torch and OpenVINO multiply with, then sets
// none up, and its first product ends the process with SIGILL. A [Processor] says
// what is announced and which levels of the variable are below it; a [Finding]
// is what products in children have shown (assay_runner/machine/instructions.py makes
// them); a [Memory] keeps findings in Assay's cache, where the Python package
// reads and writes them too. Who asks, and who sets the variable, is
// internal/environment.
package instructions

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Variable bounds the instruction sets that oneDNN uses. OldVariable is its
// name of former times, which oneDNN still reads.
const (
	Variable    = "ONEDNN_MAX_CPU_ISA"
	OldVariable = "DNNL_MAX_CPU_ISA"
)

// level is a value of the variable with the flags that it leaves out.
type level struct {
	name  string
	title string // of what it leaves out
	flags []string
}

// levels are the highest first; assay_runner/machine/instructions.py has the same.
var levels = []level{
	{"AVX512_CORE_FP16", "AMX", []string{"amx_tile", "amx_bf16", "amx_int8", "amx_fp16", "amx_complex"}},
	{"AVX512_CORE_BF16", "AVX-512 FP16", []string{"avx512_fp16"}},
	{"AVX512_CORE_VNNI", "AVX-512 BF16", []string{"avx512_bf16"}},
	{"AVX512_CORE", "AVX-512 VNNI", []string{"avx512_vnni"}},
	{"AVX2", "AVX-512", []string{"avx512f", "avx_vnni"}},
}

// known are the values of the variable that oneDNN understands on x86, in any case
// of letters.
var known = []string{
	"SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2", "AVX512_CORE", "AVX512_CORE_VNNI", "AVX512_CORE_BF16", "AVX512_CORE_FP16",
	"AVX10_1_512", "AVX512_CORE_AMX", "AVX512_CORE_AMX_FP16", "AVX10_1_512_AMX", "AVX10_1_512_AMX_FP16", "AVX10_2_512", "AVX10_2_512_AMX_2", "DEFAULT",
}

// Known are the values that oneDNN understands on this processor; nil where that
// is not known, as on Arm.
func (p Processor) Known() []string {
	if p.Flags == "" {
		return nil
	}
	return slices.Clone(known)
}

// asked is how many of the first levels leave out what is worth asking for: the
// newest sets, which virtual machines get wrong.
const asked = 3

// Processor is what /proc/cpuinfo says of the first processor. The zero value
// announces nothing.
type Processor struct {
	Vendor, Family, Model, Name string
	Leaf                        string // the largest of CPUID, in decimal
	Flags                       string // as they stand there, separated by spaces
}

// Read reads a file in the form of /proc/cpuinfo; none is the zero Processor.
func Read(path string) Processor {
	text, err := os.ReadFile(path)
	if err != nil {
		return Processor{}
	}
	return Parse(string(text))
}

// Parse takes the first processor of a text in the form of /proc/cpuinfo.
func Parse(text string) Processor {
	first, _, _ := strings.Cut(text, "\n\n")
	f := map[string]string{}
	for line := range strings.Lines(first) {
		name, value, _ := strings.Cut(line, ":")
		f[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return Processor{Vendor: f["vendor_id"], Family: f["cpu family"], Model: f["model"], Name: f["model name"], Leaf: f["cpuid level"], Flags: f["flags"]}
}

func (p Processor) has(flags []string) bool {
	all := strings.Fields(p.Flags)
	return slices.ContainsFunc(flags, func(f string) bool { return slices.Contains(all, f) })
}

// Announces reports whether the processor announces what is worth trying.
func (p Processor) Announces() bool {
	return slices.ContainsFunc(levels[:asked], func(l level) bool { return p.has(l.flags) })
}

// Levels are the values of the variable below what the processor announces, the
// highest first; none on a processor without such sets.
func (p Processor) Levels() []string {
	first := slices.IndexFunc(levels, func(l level) bool { return p.has(l.flags) })
	if first < 0 {
		return nil
	}
	var names []string
	for _, l := range levels[first:] {
		names = append(names, l.name)
	}
	return names
}

// Below is the next value below the one in force ("" is none in force); "" when
// there is no lower one.
func (p Processor) Below(now string) string {
	all := p.Levels()
	if now == "" {
		if len(all) == 0 {
			return ""
		}
		return all[0]
	}
	if i := slices.Index(all, now); i >= 0 && i+1 < len(all) {
		return all[i+1]
	}
	return ""
}

// left are the levels down to the one in force whose sets are announced.
func (p Processor) left(now string) []level {
	to := slices.IndexFunc(levels, func(l level) bool { return l.name == now })
	return slices.DeleteFunc(slices.Clone(levels[:to+1]), func(l level) bool { return !p.has(l.flags) })
}

// Off are the announced flags that the level in force leaves out.
func (p Processor) Off(now string) []string {
	var out []string
	for _, l := range p.left(now) {
		for _, f := range l.flags {
			if p.has([]string{f}) {
				out = append(out, f)
			}
		}
	}
	return out
}

// Note says in a sentence what is off at the level in force; "" is nothing.
func (p Processor) Note(now string) string {
	var titles []string
	for _, l := range p.left(now) {
		titles = append(titles, l.title)
	}
	switch n := len(titles); n {
	case 0:
		return ""
	case 1:
		return titles[0] + " is off: this processor announces it and cannot execute it"
	default:
		return strings.Join(titles[:n-1], ", ") + " and " + titles[n-1] + " are off: this processor announces them and cannot execute them"
	}
}

// tileLeaf is the first CPUID leaf that says how AMX's tiles are set up.
const tileLeaf = 0x1d

// cause names the fact of CPUID that explains it, where it is seen.
func (p Processor) cause() string {
	leaf, err := strconv.Atoi(p.Leaf)
	if err != nil || leaf >= tileLeaf || !p.has([]string{"amx_tile"}) {
		return ""
	}
	return fmt.Sprintf("its CPUID ends at leaf 0x%x, so the palettes of leaves 0x1d and 0x1e, which set up AMX's tiles, cannot be read", leaf)
}

// Explain says in sentences what was found and what is done about it; "" when
// nothing died.
func (p Processor) Explain(f Finding) string {
	if len(f.Died) == 0 {
		return ""
	}
	parts := []string{f.deaths()}
	switch {
	case f.Lowered != "":
		parts = append(parts, p.Note(f.Lowered), fmt.Sprintf("every child runs with %s=%s", Variable, f.Lowered))
	case len(f.Untried()) > 0:
		parts = append(parts, "whether a lower set of instructions helps is not known")
	default:
		parts = append(parts, "no lower set of instructions helps")
	}
	parts = append(parts, p.cause())
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// deaths names what died and how, without the levels that were tried on the way.
func (f Finding) deaths() string {
	var order []string
	what := map[string][]string{}
	for _, d := range f.Died {
		name := strings.TrimSpace(d.Engine + " " + d.DType)
		how := signalName(d.Signal)
		if what[how] == nil {
			order = append(order, how)
		}
		if !slices.Contains(what[how], name) {
			what[how] = append(what[how], name)
		}
	}
	for i, how := range order {
		order[i] = strings.Join(what[how], ", ") + " died of " + how
	}
	return strings.Join(order, ", ")
}

func signalName(number int) string {
	switch syscall.Signal(number) {
	case syscall.SIGILL:
		return "SIGILL"
	case syscall.SIGSEGV:
		return "SIGSEGV"
	}
	return fmt.Sprintf("signal %d", number)
}
