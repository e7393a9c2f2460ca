package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/platform"
)

// Differs is a field whose value is not the same on both sides.
type Differs struct {
	Field string `json:"field"`
	A     string `json:"a"`
	B     string `json:"b"`
	Cells int    `json:"cells,omitempty"` // how many cells differ so
}

// Refusal is a cell that was not compared, and why.
type Refusal struct {
	Cell Named `json:"cell"`
	Differs
	What string `json:"what"`
}

// stops is how much a field that differs keeps from being compared.
type stops int

const (
	stopsNothing stops = iota // it is listed
	stopsNumbers              // times, memory and energy say nothing about each other
	stopsAll                  // neither do verdicts
)

// field is something that both sides have a value of.
type field struct {
	name  string
	stops stops
	of    func(Entry) string
	help  string
}

// fields is the table of what is looked at, in the order in which it is told. Of
// the fields that keep cells apart the first that differs is named.
var fields = append([]field{
	{"host", stopsAll, func(e Entry) string { return e.Host.MachineKey() }, "the machine: processor, memory class, devices"},
	{"driver", stopsNumbers, driver, "the driver of the accelerator"},
	{"files", stopsNumbers, func(e Entry) string { return e.Result.Content }, "the user's own files that the model is made of"},
	{"weights", stopsNumbers, func(e Entry) string { return loaded(e.Result) }, "the given weights, by their digest"},
	{"subject", stopsNumbers, func(e Entry) string { return e.Result.SubjectHash }, "configuration, weights and inputs"},
	{"timing", stopsNumbers, func(e Entry) string { return string(e.Result.Timing) }, "quick or full"},
	{"actual settings", stopsNumbers, func(e Entry) string { return actual(e.Result) }, "what memory made of dtype, batch and input size"},
	{"clock", stopsNumbers, func(e Entry) string { return synced(e.Result) }, "whether the device was waited for"},
	{"inputs inside", stopsNumbers, func(e Entry) string { return e.Result.Context.InputsInside }, "what a sample includes"},
	{"power", stopsNumbers, func(e Entry) string { return e.Result.Context.PowerSource }, "mains or battery"},
}, listed...)

// keyed are fields of a cell itself, by which results are matched. Named in
// Options.Across they are left out of the match.
var keyed = []struct {
	name   string
	ignore cell.Any
	help   string
}{
	{"target", cell.AnyTarget, "platform, device, engine and browser"},
	{"dtype", cell.AnyDType, "what it computes in"},
	{"threads", cell.AnyThreads, "threads that were asked for"},
}

// listed are fields that are only told.
var listed = []field{
	{"governor", stopsNothing, func(e Entry) string { return e.Result.Context.Governor }, ""},
	{"threads used", stopsNothing, func(e Entry) string { return count(e.Result.Context.Threads) }, ""},
	{"usable CPUs", stopsNothing, func(e Entry) string { return count(e.Result.Context.Affinity) }, ""},
	{"usable cores", stopsNothing, func(e Entry) string { return count(e.Host.Cores) }, ""},
	{"kernel", stopsNothing, func(e Entry) string { return e.Host.Kernel }, ""},
	{"attention", stopsNothing, func(e Entry) string { return e.Result.Context.AttnImpl }, ""},
	{"TF32", stopsNothing, func(e Entry) string { return truth(e.Result.Context.TF32) }, ""},
	{"throttled", stopsNothing, func(e Entry) string { return truth(e.Result.Context.Throttled) }, ""},
	{"browser", stopsNothing, func(e Entry) string { return browser(e.Result) }, ""},
	{"kernels", stopsNothing, func(e Entry) string { return pairsOf(e.Result.Kernels) }, ""},
	{"engine settings", stopsNothing, func(e Entry) string { return pairsOf(e.Result.Context.EngineSettings) }, ""},
	{"variables", stopsNothing, func(e Entry) string { return pairsOf(e.Result.Context.Variables) }, ""},
}

// Field is a name that Options.Across takes, and what it stands for.
type Field struct{ Name, Help string }

// Fields lists what may be allowed to differ.
func Fields() []Field {
	var out []Field
	for _, f := range keyed {
		out = append(out, Field{f.name, f.help})
	}
	for _, f := range fields {
		if f.stops > stopsNothing {
			out = append(out, Field{strings.ReplaceAll(f.name, " ", "-"), f.help})
		}
	}
	return out
}

// CheckAcross refuses a name that is none of Fields.
func CheckAcross(names []string) error {
	var known []string
	for _, f := range Fields() {
		known = append(known, f.Name)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return fmt.Errorf("unknown field %q: the fields that may differ are %s", n, strings.Join(known, ", "))
		}
	}
	return nil
}

// Key is what results of a cell are matched by.
func (o Options) Key(c cell.Cell) cell.Key { return c.Key(o.ignoring()...) }

func (o Options) ignoring() []cell.Any {
	out := []cell.Any{cell.AnyCheckpointIfTiny}
	for _, k := range keyed {
		if slices.Contains(o.Across, k.name) {
			out = append(out, k.ignore)
		}
	}
	return out
}

func (o Options) allows(f field) bool {
	return slices.Contains(o.Across, strings.ReplaceAll(f.name, " ", "-"))
}

// differing is the first field that keeps this much from being compared; nil where
// none does. Where a side does not know a value, nothing is known to differ.
func (p Pair) differing(o Options, s stops) *Differs {
	for _, f := range fields {
		if f.stops != s || o.allows(f) {
			continue
		}
		a, b := f.of(p.A), f.of(p.B)
		if a == b || a == "" || b == "" {
			continue
		}
		if f.name == "host" {
			a, b = facts(p.A.Host, p.B.Host)
		}
		return &Differs{Field: f.name, A: a, B: b}
	}
	return nil
}

// facts are what tells two machines apart, in words.
func facts(a, b cell.Host) (was, is string) {
	if a.Machine == nil || b.Machine == nil {
		return a.ID, b.ID
	}
	var x, y []string
	for _, f := range []struct {
		name string
		of   func(cell.Machine) string
	}{
		{"CPU", func(m cell.Machine) string { return m.CPU }},
		{"logical CPUs", func(m cell.Machine) string { return count(m.CPUs) }},
		{"memory", func(m cell.Machine) string { return fmt.Sprintf("%d GiB", m.MemoryGiB) }},
		{"devices", func(m cell.Machine) string { return strings.Join(m.Devices, " + ") }},
		{"system", func(m cell.Machine) string { return m.System }},
	} {
		if v, w := f.of(*a.Machine), f.of(*b.Machine); v != w {
			x, y = append(x, f.name+" "+orNone(v)), append(y, f.name+" "+orNone(w))
		}
	}
	return strings.Join(x, ", "), strings.Join(y, ", ")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// contexts lists what differs between the sides of the pairs and keeps nothing from
// being compared: versions first, then the table's.
func contexts(pairs []Pair, o Options) []Differs {
	counts := map[Differs]int{}
	var order []Differs
	add := func(d Differs) {
		if d.A == d.B {
			return
		}
		if counts[d] == 0 {
			order = append(order, d)
		}
		counts[d]++
	}
	for _, p := range pairs {
		a, b := p.A.Result.Context.Versions, p.B.Result.Context.Versions
		for _, name := range slices.Sorted(maps.Keys(merged(a, b))) {
			add(Differs{Field: name, A: a[name], B: b[name]})
		}
		for _, f := range fields {
			a, b := f.of(p.A), f.of(p.B)
			if f.name == "host" && a != b {
				a, b = facts(p.A.Host, p.B.Host)
			}
			if f.stops == stopsNothing || o.allows(f) {
				add(Differs{Field: f.name, A: a, B: b})
			}
		}
	}
	out := []Differs{}
	for _, d := range order {
		d.Cells = counts[Differs{Field: d.Field, A: d.A, B: d.B}]
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b Differs) int { return b.Cells - a.Cells })
	return out
}

// Contexts lists what differs between the contexts of two results, whether or not it
// would keep their numbers from being compared.
func Contexts(a, b Entry) []Differs {
	var all []string
	for _, f := range Fields() {
		all = append(all, f.Name)
	}
	out := contexts([]Pair{{a, b}}, Options{Across: all})
	for i := range out {
		out[i].Cells = 0
	}
	return out
}

func merged(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, b)
	return out
}

// driver is that of a machine with an accelerator; results on the CPU know of none.
func driver(e Entry) string {
	if e.Host.Machine == nil || e.Result.Cell.Platform == platform.CPU {
		return ""
	}
	return e.Host.Machine.Driver
}

func loaded(r *cell.Result) string {
	if r.Loaded == nil {
		return ""
	}
	return r.Loaded.Digest
}

// actual is what ran where that is not what the cell says.
func actual(r *cell.Result) string {
	switch {
	case r.Actual == nil:
		return ""
	case r.Actual.DType == string(r.Cell.DType) && r.Actual.Batch == max(r.Cell.Batch, 1):
		return "as asked"
	}
	return fmt.Sprintf("%s, batch %d", r.Actual.DType, r.Actual.Batch)
}

func synced(r *cell.Result) string {
	if r.Latency == nil || r.Latency.Sync == "" {
		return "synchronised"
	}
	return r.Latency.Sync
}

func browser(r *cell.Result) string {
	if b := r.Context.Browser; b != nil {
		return b.Name + " " + b.Version
	}
	return ""
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func truth(b *bool) string {
	if b == nil {
		return ""
	}
	return map[bool]string{true: "yes", false: "no"}[*b]
}

func pairsOf(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return strings.Join(out, " ")
}
