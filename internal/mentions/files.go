package mentions

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
)

// keys are names under which configurations and code keep models, without what stands
// before them (base_, hf_, DEFAULT_).
var keys = []string{"model", "models", "model_id", "model_ids", "model_name", "model_names", "modelname", "modelid", "model_name_or_path", "model_path", "model_repo", "checkpoint", "checkpoint_id",
	"pretrained_model_name_or_path", "pretrained_model", "hf_repo", "hf_model", "name_or_path", "embedding_model", "llm"}

// modelKey reports whether a model's name may stand under a key.
func modelKey(key string) bool {
	key = strings.ToLower(strings.ReplaceAll(key, "-", "_"))
	return slices.ContainsFunc(keys, func(k string) bool { return key == k || strings.HasSuffix(key, "_"+k) })
}

// pair is a key with a value, as JSON, YAML, TOML and their like write it; item is one of
// a list in YAML.
var (
	pair = regexp.MustCompile(`["']?([A-Za-z_][\w.-]{0,60})["']?\s*[:=]\s*(\[?\s*)["']?([A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9_][\w.-]{0,95})["']?\s*([,}\]#\r]|$)`)
	item = regexp.MustCompile(`^\s*(?:-\s+|["'])["']?([A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9_][\w.-]{0,95})["']?\s*,?\s*(?:#.*)?$`)
	open = regexp.MustCompile(`^\s*["']?([A-Za-z_][\w.-]{0,60})["']?\s*[:=]\s*\[?\s*(?:#.*)?$`)
	flag = regexp.MustCompile(`--?(model|model[-_]id|model[-_]name|model[-_]name[-_]or[-_]path|model[-_]path|hf[-_]model)[ =]["']?([A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9_][\w.-]{0,95})`)
	tool = regexp.MustCompile(`\b(?:vllm serve|huggingface-cli download|hf download|text-generation-launcher --model-id|optimum-cli export \w+ --model) ["']?([A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9_][\w.-]{0,95})`)
)

// config looks through a configuration, line by line. One that describes a model is
// one.
func (f *finder) config(file string, source []byte) {
	if path.Base(file) == "config.json" {
		var c struct {
			Type string `json:"model_type"`
		}
		if json.Unmarshal(source, &c) == nil && c.Type != "" {
			f.found.Mentions = append(f.found.Mentions, Mention{Name: file, File: file, Line: 1, How: "its model_type", Local: true})
			return
		}
	}
	list := ""
	for n, line := range lines(source) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") || len(line) > 100_000 {
			continue
		}
		at := Mention{File: file, Line: n + 1}
		for _, m := range pair.FindAllStringSubmatch(line, 100) {
			if modelKey(m[1]) {
				at.Name, at.How = m[3], "the key "+m[1]
				f.add(at, false)
			}
		}
		if m := item.FindStringSubmatch(line); m != nil && list != "" {
			at.Name, at.How = m[1], "the key "+list
			f.add(at, false)
			continue
		}
		if m := open.FindStringSubmatch(line); m != nil && modelKey(m[1]) {
			list = m[1]
		} else if strings.TrimSpace(line) != "" {
			list = ""
		}
		f.command(at, line)
	}
}

// shell looks through scripts for models that commands are given.
func (f *finder) shell(file string, source []byte) {
	for n, line := range lines(source) {
		if len(line) > 100_000 || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		at := Mention{File: file, Line: n + 1}
		f.command(at, line)
		for _, m := range pair.FindAllStringSubmatch(line, 100) {
			if modelKey(m[1]) {
				at.Name, at.How = m[3], "the variable "+m[1]
				f.add(at, false)
			}
		}
	}
}

// command adds what a command line is given as its model.
func (f *finder) command(at Mention, line string) {
	for _, m := range flag.FindAllStringSubmatch(line, 100) {
		at.Name, at.How = m[2], "--"+m[1]
		f.add(at, false)
	}
	for _, m := range tool.FindAllStringSubmatch(line, 100) {
		at.Name, at.How = m[1], "a command"
		f.add(at, false)
	}
}

func lines(source []byte) []string { return strings.Split(string(source), "\n") }

// notebook looks through the code of a notebook. A line is that of the file.
func (f *finder) notebook(file string, source []byte) {
	var book struct {
		Cells []struct {
			Type   string          `json:"cell_type"`
			Source json.RawMessage `json:"source"`
		} `json:"cells"`
	}
	if json.Unmarshal(source, &book) != nil {
		f.found.Skipped = append(f.found.Skipped, file)
		return
	}
	var all []token
	at := 0
	for _, c := range book.Cells {
		// Raw values are parts of the file in its order.
		if i := bytes.Index(source[at:], c.Source); i >= 0 && len(c.Source) > 0 {
			at += i
		}
		if c.Type == "code" && len(all) < maxTokens {
			all = append(all, cellTokens(c.Source, 1+bytes.Count(source[:at], []byte("\n")))...)
		}
		at += len(c.Source)
	}
	f.code(file, all, pythonLanguage)
}

// cellTokens are those of a cell whose source begins on a line of the file: a list with
// a text for each line, each on its own, or one text.
func cellTokens(source json.RawMessage, line int) []token {
	var list []string
	one := ""
	if json.Unmarshal(source, &list) != nil && json.Unmarshal(source, &one) != nil {
		return nil
	}
	if one != "" {
		all := tokens(one, pythonLanguage, 0)
		for i := range all {
			all[i].line = line
		}
		return all
	}
	if bytes.Count(source, []byte("\n")) >= len(list) {
		line++ // the bracket has a line of its own
	}
	all := tokens(strings.Join(list, ""), pythonLanguage, line)
	return all
}
