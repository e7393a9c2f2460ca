package board

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/matrix"
	"assay/internal/platform"
)

// Input is what a board is made of.
type Input struct {
	Catalog *catalog.Catalog
	Book    *atlas.Book
	Own     []matrix.Observation
	Now     time.Time
	Assay   string // version
}

// dtypes are all that a cell can be asked for.
var dtypes = []platform.DType{platform.FP32, platform.FP16, platform.BF16, platform.INT8, platform.A16W8, platform.W8, platform.W4}

// maker is a board under construction.
type maker struct {
	Input
	board    Board
	targets  []string
	versions places
	words    places
	newest   Newest
	own      map[string][]atlas.Own              // by type
	squares  map[string]map[string]matrix.Square // own results folded, by target and model
	speedups map[string][]matrix.Square          // and of all targets, by model
}

// Make folds a board.
func Make(in Input) (Board, error) {
	m := &maker{Input: in, newest: Newest{}, own: map[string][]atlas.Own{}, squares: map[string]map[string]matrix.Square{}, speedups: map[string][]matrix.Square{}}
	m.board = Board{
		Schema: Schema, MadeAt: in.Now.UTC().Truncate(time.Second), Assay: in.Assay, Transformers: in.Catalog.Transformers,
		StaleDays: Days, Least: Least, Own: len(in.Own),
		Verdicts: texts(Verdicts()), Evidences: texts(Evidences()), DTypes: texts(dtypes), Families: cell.Families(),
	}
	m.group()
	m.columns()
	if err := m.rows(); err != nil {
		return Board{}, err
	}
	m.board.Versions, m.board.Words = m.versions.list(), m.words.list()
	return m.board, nil
}

// group sorts own results by type, and folds their numbers: of each target by
// itself, since a square of a matrix shows one engine of a platform, and of all
// for what is compared with the CPU.
func (m *maker) group() {
	byTarget := map[string][]matrix.Observation{}
	for _, o := range m.Own {
		m.own[o.Cell.Type] = append(m.own[o.Cell.Type], atlas.Own{Result: o.Result, Host: o.Host, Imported: o.Imported})
		target := o.Cell.Normal().Target
		byTarget[target] = append(byTarget[target], o)
	}
	for _, r := range matrix.Fold(m.Own, matrix.Options{Now: m.Now}).Rows {
		m.speedups[r.Model] = r.Squares
	}
	for target, list := range byTarget {
		m.squares[target] = map[string]matrix.Square{}
		for _, r := range matrix.Fold(list, matrix.Options{Now: m.Now}).Rows {
			for _, s := range r.Squares {
				if s.Verdict != matrix.NotRun {
					m.squares[target][r.Model] = s
				}
			}
		}
	}
}

// columns are the atlas's targets, the eight platforms first, and then others
// that own results are of.
func (m *maker) columns() {
	add := func(target string) {
		if !slices.Contains(m.targets, target) {
			m.targets = append(m.targets, target)
		}
	}
	for _, n := range platform.Names() {
		add(string(n))
		for _, c := range m.Book.Columns() {
			if t, err := platform.ParseTarget(c.Target); err == nil && t.Platform == n {
				add(t.String())
			}
		}
	}
	var more []string
	for _, o := range matrix.OfModels(m.Own) {
		if t := o.Cell.Normal().Target; !slices.Contains(m.targets, t) {
			more = append(more, t)
		}
	}
	slices.Sort(more)
	for _, t := range more {
		add(t)
	}
	for _, t := range m.targets {
		m.board.Columns = append(m.board.Columns, columnOf(t))
	}
}

// known is what people call the devices of targets, for searching.
var known = map[platform.Name][]string{
	platform.CPU:      {"processor", "x86", "arm", "torch"},
	platform.CUDA:     {"NVIDIA", "GeForce", "RTX", "H100", "H200", "A100", "Jetson"},
	platform.ROCm:     {"AMD", "Radeon", "Instinct", "MI300", "HIP"},
	platform.MPS:      {"Apple", "Mac", "M1", "M2", "M3", "M4", "Metal", "iPhone"},
	platform.OpenVINO: {"Intel", "Core Ultra", "NPU", "Arc"},
	platform.QNN:      {"Qualcomm", "Snapdragon 8 Gen 3", "sm8650", "Snapdragon X", "Hexagon", "HTP", "NPU", "Android"},
	platform.WebNN:    {"browser", "Chrome", "Edge"},
	platform.WebGPU:   {"browser", "Chrome", "Firefox", "Safari"},
}

func columnOf(target string) Column {
	t, err := platform.ParseTarget(target)
	if err != nil {
		return Column{Target: target, Name: target}
	}
	p, _ := platform.Get(t.Platform)
	name, vendor, _ := strings.Cut(strings.TrimSuffix(p.Title, ")"), " (")
	c := Column{Target: target, Platform: t.Platform, Name: name, Vendor: vendor, Also: known[t.Platform]}
	if rest := strings.TrimPrefix(target, string(t.Platform)); rest != "" {
		c.Vendor = strings.Trim(rest, ":/@")
	}
	return c
}

// rows are a row for each type, and for each checkpoint that has results of its own.
func (m *maker) rows() error {
	type asked struct {
		model atlas.Model
		entry catalog.Entry
	}
	var list []asked
	chosen, err := m.Catalog.Select(catalog.Selector{All: true})
	if err != nil {
		return err
	}
	for _, choice := range chosen {
		e := choice.Entry
		list = append(list, asked{atlas.Model{Name: e.Type, Type: e.Type, Task: e.Task}, e})
		for _, name := range checkpoints(m.own[e.Type]) {
			list = append(list, asked{atlas.Model{Name: name, Type: e.Type, Task: e.Task, Checkpoint: name}, e})
		}
	}
	answers := make([]atlas.Answer, len(list))
	for i, a := range list {
		var err error
		if answers[i], err = m.Book.Ask(a.model, m.targets, m.own[a.model.Type]); err != nil {
			return err
		}
		for _, l := range answers[i].Targets {
			m.newest.Add(l.Claim)
		}
	}
	for i, a := range list {
		m.board.Rows = append(m.board.Rows, m.row(a.model, a.entry, answers[i]))
	}
	slices.SortStableFunc(m.board.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Family, b.Family), strings.Compare(strings.ToLower(cmp.Or(a.Type, a.Model)), strings.ToLower(cmp.Or(b.Type, b.Model))), strings.Compare(a.Type, b.Type))
	})
	return nil
}

// checkpoints are those that own results are of, at their full size.
func checkpoints(own []atlas.Own) []string {
	var names []string
	for _, o := range own {
		if c := matrix.ModelOf(o.Cell).Checkpoint; c != "" && !slices.Contains(names, c) && o.Content == "" {
			names = append(names, c)
		}
	}
	slices.Sort(names)
	return names
}

func (m *maker) row(model atlas.Model, e catalog.Entry, answer atlas.Answer) Row {
	r := Row{Model: model.Name, Family: slices.Index(m.board.Families, e.Family), Task: e.Task, Priority: e.Priority}
	if model.Checkpoint != "" {
		r.Type = model.Type
	} else {
		r.Also = names(m.Catalog, e)
	}
	for _, l := range answer.Targets {
		c := m.cell(l)
		c.Numbers = numbers(m.squares[l.Target][model.Name], m.speedups[model.Name], l.Target)
		r.Cells = append(r.Cells, c)
	}
	return r
}

// names are a type's checkpoints, by which people know it.
func names(cat *catalog.Catalog, e catalog.Entry) []string {
	var out []string
	if e.Checkpoint != "" {
		out = append(out, e.Checkpoint)
	}
	for _, c := range cat.CheckpointsOf(e.Type) {
		if !slices.Contains(out, c.Name) {
			out = append(out, c.Name)
		}
	}
	return out
}

// cell is a line of an answer. What nobody ran has no verdict but not-run; what
// was tried and could not be judged is unknown.
func (m *maker) cell(l atlas.Line) Cell {
	if !l.Known() && l.Run == nil {
		return Cell{Verdict: code(Verdicts(), matrix.NotRun), Word: m.words.of(l.Note)}
	}
	c := Cell{
		Verdict: code(Verdicts(), l.Shown()), Evidence: code(Evidences(), l.Evidence), DType: code(dtypes, l.DType),
		With: m.versions.of(Tried(l.Claim)), Word: m.words.of(word(l)),
	}
	if !l.At.IsZero() {
		c.Day = int(l.At.Unix() / 86400)
	}
	switch l.Source {
	case atlas.FromOwn:
		c.Flags |= Own
	case atlas.FromOther:
		c.Flags |= Imported
	}
	if m.newest.Newer(l.Claim) != "" {
		c.Flags |= Newer
	}
	if len(l.Contradicts) > 0 {
		c.Flags |= Contradicts
	}
	return c
}

// word is what stands beside a verdict in few words: the class of a failure, or
// the dtypes that it holds in where it does not hold in all that were tried.
func word(l atlas.Line) string {
	if l.Class != "" {
		return string(l.Class)
	}
	good := []string{string(l.DType)}
	bad := false
	for _, o := range l.Others {
		if !o.Known() {
			continue
		}
		if o.Verdict == l.Verdict {
			good = append(good, string(o.DType))
		} else {
			bad = true
		}
	}
	if bad {
		return strings.Join(good, ", ") + " only"
	}
	return ""
}

// numbers are those of the square of a target's own results, and the speed-up
// where it was taken on that target.
func numbers(of matrix.Square, all []matrix.Square, target string) *Numbers {
	var n Numbers
	if l := of.Latency; l != nil {
		n.LatencyMS, n.Unstable = l.MedianMS, !l.Stable
	}
	if p := of.Peak; p != nil {
		n.Bytes = p.Bytes
	}
	if l := of.Load; l != nil {
		n.LoadS = l.Seconds
	}
	for _, s := range all {
		if u := s.Speedup; u != nil && u.Target == target {
			n.Speedup, n.Shaky = u.Ratio, !u.Stable
		}
	}
	if n == (Numbers{}) {
		return nil
	}
	return &n
}
