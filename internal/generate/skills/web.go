package skills

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/platform"
	"assay/runtimes/web"
)

// webNatural is a natural input in a page.
type webNatural struct {
	example string // an expression that makes one
	other   string // another one; %s is the example
	field   string // of the page's form
	asked   string // how the page reads it; %s is the example
	pieces  []string
}

var webNaturals = map[string]webNatural{
	text:  {`"Assay runs a model where it should run."`, `"Something else is written here."`, `<label>Text <textarea name="text">Assay runs a model where it should run.</textarea></label>`, "form.text.value", []string{"web ids"}},
	image: {"picture()", "turned(%s)", `<label>Image <input type="file" name="image" accept="image/*"></label>`, "form.image.files[0] ?? %s", []string{"web canvas", "web drawable", "web pixels"}},
	audio: {"Float32Array.from({ length: RATE }, (_, i) => Math.sin((i * 880 * Math.PI) / RATE))", "%s.map((v) => v ** 3)", `<label>Audio <input type="file" name="audio" accept="audio/*"></label>`, "form.audio.files[0] ?? %s", []string{"web sound"}},
	video: {"Array.from({ length: 8 }, (_, i) => picture(i * 40))", "%s.map(turned)", `<label>Frames <input type="file" name="video" accept="image/*" multiple></label>`, "form.video.files.length ? [...form.video.files] : %s", []string{"web canvas", "web drawable", "web pixels", "web frames"}},
}

// webAnswers are the answers that a page gives in their natural form; others
// give every output by its name.
var webAnswers = map[string][]string{
	"words":         {"web text", "web best"},
	"labels":        {"web best"},
	"boxes":         {"web best"},
	"similarity":    nil,
	"arrays":        nil,
	"embedding":     nil,
	"transcription": {"web likeliest"},
}

// piped are the tasks that transformers.js has a pipeline for.
var piped = []string{
	"fill-mask", "text-generation", "text2text-generation", "feature-extraction", "question-answering", "token-classification",
	"image-classification", "image-segmentation", "object-detection", "depth-estimation", "zero-shot-image-classification",
	"zero-shot-object-detection", "automatic-speech-recognition", "audio-classification", "text-to-audio", "document-question-answering",
}

// inPages reports whether the skill runs in pages too.
func (s skill) inPages() bool { return s.Browsers() != "" }

// web is the same skill as pages know it.
func (s skill) web() skill {
	if _, ok := webAnswers[s.Piece]; !ok && !s.generates {
		s.Piece, s.Says = "arrays", arrays.Says
	}
	if slices.ContainsFunc(s.reads, func(in read) bool { return in.script(true) == "" }) {
		s.natural, s.reads, s.Grows = nil, nil, ""
		s.answer = arrays
	}
	return s
}

// module is the composition of the ES module.
func (s skill) module() []part {
	parts := []part{{"web head"}}
	if s.Counts() {
		parts = append(parts, part{"web tensors"})
	}
	if s.Naturals() {
		parts = append(parts, part{"web example"}, part{"web plain"})
	} else {
		parts = append(parts, part{"web drawn"}, part{"web named"})
	}
	parts = append(parts, singly(s.webPieces())...)
	parts = append(parts, part{"web graph"}, s.webClass())
	if s.Piped() {
		parts = append(parts, part{"web piped"})
	}
	return append(parts, part{"web load"})
}

func (s skill) webPieces() []string {
	var out once
	for _, n := range s.natural {
		out.add(webNaturals[n].pieces...)
	}
	for _, in := range s.reads {
		if in.piece != "" {
			out.add("web " + in.piece)
		}
	}
	if s.generates {
		out.add("web text", "web likeliest")
	}
	out.add(webAnswers[s.Piece]...)
	return out
}

func (s skill) webClass() part {
	if s.generates {
		return part{"web class", "web generate", "web " + grows[s.Grows], "web settings"}
	}
	return part{"web class", "web run", "web answer " + s.Piece, "web settings"}
}

// Piped reports whether transformers.js has a pipeline for the task.
func (s skill) Piped() bool { return slices.Contains(piped, s.Task) }

// WebExample is the expression of something to try the skill with.
func (s skill) WebExample() string {
	if len(s.natural) == 1 {
		return webNaturals[s.natural[0]].example
	}
	var fields []string
	for _, n := range s.natural {
		fields = append(fields, n+": "+webNaturals[n].example)
	}
	return "{ " + strings.Join(fields, ", ") + " }"
}

// WebFields are the fields of the page's form.
func (s skill) WebFields() []string {
	var out []string
	for _, n := range s.natural {
		out = append(out, webNaturals[n].field)
	}
	return out
}

// WebAsked is what the page asks of the skill.
func (s skill) WebAsked() string {
	switch len(s.natural) {
	case 0:
		return "example()"
	case 1:
		return strings.ReplaceAll(webNaturals[s.natural[0]].asked, "%s", "example()")
	}
	var fields []string
	for _, n := range s.natural {
		fields = append(fields, n+": "+strings.ReplaceAll(webNaturals[n].asked, "%s", "example()."+n))
	}
	return "{ " + strings.Join(fields, ", ") + " }"
}

// WebPreference is what auto tries in a browser: WebGPU, and where its work goes.
func (s skill) WebPreference() []string {
	first := platform.WebGPU
	if !slices.Contains(s.on, first) {
		first = platform.WebNN
	}
	p, _ := platform.Get(first)
	return append([]string{string(first)}, s.webAmong(p.Fallback)...)
}

func (s skill) webAmong(these []platform.Name) []string {
	out := []string{}
	for _, n := range these {
		if slices.Contains(s.on, n) {
			out = append(out, string(n))
		}
	}
	return out
}

// WebFallback is where the work of each platform of a browser goes.
func (s skill) WebFallback() map[string][]string {
	out := map[string][]string{}
	for _, n := range s.WebPreference() {
		p, _ := platform.Get(platform.Name(n))
		out[n] = s.webAmong(p.Fallback)
	}
	return out
}

// WebChoices are what a page lets one choose from.
func (s skill) WebChoices() []string { return append([]string{"auto"}, s.WebPreference()...) }

// Artefact is the folder that `assay export` makes.
func (s skill) Artefact() string {
	if s.Room > 0 {
		return fmt.Sprintf("%s-web-fp32-s%d", s.Type, s.Room)
	}
	return s.Type + "-web-fp32"
}

// ArtefactFolder is its address beside the page.
func (s skill) ArtefactFolder() string { return "./" + s.Artefact() + "/" }

// Labels is how many labels a tiny model has.
func (s skill) Labels() (int, error) {
	c := struct {
		Labels int `json:"num_labels"`
	}{2} // transformers' own number
	err := json.Unmarshal(s.Config, &c)
	return c.Labels, err
}

// ORT and TransformersJS are the versions of the packages that pages load.
func (s skill) ORT() (string, error) { return packageVersion("onnxruntime-web") }

// TransformersJS is that of transformers.js.
func (s skill) TransformersJS() (string, error) { return packageVersion("@huggingface/transformers") }

func packageVersion(name string) (string, error) {
	f, err := web.Packages().Open("package.json")
	if err != nil {
		return "", err
	}
	defer f.Close()
	var list struct{ Dependencies map[string]string }
	if err := json.NewDecoder(f).Decode(&list); err != nil {
		return "", fmt.Errorf("list of the web packages: %w", err)
	}
	return list.Dependencies[name], nil
}
