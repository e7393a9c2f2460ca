package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/cell"
)

// Pair is a cell's result on both sides.
type Pair struct{ A, B Entry }

// matched is what two sides have in common, and what only one has.
type matched struct {
	pairs        []Pair
	a, b         []Entry // that count, of each side
	onlyA, onlyB []Named
}

// place is a cell on a machine.
type place struct {
	key     cell.Key
	machine string
}

// match puts the newest result of each cell of a beside that of b: of one machine
// where there is one on both sides, else of any, so that what keeps them apart can
// be told. The same sides give the same order every time.
func match(a, b Side, o Options) matched {
	m := matched{onlyA: []Named{}, onlyB: []Named{}}
	oldest, newest := newestOf(a, o), newestOf(b, o)
	for _, at := range ordered(oldest) {
		if is, ok := newest[at]; ok {
			m.add(oldest[at], is)
			delete(oldest, at)
			delete(newest, at)
		}
	}
	left, others := anywhere(oldest), anywhere(newest)
	for _, at := range ordered(left) {
		was := left[at]
		if is, ok := others[at]; ok {
			m.add(was, is)
			delete(others, at)
		} else {
			m.a, m.onlyA = append(m.a, was), append(m.onlyA, Name(was.Result.Cell))
		}
	}
	for _, at := range ordered(others) {
		m.b, m.onlyB = append(m.b, others[at]), append(m.onlyB, Name(others[at].Result.Cell))
	}
	slices.SortFunc(m.onlyA, Named.compare)
	slices.SortFunc(m.onlyB, Named.compare)
	return m
}

// ordered are the places of results in a fixed order: by what most of them differ in, so
// that few need to be written out whole.
func ordered(on map[place]Entry) []place {
	type called struct {
		name string
		at   *place
	}
	list := make([]called, 0, len(on))
	for at := range on {
		c := at.key.Cell()
		list = append(list, called{c.Type + " " + c.Checkpoint + " " + string(c.Platform) + " " + string(c.Engine) + " " + string(c.DType), &at})
	}
	slices.SortFunc(list, func(x, y called) int {
		if by := strings.Compare(x.name, y.name); by != 0 {
			return by
		}
		return cmp.Or(strings.Compare(x.at.key.String(), y.at.key.String()), strings.Compare(x.at.machine, y.at.machine))
	})
	out := make([]place, len(list))
	for i, c := range list {
		out[i] = *c.at
	}
	return out
}

func (m *matched) add(was, is Entry) {
	m.pairs, m.a, m.b = append(m.pairs, Pair{was, is}), append(m.a, was), append(m.b, is)
}

// anywhere is the newest result of each cell, on whatever machine.
func anywhere(on map[place]Entry) map[place]Entry {
	out := map[place]Entry{}
	for at, e := range on {
		at.machine = ""
		if other, ok := out[at]; !ok || e.better(other) {
			out[at] = e
		}
	}
	return out
}

// newestOf is the newest result of each cell that says something about its model;
// one under which the machine broke counts only where there is no other.
func newestOf(s Side, o Options) map[place]Entry {
	out, across := map[place]Entry{}, slices.Contains(o.Across, "host")
	for _, e := range s.Entries {
		if e.Result.Cell.Type == "noop" && !times(e.Result) {
			continue // a no-op is no model; its times are those of Assay itself
		}
		at := place{key: o.Key(e.Result.Cell)}
		if !across {
			at.machine = e.Host.MachineKey()
		}
		if other, ok := out[at]; !ok || e.better(other) {
			out[at] = e
		}
	}
	return out
}

// mixed says where the newest result of a cell hides that of the other side of a run, whose two sides have the same cells.
func mixed(s Side, o Options) []string {
	type part struct {
		key cell.Key
		run string
	}
	first, both := map[part]string{}, map[part]bool{}
	for _, e := range s.Entries {
		if e.Result.Side == "" {
			continue
		}
		at := part{o.Key(e.Result.Cell), e.Run}
		if side, ok := first[at]; ok && side != e.Result.Side {
			both[at] = true
		}
		first[at] = e.Result.Side
	}
	if len(both) == 0 {
		return nil
	}
	var runs []string
	for at := range both {
		runs = append(runs, at.run)
	}
	run := slices.Min(runs)
	return []string{fmt.Sprintf("%s has both sides of %d of its cells, from a run that compared two: the newest counts; name %s#a or %s#b to take one side", s.Name, len(both), run, run)}
}

// better says whether it stands for its cell rather than the other does.
func (e Entry) better(other Entry) bool {
	if a, b := e.Result.Broke(), other.Result.Broke(); a != b {
		return b
	}
	return cmp.Or(
		e.Result.StartedAt.Compare(other.Result.StartedAt), strings.Compare(e.Run, other.Run), strings.Compare(e.Result.Side, other.Result.Side),
		e.repeats()-other.repeats(), strings.Compare(e.Host.ID, other.Host.ID), // of what began at once, always the same one
	) > 0
}

func (e Entry) repeats() int {
	if e.Result.Latency == nil {
		return 0
	}
	return len(e.Result.Latency.SamplesMS)
}

// Name is how people call a cell.
func Name(c cell.Cell) Named {
	n := c.Key().Cell()
	settings := n.Beside()
	if n.Size == cell.Full && n.Checkpoint == "" {
		settings = append([]string{"full"}, settings...)
	}
	if n.Threads != 0 {
		settings = append(settings, fmt.Sprintf("threads %d", n.Threads))
	}
	if n.Task != "" {
		settings = append(settings, n.Task)
	}
	return Named{Model: n.Model(), Family: c.Family, Target: n.Where().String(), Platform: string(n.Platform), DType: string(n.DType), Settings: settings}
}

func (p Pair) named() Named {
	n, b := Name(p.A.Result.Cell), Name(p.B.Result.Cell)
	otherwise := func(a, b string) string {
		if a == b {
			return ""
		}
		return b
	}
	n.ModelB, n.TargetB, n.PlatformB, n.DTypeB = otherwise(n.Model, b.Model), otherwise(n.Target, b.Target), otherwise(n.Platform, b.Platform), otherwise(n.DType, b.DType)
	if !slices.Equal(n.Settings, b.Settings) {
		n.SettingsB = append([]string{}, b.Settings...)
	}
	n.Family = cmp.Or(n.Family, b.Family)
	return n
}

// to is a value of both sides in words.
func to(a, b string) string {
	if b == "" {
		return a
	}
	return a + " → " + b
}

// String is the cell in one line: "bert on cpu, fp32, batch 4", or where the sides are not
// alike "bert on cpu → openvino, fp32, batch 4".
func (n Named) String() string {
	words := []string{to(n.Model, n.ModelB) + " on " + to(n.Target, n.TargetB), to(n.DType, n.DTypeB)}
	if n.SettingsB == nil {
		return strings.Join(append(words, n.Settings...), ", ")
	}
	for _, s := range n.Settings {
		if slices.Contains(n.SettingsB, s) {
			words = append(words, s)
		}
	}
	only := func(of, other []string) string {
		left := slices.DeleteFunc(slices.Clone(of), func(s string) bool { return slices.Contains(other, s) })
		return cmp.Or(strings.Join(left, " and "), "as it is")
	}
	return strings.Join(append(words, to(only(n.Settings, n.SettingsB), only(n.SettingsB, n.Settings))), ", ")
}

func (n Named) compare(other Named) int { return strings.Compare(n.String(), other.String()) }

func summary(s Side, counted []Entry) Summary {
	out := Summary{Name: s.Name, Kind: s.Kind, Runs: []string{}, Cells: len(counted), Hosts: []cell.Host{}}
	ids := map[string]bool{}
	for _, e := range counted {
		out.Runs = append(out.Runs, e.Run)
		at := e.Result.StartedAt
		if !at.IsZero() && (out.From.IsZero() || at.Before(out.From)) {
			out.From = at
		}
		if at.After(out.To) {
			out.To = at
		}
		if !ids[e.Host.ID] {
			ids[e.Host.ID] = true
			out.Hosts = append(out.Hosts, e.Host)
		}
	}
	slices.Sort(out.Runs)
	out.Runs = slices.Compact(out.Runs)
	slices.SortFunc(out.Hosts, func(a, b cell.Host) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Apart is how long after the results of a those of b were made; 0 where they overlap.
func (r Report) Apart() time.Duration { return max(0, r.B.From.Sub(r.A.To)) }

// sort gives every list its order: what is worst first, then by name.
func (r *Report) sort() {
	slices.SortFunc(r.Turns, func(a, b Turn) int { return cmp.Or(a.order()-b.order(), a.Cell.compare(b.Cell)) })
	slices.SortFunc(r.Speed, func(a, b Speed) int { // of thousands, most by their ratio alone
		if by := cmp.Or(a.Verdict.order()-b.Verdict.order(), cmp.Compare(b.size(), a.size())); by != 0 {
			return by
		}
		return a.Cell.compare(b.Cell)
	})
	slices.SortFunc(r.Changes, func(a, b Change) int {
		return cmp.Or(strings.Compare(a.What, b.What), -cmp.Compare(a.Ratio, b.Ratio), a.Cell.compare(b.Cell))
	})
	slices.SortFunc(r.Refused, func(a, b Refusal) int {
		return cmp.Or(strings.Compare(a.Field, b.Field), a.Cell.compare(b.Cell))
	})
}

// Newest is the newest result of each cell on each machine, in a fixed order.
func (s Side) Newest() []Entry {
	var out []Entry
	for _, e := range newestOf(s, Options{}) {
		if !e.Result.Broke() {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.Result.Cell.Key().String(), b.Result.Cell.Key().String()), strings.Compare(a.Host.ID, b.Host.ID))
	})
	return out
}
