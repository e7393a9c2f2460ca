package failure

import (
	"regexp"
	"strings"

	"assay/internal/cell"
)

// advice is a row of the table of hints. A row without a pattern is its
// class's own and comes last of it. ${1} is what the pattern's groups found,
// named as the package that brings it where it is a Python module. A text that
// sends people to the log has a bare one for when there is none.
type advice struct {
	class cell.FailureClass
	re    *regexp.Regexp
	text  string
	bare  string
}

func advise(class cell.FailureClass, expr, text string) advice {
	a := advice{class: class, text: text}
	if expr != "" {
		a.re = regexp.MustCompile(expr)
	}
	return a
}

// withoutLog sets what is said instead when the log is empty.
func (a advice) withoutLog(text string) advice {
	a.bare = text
	return a
}

// hint is what to do about a failure of the class that says this and left this
// log.
func hint(class cell.FailureClass, text, log string) string {
	for _, a := range advices {
		if a.class != class {
			continue
		}
		if a.bare != "" && strings.TrimSpace(log) == "" {
			a.text = a.bare
		}
		if a.re == nil {
			return a.text
		}
		if m := a.re.FindStringSubmatch(text); m != nil {
			return a.fill(m)
		}
	}
	return ""
}

func (a advice) fill(m []string) string {
	name := normal(strings.Join(m[1:], "")) // one group at most has found something
	if p, ok := packages[name]; ok {
		name = p
	}
	return strings.ReplaceAll(a.text, "${1}", name)
}

// hintText is what hints are chosen by: the telling line, all that the
// exception says, and what was asked for, since nobody should be told to do
// what was done. A log that led to the class is in the line already.
func hintText(e Evidence, f finding) string {
	text := f.line
	if e.Exception != "" {
		text += "\n" + e.Message
	}
	return text + asked(e.Platform, e.DType, e.Engine, e.Cache)
}

func asked(platform, dtype, engine, cache string) string {
	text := "\nasked for platform=" + platform + " dtype=" + dtype + " engine=" + engine
	if cache != "" {
		text += " cache=" + cache
	}
	return text
}

// packages are Python modules whose package has another name.
var packages = map[string]string{
	"cv2":             "opencv-python-headless",
	"FlashAttention2": "flash-attn",
	"PIL":             "pillow",
	"sklearn":         "scikit-learn",
	"yaml":            "pyyaml",
	"flash_attn":      "flash-attn",
	"mamba_ssm":       "mamba-ssm",
	"SentencePiece":   "sentencepiece",
}
