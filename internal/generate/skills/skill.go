package skills

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/catalog"
	"assay/internal/generate"
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
	Rate       int    // samples of audio per second
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
	s.Gain = cmp.Or(faint[e.Type], s.Gain)
	if s.inputs, err = s.shapedInputs(); err != nil {
		return s, err
	}
	how, ok := programs[s.Program]
	if !ok {
		return s, fmt.Errorf("there is no skill yet for how %s is run: its program is %q", e.Type, s.Program)
	}
	if how.torch {
		s.on = onTorch(s.on)
	}
	s.Stamp = generate.Stamp{Kind: "skill", Model: e.Type, Versions: versions(c, e), Template: Template, Platforms: names(s.on)}
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

// versions are those of the library that the model is of.
func versions(c *catalog.Catalog, e catalog.Entry) string {
	if e.Library == catalog.Diffusers {
		return "diffusers " + c.Diffusers
	}
	return "transformers " + c.Transformers
}

// byName makes it a skill that is given tensors.
func (s *skill) byName() {
	s.answer = arrays
	s.Plain = "named tensors, which have no natural form here"
}

// naturally makes it a skill that takes natural inputs.
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
		if in.Name == "decoder_input_ids" && s.generates {
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
		how = append(how, strings.ReplaceAll(naturals[n].plain, "%s", s.tinyText()))
	}
	s.Plain = strings.Join(how, ", ")
}

// tinyText is how many ids a text of random weights becomes.
func (s *skill) tinyText() string {
	i := slices.IndexFunc(s.reads, func(in read) bool { return in.source == text && in.piece == "ids" })
	if i < 0 {
		return ""
	}
	return strconv.Itoa(s.reads[i].sides[1])
}

func (s *skill) processed() string {
	switch {
	case len(s.natural) > 1 && s.generates && s.Has(text):
		return "chat"
	case len(s.natural) > 1:
		return "several"
	case s.natural[0] == text && s.Grows == "input_ids":
		return "prompt"
	}
	return s.natural[0]
}

func (s *skill) apart() string {
	if s.answer.apart != "" {
		return s.answer.apart
	}
	if s.Draws() {
		return "it draws at random, differently for a batch and for its items"
	}
	if s.seen.NoBatch != "" && !s.generates {
		return "a batch differs from its items"
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

// compares reports whether some output compares every item with every other: how
// well texts fit, of a model whose task is to make vectors.
func (s *skill) compares() bool {
	return slices.ContainsFunc(s.seen.Outputs, func(o catalog.ExpectedOutput) bool {
		return strings.HasPrefix(o.Name, "logits_per_") && slices.Equal(o.Axes, []int{0, 1})
	})
}

var order = []string{text, image, audio, video}
