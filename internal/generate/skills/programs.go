package skills

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/generate/pytext"
	"assay/internal/platform"
)

// program is a way to run a model that is more than one plain forward.
type program struct {
	method string // of the model, where that runs it
	// torch says that only torch runs it: noise exports it whole.
	torch bool
	plan  func(s *skill) error // what it changes of the plan; nil: noise
}

// programs are the ways to run a model that a skill knows.
var programs = map[string]program{
	"":         {},
	"generate": {method: ".generate"},
	"encode":   {method: ".encode"},
	"sample":   {},
	"track":    {torch: true, plan: planTrack},
	"rag":      {torch: true, plan: planRAG},
	"pipeline": {torch: true, plan: planPipeline},
}

// Method is how the model is called, where not by its forward.
func (s skill) Method() string { return programs[s.Program].method }

// onTorch keeps the platforms that torch runs.
func onTorch(on []platform.Name) []platform.Name {
	return slices.DeleteFunc(slices.Clone(on), func(n platform.Name) bool { return places[n].device == "" })
}

// planTrack follows objects: videos and what marks the objects are tensors.
func planTrack(s *skill) error {
	s.byName()
	s.answer = arrays.that("follows objects through a video")
	s.Apart = "each video has its own session"
	return nil
}

// Tracked is the piece that tells a session what to follow: by points or words.
func (s skill) Tracked() string {
	if slices.ContainsFunc(s.Inputs, func(in input) bool { return in.Name == "points" }) {
		return "by points"
	}
	return "by words"
}

// documentReader embeds the documents of a published model that answers from documents.
const documentReader = "facebook/dpr-ctx_encoder-single-nq-base"

// planRAG answers a question from documents that are asked along with it.
func planRAG(s *skill) error {
	s.answer = answer{
		Does: "answers a question from documents", Says: "The answer to a question, and the documents that it was read from.",
		Gives: "dict[str, Any]", Piece: "documents",
	}
	s.natural = []string{question}
	s.Low, s.High = s.Inputs[0].Low, s.Inputs[0].High
	s.Plain = "bytes as ids; documents are embedded as questions are"
	s.Apart = "each question has its own documents"
	return nil
}

// Reader is the checkpoint that embeds documents.
func (s skill) Reader() string { return documentReader }

// Question, Document and Context are the lengths of texts that random weights
// are given.
func (s skill) Question() int { return s.Sizes["seq"] }

// Document is that of a document: as the recipe's index has them.
func (s skill) Document() (int, error) {
	var parts struct {
		Index struct{ Config struct{ Tokens int } }
	}
	err := json.Unmarshal(s.Parts, &parts)
	return parts.Index.Config.Tokens, err
}

// Context is that of a document with the question behind it.
func (s skill) Context() (int, error) {
	n, err := s.Document()
	return n + s.Question(), err
}

// makes is what a pipeline of a task makes.
var makes = map[string]answer{
	"text-to-image":                  {Does: "makes an image from a text", Says: "The image: height, width and colours from 0 to 1."},
	"unconditional-image-generation": {Does: "makes an image", Says: "The image: height, width and colours from 0 to 1."},
	"class-to-image":                 {Does: "makes an image of a class", Says: "The image: height, width and colours from 0 to 1."},
	"image-to-image":                 {Does: "makes an image from an image", Says: "The image: height, width and colours from 0 to 1."},
	"text-to-video":                  {Does: "makes a video from a text", Says: "The video: frames, height, width and colours from 0 to 1."},
	"image-to-video":                 {Does: "makes a video from an image", Says: "The video: frames, height, width and colours from 0 to 1."},
	"text-to-audio":                  {Does: "makes audio from a text", Says: "The audio: channels and samples."},
}

// given are the arguments of a pipeline by the recipe's inputs, and the natural
// inputs that they are made from.
var given = map[string]struct{ natural, made string }{
	"prompt":        {text, "x%s"},
	"image":         {image, "_pixels(x%s, 1, 3, %s) / 2 + 0.5"},
	"control_image": {image, "_pixels(x%s, 1, 3, %s) / 2 + 0.5"},
	"class_labels":  {number, "[x%s]"},
}

// planPipeline makes something of noise, and of what is asked.
func planPipeline(s *skill) error {
	a, ok := makes[s.Task]
	if !ok {
		return fmt.Errorf("there is no skill yet for what %s makes: its task is %s", s.Type, s.Task)
	}
	a.Gives, a.Piece = "np.ndarray", "picture"
	s.answer = a
	s.Apart = "each has its own noise"
	s.Plain = "characters as ids"
	for _, in := range s.Inputs {
		if in.Name == "noise" {
			continue
		}
		of, ok := given[in.Name]
		if !ok {
			return fmt.Errorf("there is no skill yet that makes %s of %s", in.Name, s.Type)
		}
		s.natural = append(s.natural, of.natural)
	}
	if len(s.natural) == 0 {
		s.natural = []string{noise}
	}
	return nil
}

// Given are the arguments that a pipeline is called with, made of what is asked.
func (s skill) Given() string {
	d := pytext.Dict{}
	for _, in := range s.inputs {
		of, ok := given[in.Name]
		if !ok {
			continue
		}
		key := ""
		if len(s.natural) > 1 {
			key = fmt.Sprintf("[%q]", of.natural)
		}
		made := strings.Replace(of.made, "%s", key, 1)
		if len(in.sides) > 2 {
			made = strings.Replace(made, "%s", sides(in.sides[2:]), 1)
		}
		d = append(d, pytext.Pair{Key: in.Name, Value: pytext.Code(made)})
	}
	return pytext.Value(d, 8, len("        given = "), 0)
}

// prefaced are the pipelines that put two hundred letters of their own before a
// text and cut off what is too long: how long it may be.
var prefaced = map[string]int{"lumina2": 256, "qwenimage": 256}

// TinyCall are the arguments of a call of the tiny pipeline.
func (s skill) TinyCall() (pytext.Dict, error) {
	v, err := pytext.Parse(s.Call)
	if err != nil {
		return nil, fmt.Errorf("call of %s: %w", s.Type, err)
	}
	call := slices.DeleteFunc(v.(pytext.Dict), func(p pytext.Pair) bool { return p.Key == "output_type" })
	for i, p := range call {
		if longest, ok := prefaced[s.Type]; ok && p.Key == "max_sequence_length" {
			call[i].Value = longest
		}
	}
	return call, nil
}

// tokenizers is the module that stands in a recipe for a tokenizer made on the spot.
const tokenizers = "assay_words"

// FromTransformers reports whether parts of the pipeline are of transformers.
func (s skill) FromTransformers() bool {
	return s.Lettered() || strings.Contains(string(s.Parts), `"transformers"`)
}

// Lettered reports whether the pipeline has tokenizers.
func (s skill) Lettered() bool { return strings.Contains(string(s.Parts), tokenizers) }

// PartRows are the parts of a pipeline: the class and the configuration of each.
func (s skill) PartRows() (pytext.Dict, error) {
	v, err := pytext.Parse(s.Parts)
	if err != nil {
		return nil, fmt.Errorf("parts of %s: %w", s.Type, err)
	}
	rows := pytext.Dict{}
	for _, p := range v.(pytext.Dict) {
		fields, ok := p.Value.(pytext.Dict)
		if !ok {
			rows = append(rows, pytext.Pair{Key: p.Key, Value: nil})
			continue
		}
		rows = append(rows, pytext.Pair{Key: p.Key, Value: partRow(fields)})
	}
	return rows, nil
}

func partRow(fields pytext.Dict) pytext.Tuple {
	of := map[string]any{}
	for _, f := range fields {
		of[f.Key] = f.Value
	}
	config, _ := of["config"].(pytext.Dict)
	if of["module"] == tokenizers {
		return pytext.Tuple{"letters", lettered(config)}
	}
	return pytext.Tuple{pytext.Code(fmt.Sprintf("%s.%s", of["module"], of["class"])), config}
}

// lettered is the configuration of a tokenizer with what stands around a text
// as the library writes it.
func lettered(config pytext.Dict) pytext.Dict {
	out := pytext.Dict{}
	for _, p := range config {
		if marks, ok := p.Value.([]any); ok {
			around := []string{}
			for i, m := range marks {
				if i == len(marks)-1 {
					around = append(around, "$A")
				}
				around = append(around, fmt.Sprintf("<%s>", m))
			}
			p.Value = strings.Join(around, " ")
		}
		out = append(out, p)
	}
	return out
}
