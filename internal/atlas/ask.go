package atlas

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/platform"
	"assay/internal/weights"
)

// Model is what a question is about.
type Model struct {
	Name       string // as the user wrote it
	Type       string
	Task       string       // the type's default one
	Checkpoint string       // a checkpoint or the path of a configuration; "" is the type itself
	Weights    weights.Size // of the checkpoint
	// Room is the memory of the device of a target, as far as it is known; nil knows none.
	Room func(target string) Room
}

// Room is a device's memory.
type Room struct {
	Bytes  int64 // 0 is unknown
	Device string
}

// Source is where a claim comes from.
type Source string

// The sources.
const (
	FromAtlas Source = "atlas"
	FromOwn   Source = "own"      // the user's results, of this machine
	FromOther Source = "imported" // the user's results, of another
)

// Own is one of the user's own results.
type Own struct {
	cell.Result
	Host     string
	Imported bool
}

// Answer is what is known of a model.
type Answer struct {
	Model      string        `json:"model"`
	Type       string        `json:"type"`
	Checkpoint string        `json:"checkpoint,omitempty"`
	As         string        `json:"as"`                // what the answer rests on where nothing of the model itself is known
	Size       string        `json:"size,omitempty"`    // of a checkpoint: what is known of its weights
	Weights    *weights.Size `json:"weights,omitempty"` // the same in numbers
	// Places are where a project names the model, file:line; none where a user did.
	Places  []string `json:"places,omitempty"`
	Targets []Line   `json:"targets"`
}

// NotKnown is the answer about a model whose type nobody here knows: unknown
// everywhere.
func (b *Book) NotKnown(name, why string, targets []string) Answer {
	a := Answer{Model: name, Checkpoint: name, Size: "size not checked"}
	if len(targets) == 0 {
		targets = b.targets(nil)
	}
	for _, t := range targets {
		claim := Unknown(Column{t, defaultDType(t)}, why)
		a.Targets = append(a.Targets, Line{Target: t, Sourced: Sourced{Claim: claim, Source: FromAtlas}, Check: Model{Name: name, Checkpoint: name}.command(claim.Column)})
	}
	return a
}

// Line is what is known of a model on one target.
type Line struct {
	Target string `json:"target"`
	Sourced
	Others      []Sourced `json:"others,omitempty"`      // in other dtypes
	Contradicts []string  `json:"contradicts,omitempty"` // claims of the atlas that an own result contradicts
	// Tried are the versions of the target's main library that were tried in this dtype.
	Tried    []Tried `json:"tried,omitempty"`
	Memory   *Memory `json:"memory,omitempty"`   // of a checkpoint; nil where it was not checked
	Fallback string  `json:"fallback,omitempty"` // where Assay would run it instead, of what is known to work
	Check    string  `json:"check"`              // the command that checks it here
}

// Sourced is a claim and where it comes from.
type Sourced struct {
	Claim
	Source Source       `json:"source"`
	exact  bool         // it is of the checkpoint itself
	other  bool         // it contradicts the atlas
	ran    cell.Verdict // of what ran, also where a checkpoint's weights are too large for the device
}

// targets are those of the atlas, in its order, and then others of own results.
func (b *Book) targets(own []Sourced) []string {
	var all, more []string
	for _, c := range b.head.Columns {
		if !slices.Contains(all, c.Target) {
			all = append(all, c.Target)
		}
	}
	for _, o := range own {
		if !slices.Contains(all, o.Target) && !slices.Contains(more, o.Target) {
			more = append(more, o.Target)
		}
	}
	slices.Sort(more)
	return append(all, more...)
}

// Ask answers what is known of a model on these targets, named as
// platform.Target's String does; none are those of the atlas and of own results.
// Own results outrank the atlas where their evidence is at least as strong.
func (b *Book) Ask(m Model, targets []string, own []Own) (Answer, error) {
	a := Answer{Model: m.Name, Type: m.Type, Checkpoint: m.Checkpoint, As: fmt.Sprintf("%s %s, tiny, random weights", article(m.Type), m.Type)}
	if m.Checkpoint != "" {
		a.Size = m.Weights.String()
		if m.Weights.Known() {
			a.Weights = &m.Weights
		}
	}
	claims, err := b.Claims(m.Type)
	if err != nil {
		return a, err
	}
	mine := m.OwnClaims(own)
	if len(targets) == 0 {
		targets = b.targets(mine)
	}
	for _, t := range targets {
		a.Targets = append(a.Targets, m.line(t, claims, mine))
	}
	compared := false
	for i, l := range a.Targets {
		a.Targets[i].Fallback = m.fallback(l, claims, mine)
		compared = compared || l.Memory != nil
	}
	if a.Weights != nil && !compared {
		a.Size += "; not compared with a device's memory"
	}
	return a, nil
}

func article(word string) string {
	if strings.ContainsAny(word[:min(1, len(word))], "aeio") {
		return "an"
	}
	return "a"
}

// line is what is known on one target.
func (m Model) line(target string, claims []Claim, own []Sourced) Line {
	l := Line{Target: target}
	var all []Sourced
	for _, c := range claims {
		if c.Target == target {
			all = append(all, m.speak(Sourced{Claim: c, Source: FromAtlas}))
		}
	}
	for _, o := range own {
		if o.Target != target {
			continue
		}
		i := slices.IndexFunc(all, func(s Sourced) bool { return s.DType == o.DType })
		if i < 0 {
			all = append(all, o)
			continue
		}
		if known := all[i]; outranks(o, known) {
			if known.Source == FromAtlas && known.Known() && known.Verdict != o.Verdict {
				l.Contradicts = append(l.Contradicts, contradiction(known.Claim))
				o.other = true
			}
			all[i] = o
		}
	}
	if len(all) == 0 {
		all = []Sourced{{Claim: Unknown(Column{Target: target, DType: defaultDType(target)}, "no run on "+target+" is published"), Source: FromAtlas}}
	}
	for i := range all {
		all[i].ran = all[i].Verdict
		all[i] = m.fit(all[i])
	}
	lead := slices.MaxFunc(all, func(a, b Sourced) int { return better(a, b, target) })
	l.Sourced = lead
	for _, s := range all {
		if s.DType != lead.DType {
			l.Others = append(l.Others, s)
		}
	}
	l.Tried = tried(lead, append(atlasOf(claims), own...))
	l.Memory, l.Check = m.memory(lead), m.command(lead.Column)
	return l
}

func atlasOf(claims []Claim) []Sourced {
	var out []Sourced
	for _, c := range claims {
		out = append(out, Sourced{Claim: c, Source: FromAtlas})
	}
	return out
}

// outranks reports whether an own result stands in the place of what is known.
func outranks(o, known Sourced) bool {
	if o.exact != known.exact {
		return o.exact
	}
	strength := known.Evidence
	if known.Basis != "" {
		strength = known.Basis
	}
	mine := o.Evidence
	if o.Basis != "" {
		mine = o.Basis
	}
	return mine.Strength() >= strength.Strength() && (known.Source == FromAtlas || o.At.After(known.At) && o.Source == known.Source || o.Source == FromOwn && known.Source == FromOther)
}

func contradiction(c Claim) string {
	text := fmt.Sprintf("the atlas says %s in %s (%s", c.Verdict, c.DType, cmp.Or(c.Basis, c.Evidence))
	if c.Basis != "" {
		text += " of " + c.Of
	}
	if c.Class != "" {
		text += ", " + string(c.Class)
	}
	return text + ", " + c.At.Format("2006-01-02") + ")"
}

// goodness orders verdicts, the best last.
var goodness = []cell.Verdict{cell.Unknown, cell.Unavailable, cell.Fails, cell.Partial, cell.Works}

// better orders the claims of a target: what is of the checkpoint itself, then what
// contradicts the atlas, which is then not to be trusted there, then the best
// verdict, then the target's default dtype.
func better(a, b Sourced, target string) int {
	return cmp.Or(
		order(a.exact, b.exact),
		order(a.other, b.other),
		cmp.Compare(slices.Index(goodness, a.Verdict), slices.Index(goodness, b.Verdict)),
		order(a.DType == defaultDType(target), b.DType == defaultDType(target)),
		cmp.Compare(b.DType, a.DType),
	)
}

func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func defaultDType(target string) platform.DType {
	t, err := platform.ParseTarget(target)
	if err != nil {
		return ""
	}
	return t.DType()
}

// fallback is the first platform that Assay would go to from the line's and where
// the model is known to run.
func (m Model) fallback(l Line, claims []Claim, own []Sourced) string {
	t, err := platform.ParseTarget(l.Target)
	if err != nil {
		return ""
	}
	p, _ := platform.Get(t.Platform)
	for _, n := range p.Fallback {
		if v := m.line(string(n), claims, own).Verdict; v == cell.Works || v == cell.Partial {
			return string(n)
		}
	}
	return ""
}

// command checks a claim on the user's machine.
func (m Model) command(c Column) string {
	name := m.Name
	if m.Checkpoint == "" {
		name = m.Type
	}
	text := fmt.Sprintf("assay test %s --platform %s", quoted(name), c.Target)
	if c.DType != defaultDType(c.Target) {
		text += " --dtype " + string(c.DType)
	}
	return text
}

// quoted is an argument as a shell takes it.
func quoted(s string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./@:+", r)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !safe(r) }) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
