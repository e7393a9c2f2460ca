package skills

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/catalog"
	"assay/internal/generate"
	"assay/internal/generate/pytext"
	"assay/internal/platform"
)

// skill is what the templates of one skill are filled with.
type skill struct {
	recipe
	answer
	Stamp      generate.Stamp
	Stem       string // of the files' names
	Name       string // of the class
	Checkpoint string
	Low, High  int    // ids that stand for bytes
	Rate       int    // samples of a sound in a second
	Room       int    // length of a text with room for what is generated; 0: none grows
	Grows      string // the input to which generated ids are added
	Processed  string // how a checkpoint's own processor is called
	Apart      string // why items do not run together; "" where they do
	Plain      string // how random weights are given what is asked

	on      []platform.Name // where it may run
	family  string
	seen    catalog.Expectation // of the model, when the catalogue was made
	natural []string            // what is asked, in its natural forms
	reads   []read
	inputs  []shaped
}

// made is an input and the expression that makes it.
type made struct{ Name, Made string }

// argument is a positional one of the command line.
type argument struct{ Name, Number, Help string }

// newTokens is how many tokens are generated where nobody says.
const newTokens = 16

// plan says what a type's skill is made of.
func plan(c *catalog.Catalog, chosen catalog.Choice, on []platform.Name) (skill, error) {
	e := chosen.Entry
	raw, err := c.Recipe(e.Type, chosen.Task, "tiny", "")
	if err != nil {
		return skill{}, err
	}
	s := skill{Stem: Stem(e.Type), Name: camel(e.Type) + "Skill", Checkpoint: cmp.Or(chosen.Checkpoint, e.Checkpoint), family: e.Family, on: withCPU(on)}
	if err := json.Unmarshal(raw, &s.recipe); err != nil {
		return s, fmt.Errorf("recipe of %s: %w", e.Type, err)
	}
	if s.inputs, err = s.shapedInputs(); err != nil {
		return s, err
	}
	how, ok := programs[s.Program]
	if !ok {
		return s, fmt.Errorf("no skill says yet how %s is run: its program is %q", e.Type, s.Program)
	}
	if how.torch {
		s.on = onTorch(s.on)
	}
	s.Stamp = generate.Stamp{Kind: "skill", Model: e.Type, Versions: "transformers " + c.Transformers, Template: Template, Platforms: names(s.on)}
	s.answer = answerOf(s.recipe)
	if chosen.Task == "" || chosen.Task == e.Task {
		s.seen, _ = c.Expectation(e.Type)
	}
	if how.plan != nil {
		return s, how.plan(&s)
	}
	if reads, ok := readAll(s.recipe, s.inputs); ok {
		s.naturally(reads)
	} else {
		s.byName()
	}
	s.Apart = s.apart()
	return s, nil
}

// byName makes it a skill that is given tensors.
func (s *skill) byName() {
	s.answer = arrays
	s.Plain = "named tensors, which have no natural form here"
}

// naturally makes it a skill that is given what people have.
func (s *skill) naturally(reads []read) {
	s.reads = reads
	for _, in := range reads {
		if in.source != "" && !s.Has(in.source) {
			s.natural = append(s.natural, in.source)
		}
		if in.Kind == "ids" && s.High == 0 {
			s.Low, s.High = in.Low, in.High
		}
		if in.Kind == "ids" && in.source == text && s.generates && s.Grows == "" {
			s.Grows, s.Room = "input_ids", s.Sizes["seq"]+newTokens
		}
		if in.Name == "decoder_input_ids" {
			s.Grows, s.Room = in.Name, 0
		}
	}
	slices.SortFunc(s.natural, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	if _, own := special[s.Type]; !own && s.Piece == vector.Piece && s.compares() {
		s.answer = fit
	}
	s.Rate = rate(s.Type)
	s.Processed = s.processed()
	var how []string
	for _, n := range s.natural {
		how = append(how, naturals[n].plain)
	}
	s.Plain = strings.Join(how, ", ")
}

func (s *skill) processed() string {
	switch {
	case len(s.natural) > 1 && s.generates && s.Has(text):
		return "chat"
	case len(s.natural) > 1:
		return "several"
	case s.natural[0] == text && s.generates:
		return "prompt"
	}
	return s.natural[0]
}

func (s *skill) apart() string {
	if s.answer.apart != "" {
		return s.answer.apart
	}
	if s.Draws() {
		return "it draws at random, for a batch otherwise than for its items"
	}
	if s.seen.NoBatch != "" && !s.generates {
		return "a batch is not what its items are"
	}
	if slices.ContainsFunc(s.inputs, func(in shaped) bool { return !in.dividedFirst() }) {
		return "its inputs are not joined along their first axis"
	}
	if slices.ContainsFunc(s.used(), func(o catalog.ExpectedOutput) bool { return !slices.Equal(o.Axes, []int{0}) }) {
		return "its outputs do not have items along their first axis"
	}
	return ""
}

// used are the outputs that the answer is made of, as far as they were seen.
func (s *skill) used() []catalog.ExpectedOutput {
	byName := func(name string) int {
		return slices.IndexFunc(s.seen.Outputs, func(o catalog.ExpectedOutput) bool { return o.Name == name })
	}
	switch {
	case len(s.seen.Outputs) == 0:
	case s.Piece == arrays.Piece:
		return s.seen.Outputs
	case s.Piece == vector.Piece:
		// The first that was seen stands for all, where none is known to.
		for _, name := range embeddings {
			if i := byName(name); i >= 0 {
				return s.seen.Outputs[i : i+1]
			}
		}
		return s.seen.Outputs[:1]
	}
	return nil
}

// compares reports whether some output holds every item against every other: how
// well texts fit, of a model whose task is to make vectors.
func (s *skill) compares() bool {
	return slices.ContainsFunc(s.seen.Outputs, func(o catalog.ExpectedOutput) bool {
		return strings.HasPrefix(o.Name, "logits_per_") && slices.Equal(o.Axes, []int{0, 1})
	})
}

// Has reports whether something natural is among what is asked.
func (s skill) Has(name string) bool { return slices.Contains(s.natural, name) }

// Naturals reports whether what is asked has a natural form.
func (s skill) Naturals() bool { return len(s.natural) > 0 }

// Arrays reports whether the file has need of numpy.
func (s skill) Arrays() bool {
	return s.Has(image) || s.Has(audio) || s.Has(video) || strings.Contains(s.Gives, "np.")
}

// Paths reports whether the file has need of paths.
func (s skill) Paths() bool {
	return s.Has(image) || s.Has(audio) || s.Has(video) || len(s.Graphs()) > 0 || s.Browsers() != ""
}

// Package is where the module of the class is that is not at the top of transformers.
func (s skill) Package() string { return s.Module[:max(0, strings.LastIndex(s.Module, "."))] }

// File is that module.
func (s skill) File() string { return s.Module[strings.LastIndex(s.Module, ".")+1:] }

// Whole are the outputs that stand for all of the input, the best first.
func (s skill) Whole() []string { return embeddings }

// Usage is the command line in the head of the file.
func (s skill) Usage() string {
	words := []string{"python", s.Stem + ".py"}
	for _, n := range s.natural {
		words = append(words, naturals[n].argument)
	}
	return strings.Join(append(words, "--platform auto --weights hub"), " ")
}

// Takes is the type of what is asked.
func (s skill) Takes() string {
	if len(s.natural) == 1 {
		return naturals[s.natural[0]].takes
	}
	return "dict"
}

// Example is the expression of something to try the skill with.
func (s skill) Example() string {
	d := pytext.Dict{}
	for _, n := range s.natural {
		d = append(d, pytext.Pair{Key: n, Value: pytext.Code(naturals[n].example)})
	}
	if len(d) == 1 {
		return pytext.Value(d[0].Value, 4, 11, 0)
	}
	return pytext.Value(d, 4, 11, 0)
}

// Drawn are the inputs of a skill that takes tensors, each with its expression.
func (s skill) Drawn() []made {
	var out []made
	for _, in := range s.inputs {
		if s.Program != "sample" || in.Name != "noise" {
			out = append(out, made{in.Name, in.fixed()})
		}
	}
	return out
}

// Draws reports whether the model draws numbers at random.
func (s skill) Draws() bool { return slices.Contains(random, s.Type) }

// AsRead reports whether its configuration must be as one read from a file.
func (s skill) AsRead() bool { return slices.Contains(asRead, s.Type) }

// Speaks reports whether a speaker is described to it, beside its inputs.
func (s skill) Speaks() bool {
	told := func(in shaped) bool { return strings.HasPrefix(in.Name, "speaker_") }
	return s.Program == "generate" && slices.ContainsFunc(s.inputs, told)
}

// Made are the inputs of random weights, each with its expression.
func (s skill) Made() []made {
	var out []made
	for _, in := range s.reads {
		if in.Name != "decoder_input_ids" || !s.generates {
			out = append(out, made{in.Name, in.made(len(s.natural) > 1)})
		}
	}
	return out
}

// Fixed are inputs whose values are given.
func (s skill) Fixed() (pytext.Dict, error) {
	d := pytext.Dict{}
	for _, in := range s.inputs {
		if in.Kind != "value" {
			continue
		}
		v, err := pytext.Parse(in.Value)
		if err != nil {
			return nil, fmt.Errorf("input %s of %s: %w", in.Name, s.Type, err)
		}
		d = append(d, pytext.Pair{Key: in.Name, Value: v})
	}
	return d, nil
}

// Start is the id that an answer of random weights begins with.
func (s skill) Start() (int, error) {
	var c struct {
		Start   *int `json:"decoder_start_token_id"`
		Padding int  `json:"pad_token_id"`
	}
	if err := json.Unmarshal(s.Config, &c); err != nil {
		return 0, fmt.Errorf("configuration of %s: %w", s.Type, err)
	}
	if c.Start != nil {
		return *c.Start, nil
	}
	return c.Padding, nil
}

// Marks are the ids that have their place in an input.
func (s skill) Marks() pytext.Dict {
	d := pytext.Dict{}
	for _, in := range s.inputs {
		list := []any{}
		for _, p := range in.places {
			list = append(list, pytext.Tuple{p[0], p[1], p[2]})
		}
		if len(list) > 0 && in.Name != "bbox" {
			d = append(d, pytext.Pair{Key: in.Name, Value: list})
		}
	}
	return d
}

// Gathered is what a processor of several things is given.
func (s skill) Gathered() []made {
	var out []made
	for _, n := range s.natural {
		out = append(out, made{naturals[n].processor, fmt.Sprintf(naturals[n].gathers, fmt.Sprintf("x[%q]", n))})
	}
	return out
}

// Kinds are the marks of what is asked beside a text, in a turn of a chat.
func (s skill) Kinds() string {
	list := []any{}
	for _, n := range s.natural {
		if n != text {
			list = append(list, pytext.Dict{{Key: "type", Value: n}})
		}
	}
	return pytext.Value(list, 0, 0, 0)
}

// Padding is how sounds of different lengths are made equal.
func (s skill) Padding() string {
	if slices.Contains(wholeWindow, s.Type) {
		return `"max_length"`
	}
	return "True"
}

// wholeWindow are the types that hear a window of one length, however long the
// sound in it is.
var wholeWindow = []string{"whisper"}

// Arguments are the positional ones of the command line.
func (s skill) Arguments() []argument {
	var out []argument
	for _, n := range s.natural {
		out = append(out, argument{n, "?", naturals[n].help})
	}
	if s.Has(question) {
		out = append(out, argument{"documents", "*", "documents that answer it"})
	}
	return out
}

// Reads are the lines that read them.
func (s skill) Reads() []string {
	lines := []string{"x = example()"}
	for _, n := range s.natural {
		to := "x"
		if len(s.natural) > 1 {
			to = fmt.Sprintf("x[%q]", n)
		}
		lines = append(lines, "if asked."+n+":", "    "+to+" = "+fmt.Sprintf(naturals[n].reads, "asked."+n))
	}
	return lines
}

// LongCall reports whether those of a call have a name of their own.
func (s skill) LongCall() bool { return len(s.Call) > 30 }

// Called are the arguments of a forward beside the inputs.
func (s skill) Called() (string, error) {
	if s.LongCall() {
		return ", **CALL", nil
	}
	v, err := pytext.Parse(s.Call)
	if err != nil {
		return "", fmt.Errorf("call of %s: %w", s.Type, err)
	}
	var b strings.Builder
	for _, p := range v.(pytext.Dict) {
		b.WriteString(", " + p.Key + "=" + pytext.Value(p.Value, 0, 0, 0))
	}
	return b.String(), nil
}

// Widened reports whether random weights are widened.
func (s skill) Widened() bool { return s.Gain != 1 && s.Gain != 0 }

// Settled is how a model generates that cannot do so without being told.
func (s skill) Settled() (json.RawMessage, error) {
	var parts struct {
		How struct{ Config json.RawMessage } `json:"generation_config"`
	}
	if len(s.Parts) == 0 {
		return nil, nil
	}
	err := json.Unmarshal(s.Parts, &parts)
	return parts.How.Config, err
}

var order = []string{text, image, audio, video}

// Stem is the name of a type's files, without what tells them apart.
func Stem(modelType string) string { return "skill_hf_" + identifier(modelType) }

// Test is the name of the file with a type's test.
func Test(modelType string) string { return "test_" + Stem(modelType) + ".py" }

// Platforms are those of the asked ones that a model's skill knows: all, but
// for models that only torch runs.
func Platforms(c *catalog.Catalog, chosen catalog.Choice, on []platform.Name) []platform.Name {
	s, err := plan(c, chosen, on)
	if err != nil {
		return on
	}
	return s.on
}

// identifier is a type as a part of a name: what is no letter, digit or
// underscore becomes an underscore.
func identifier(modelType string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, modelType)
}

// camel is a type as the name of a class.
func camel(modelType string) string {
	var b strings.Builder
	for _, w := range strings.Split(identifier(modelType), "_") {
		if w != "" {
			b.WriteString(strings.ToUpper(w[:1]) + w[1:])
		}
	}
	return b.String()
}
