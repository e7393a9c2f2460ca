package failure

import (
	"regexp"
	"slices"
	"strings"
)

// thrown is one exception of a chain.
type thrown struct {
	kind    string // dotted name
	bases   []string
	message string
	frames  string // its own part of the traceback
}

// String is the exception in one line, as Python ends a traceback.
func (t thrown) String() string { return t.named(firstLine(t.message)) }

// named puts the exception's short name before a line of its message.
func (t thrown) named(line string) string {
	name := t.kind[strings.LastIndexByte(t.kind, '.')+1:]
	switch {
	case line == "":
		return name
	case name == "" || strings.HasPrefix(line, name+":"):
		return line
	}
	return name + ": " + line
}

// links are the sentences between the exceptions of a chain, the cause first.
var links = regexp.MustCompile(`(?m)^(?:The above exception was the direct cause of the following exception:|During handling of the above exception, another exception occurred:)$`)

// chain lists the exception and what caused it, the outermost first. Bases are
// known about the outermost alone.
func chain(e Evidence) []thrown {
	parts := links.Split(e.Traceback, -1)
	last := len(parts) - 1
	ts := []thrown{{e.Exception, e.Bases, e.Message, parts[last]}}
	for i := last - 1; i >= 0; i-- {
		if t, ok := parseThrown(parts[i]); ok {
			ts = append(ts, t)
		}
	}
	return ts
}

var thrownLine = regexp.MustCompile(`^([A-Za-z_][\w.]*)(?:: (.*))?$`)

// parseThrown reads one part of a traceback: indented frames, then a line that
// names the exception, then the rest of its message.
func parseThrown(part string) (thrown, bool) {
	lines := strings.Split(strings.TrimSpace(part), "\n")
	for i, line := range lines {
		m := thrownLine.FindStringSubmatch(line)
		if m == nil || strings.HasPrefix(line, "Traceback (") {
			continue
		}
		message := strings.Join(append([]string{m[2]}, lines[i+1:]...), "\n")
		return thrown{kind: m[1], message: strings.TrimSpace(message), frames: strings.Join(lines[:i], "\n")}, true
	}
	return thrown{}, false
}

// A frame of a traceback, and of a dump by faulthandler, which has no comma.
var frameLine = regexp.MustCompile(`(?m)^\s*File "([^"\n]+)", line (\d+)(,?) in `)

// modelFiles are the files of model code, the most telling first. Torch's own
// modules are named only when no model's code is in sight.
var modelFiles = []*regexp.Regexp{
	regexp.MustCompile(`(?:^|/)((?:modeling|modular)_\w+\.py)$`),
	regexp.MustCompile(`(?:^|/)((?:timm|diffusers)/(?:models|layers)/[\w/]+\.py)$`),
	regexp.MustCompile(`(?:^|/)torch/nn/modules/(\w+\.py)$`),
}

// passThrough are files that calls or loading go through, whatever the model.
var passThrough = []string{"module.py", "container.py", "modeling_utils.py", "modeling_layers.py"}

// where names the line of model code that failed, or is empty. The first part
// of a traceback is what happened first, so that is looked at first; its last
// frame is the innermost. A dump in the log begins with the innermost.
func where(e Evidence) string {
	for _, part := range links.Split(e.Traceback, -1) {
		if at := innermost(part); at != "" {
			return at
		}
	}
	return innermost(e.Log)
}

func innermost(text string) string {
	frames := frameLine.FindAllStringSubmatch(text, -1)
	for _, files := range modelFiles {
		at := ""
		for _, f := range frames {
			m := files.FindStringSubmatch(strings.ReplaceAll(f[1], `\`, "/"))
			if m == nil || slices.Contains(passThrough, m[1]) {
				continue
			}
			at = m[1] + ":" + f[2]
			if f[3] == "" { // a dump: the first is the innermost
				break
			}
		}
		if at != "" {
			return at
		}
	}
	return ""
}
