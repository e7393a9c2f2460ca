package mentions

import (
	"fmt"
	"slices"
	"strings"
)

// argument is one of a call.
type argument struct {
	name  string // "" where it has none
	value []token
}

// call is a call of a function, with the words before its bracket.
type call struct {
	name     string // AutoModel.from_pretrained
	line     int
	all      []argument
	language language
}

// get is the argument of a name, or else at a place; nil where there is none.
func (c call) get(place int, names ...string) []token {
	for _, a := range c.all {
		if slices.Contains(names, a.name) {
			return a.value
		}
	}
	for i, a := range c.all {
		if a.name != "" {
			break
		}
		if i == place {
			return a.value
		}
	}
	return nil
}

// python looks through a file of Python.
func (f *finder) python(file string, source []byte) {
	f.code(file, tokens(string(source), pythonLanguage, 1), pythonLanguage)
}

// script looks through one of JavaScript or TypeScript.
func (f *finder) script(file string, source []byte) {
	f.code(file, tokens(string(source), scriptLanguage, 1), scriptLanguage)
}

func (f *finder) code(file string, all []token, l language) {
	known := collect(all)
	f.uses = slices.ContainsFunc(all, func(t token) bool {
		return t.value == "transformers" || t.kind == text && strings.Contains(t.value, "/transformers")
	})
	for i := 1; i < len(all); i++ {
		if all[i].kind == sign && all[i].value == "(" && all[i-1].kind == word {
			f.call(file, parse(all, i, l), known)
		}
	}
	for i := range all {
		f.keyed(file, all, i, known)
	}
}

// parse reads the call whose bracket stands at i.
func parse(all []token, i int, l language) call {
	start := i - 1
	for start >= 2 && all[start-1].value == "." && all[start-2].kind == word {
		start -= 2
	}
	name, _ := dotted(all[:i], start)
	c := call{name: name, line: all[i-1].line, language: l}
	for i++; i < len(all) && all[i].value != ")" && len(c.all) < 100; {
		value := until(all, i, ",", ")")
		i += len(value) + 1
		a := argument{value: value}
		if len(value) > 2 && value[0].kind == word && value[1].value == "=" && value[1].kind == sign {
			a.name, a.value = value[0].value, value[2:]
		}
		c.all = append(c.all, a)
		if i-1 >= len(all) || all[i-1].value != "," {
			break
		}
	}
	return c
}

// notModels end the classes whose from_pretrained loads no model.
var notModels = []string{"Tokenizer", "TokenizerFast", "Processor", "FeatureExtractor", "ImageProcessor", "VideoProcessor", "Config", "Scheduler", "Featurizer", "Extractor", "config_class", "tokenizer", "processor", "config"}

// call looks at one that may load a model.
func (f *finder) call(file string, c call, known constants) {
	last := c.name[strings.LastIndex(c.name, ".")+1:]
	receiver := strings.TrimSuffix(strings.TrimSuffix(c.name, last), ".")
	class := receiver[strings.LastIndex(receiver, ".")+1:]
	m := Mention{File: file, Line: c.line}
	switch last {
	case "from_pretrained":
		if class == "" || slices.ContainsFunc(notModels, func(end string) bool { return strings.HasSuffix(class, end) }) {
			return
		}
		m.How, m.Class = class+".from_pretrained", class
		f.loaded(m, c.get(0, "pretrained_model_name_or_path", "pretrained_model_link_or_path"), known)
	case "pipeline":
		f.pipeline(m, c, known)
	case "SentenceTransformer", "CrossEncoder":
		m.How = last
		if value := c.get(0, "model_name_or_path", "model_name"); value != nil {
			f.loaded(m, value, known)
		}
	case "snapshot_download":
		if kind := c.get(-1, "repo_type"); kind == nil || len(kind) == 1 && kind[0].value == "model" {
			m.How = last
			f.loaded(m, c.get(0, "repo_id"), known)
		}
	}
}

// loaded adds what an expression names, or that it cannot be told.
func (f *finder) loaded(m Mention, value []token, known constants) {
	if len(value) == 0 {
		return
	}
	values := known.values(value)
	for _, v := range values {
		named := m
		named.Name = v
		f.add(named, true)
	}
	if len(values) == 0 {
		m.Name = shown(value)
		f.found.Untold = append(f.found.Untold, m)
	}
}

// pipeline adds a pipeline's model, or its task's default.
func (f *finder) pipeline(m Mention, c call, known constants) {
	given, model := c.get(0, "task"), c.get(1, "model")
	task := known.values(given)
	if len(task) == 1 {
		m.Task = task[0]
	}
	usual, told := c.language.standards.of(m.Task)
	none := model == nil || isNone(model)
	switch m.How = "pipeline"; {
	case !told && none && (given == nil || m.Task != "" || !f.uses):
		// another library's, or a step of its own
	case !none && c.language.block && model[0].value == "{":
		// options where the model should be: an error of the program's
	case !none:
		f.named(m, model, known)
	case usual.Name != "":
		m.Name, m.Type = usual.Name, usual.Type
		m.How = fmt.Sprintf("the default of pipeline(%q) in %s %s", m.Task, c.language.standards.library, c.language.standards.release)
		f.add(m, true)
	default: // a task of another release, or one that nobody can tell
		m.Name = fmt.Sprintf("pipeline(%s)", shown(given))
		f.found.Untold = append(f.found.Untold, m)
	}
}

// named is loaded, for a pipeline: a variable may hold a model that was loaded before,
// which is no name.
func (f *finder) named(m Mention, value []token, known constants) {
	if len(known.values(value)) > 0 || textsIn(value) > 0 {
		f.loaded(m, value, known)
	}
}

func isNone(e []token) bool {
	return len(e) == 1 && slices.Contains([]string{"None", "null", "undefined"}, e[0].value)
}

// shown is source as it stands there, on one line and not too long.
func shown(e []token) string {
	var b strings.Builder
	for _, t := range e {
		switch t.kind {
		case text:
			fmt.Fprintf(&b, "%q", t.value)
		case newline:
		case word, sign:
			b.WriteString(t.value)
		}
		if b.Len() > 80 {
			return b.String()[:77] + "…"
		}
	}
	return b.String()
}

// keyed adds what is given a name such as model_id, in an assignment or a call, where it
// has an owner.
func (f *finder) keyed(file string, all []token, i int, known constants) {
	name, value, ok := binding(all, i)
	if !ok && i+1 < len(all) && all[i].kind != sign && all[i+1].value == ":" && all[i+1].kind == sign {
		name, value, ok = all[i].value, until(all, i+2, ",", "}"), true // of an object
	}
	if key := name[strings.LastIndex(name, ".")+1:]; !ok || !modelKey(key) {
		return
	}
	for _, v := range known.values(value) {
		f.add(Mention{Name: v, File: file, Line: all[i].line, How: "the name " + name}, false)
	}
}
