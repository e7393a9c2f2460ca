package mentions

import (
	"regexp"
	"slices"
	"strings"
)

// constants are the texts that names of a file stand for.
type constants map[string][]string

func (c constants) add(name string, values []string) bool {
	grew := false
	for _, v := range values {
		if name != "" && v != "" && !slices.Contains(c[name], v) && len(c[name]) < maxFollowing {
			c[name] = append(c[name], v)
			grew = true
		}
	}
	return grew
}

// collect finds the constants of a file. Names that stand for other names are
// followed a few times.
func collect(all []token) constants {
	c := constants{}
	arguments := inCalls(all)
	for range 4 {
		grew := false
		for i := range all {
			if name, value, ok := binding(all, i); ok && !arguments[i] {
				grew = c.add(name, c.values(value)) || grew
			}
			if name, value, ok := option(all, i); ok {
				grew = c.add(name, c.values(value)) || grew
			}
		}
		if !grew {
			break
		}
	}
	return c
}

// inCalls tells which tokens stand among the arguments of a call: what is given a
// value there is a name of the function called.
func inCalls(all []token) []bool {
	out := make([]bool, len(all))
	var stack []bool
	for i, t := range all {
		out[i] = len(stack) > 0 && stack[len(stack)-1]
		if t.kind != sign {
			continue
		}
		switch {
		case t.value == "(":
			defined := i > 1 && slices.Contains([]string{"def", "function", "lambda"}, all[i-2].value)
			stack = append(stack, i > 0 && all[i-1].kind == word && !defined)
		case opens(t):
			stack = append(stack, false)
		case closing(t) && len(stack) > 0:
			stack = stack[:len(stack)-1]
		}
	}
	return out
}

// option is one of a command line, declared by argparse or click with a default: args.model
// stands for it.
func option(all []token, i int) (name string, value []token, ok bool) {
	if all[i].kind != word || all[i].value != "add_argument" && all[i].value != "option" || i+2 >= len(all) || all[i+1].value != "(" {
		return "", nil, false
	}
	c := parse(all, i+1, pythonLanguage)
	for _, a := range c.all {
		if a.name == "" && len(a.value) == 1 && a.value[0].kind == text && strings.HasPrefix(a.value[0].value, "--") {
			name = strings.ReplaceAll(strings.TrimLeft(a.value[0].value, "-"), "-", "_")
		}
	}
	value = c.get(-1, "default")
	return name, value, name != "" && value != nil
}

// binding is what the token at i begins, if it gives a name a value: an assignment, a
// parameter with a default, a loop over names.
func binding(all []token, i int) (name string, value []token, ok bool) {
	if all[i].kind == word && all[i].value == "for" {
		after := i + 1
		for after < len(all) && slices.Contains([]string{"(", "const", "let", "var"}, all[after].value) {
			after++
		}
		name, next := dotted(all, after)
		if next < len(all) && (all[next].value == "in" || all[next].value == "of") {
			return name, until(all, next+1, ":", ")"), true
		}
	}
	if all[i].kind != word || i > 0 && !begins(all[i-1]) {
		return "", nil, false
	}
	name, next := dotted(all, i)
	if next < len(all) && all[next].value == ":" { // an annotation
		for next < len(all) && all[next].value != "=" && all[next].kind != newline && all[next].value != "," && all[next].value != ")" {
			next++
		}
	}
	if next+1 >= len(all) || all[next].value != "=" || all[next+1].value == "=" {
		return "", nil, false
	}
	return name, until(all, next+1, ",", ")"), true
}

// begins reports whether a name after this token may be given a value.
func begins(before token) bool {
	return before.kind == newline || before.kind == sign && slices.Contains([]string{"(", ",", "{", ":"}, before.value) || slices.Contains([]string{"const", "let", "var", "export"}, before.value)
}

// dotted is a name with its parts, and what follows it.
func dotted(all []token, i int) (string, int) {
	var parts []string
	for i < len(all) && all[i].kind == word {
		parts = append(parts, all[i].value)
		if i++; i >= len(all) || all[i].value != "." || all[i].kind != sign {
			break
		}
		i++
	}
	return strings.Join(parts, "."), i
}

// until are the tokens before the end of a statement, or before one of these at
// the depth of the first. What is longer than any list of names is cut.
func until(all []token, i int, ends ...string) []token {
	start, depth := i, 0
	for ; i < min(len(all), start+maxExpression); i++ {
		t := all[i]
		if t.kind == sign {
			switch {
			case depth == 0 && slices.Contains(ends, t.value):
				return all[start:i]
			case opens(t):
				depth++
			case closing(t):
				if depth--; depth < 0 {
					return all[start:i]
				}
			}
		}
		if t.kind == newline && depth == 0 {
			break
		}
	}
	return all[min(start, len(all)):min(i, len(all))]
}

var brace = regexp.MustCompile(`\$?\{([A-Za-z_][\w.]*)\}`)

// values are the texts that an expression stands for; none where it cannot be told.
func (c constants) values(e []token) []string {
	switch {
	case len(e) == 0:
		return nil
	case e[0].value == "(" && e[0].kind == sign && closes(e) == len(e)-1:
		return c.values(e[1 : len(e)-1])
	case slices.ContainsFunc(e, func(t token) bool {
		return t.value == "getenv" || t.value == "environ" || t.value == "env" && t.kind == word
	}):
		if last := lastText(e); last != nil && (textsIn(e) > 1 || slices.ContainsFunc(e, func(t token) bool { return t.value == "or" || t.value == "|" || t.value == "?" })) {
			return c.one(*last)
		}
		return nil
	case e[0].kind == sign && opens(e[0]):
		return c.listed(e)
	}
	for _, between := range []string{"if", "or"} { // "a" if x else "b", x or "a"
		if i := slices.IndexFunc(e, func(t token) bool { return t.kind == word && t.value == between }); i > 0 {
			j := max(i, slices.IndexFunc(e, func(t token) bool { return t.kind == word && t.value == "else" }))
			return append(c.values(e[:i]), c.values(e[j+1:])...)
		}
	}
	return c.sum(e)
}

// sum is a text of parts: "a" "b", "a/" + NAME.
func (c constants) sum(e []token) []string {
	out := []string{""}
	for i := 0; i < len(e); {
		var part []string
		switch t := e[i]; {
		case t.value == "+" && t.kind == sign:
			i++
			continue
		case t.kind == text:
			part = c.one(t)
			i++
		case t.kind == word:
			var name string
			name, i = dotted(e, i)
			if part = c[name]; len(part) == 0 {
				part = c[name[strings.LastIndex(name, ".")+1:]]
			}
		}
		if len(part) == 0 || len(out)*len(part) > maxFollowing {
			return nil
		}
		var next []string
		for _, before := range out {
			for _, p := range part {
				next = append(next, before+p)
			}
		}
		out = next
	}
	return out
}

// one is what a text stands for, its parts in braces filled in.
func (c constants) one(t token) []string {
	if t.nothing {
		return nil
	}
	if !t.formed {
		return []string{t.value}
	}
	whole := true
	filled := brace.ReplaceAllStringFunc(t.value, func(part string) string {
		name := brace.FindStringSubmatch(part)[1]
		if len(c[name]) != 1 {
			whole = false
			return part
		}
		return c[name][0]
	})
	if !whole || strings.ContainsAny(filled, "{}") {
		return nil
	}
	return []string{filled}
}

// listed are the texts of a list, and of a dictionary's values.
func (c constants) listed(e []token) []string {
	var out []string
	for i, t := range e {
		key := i+1 < len(e) && e[i+1].value == ":" && e[0].value == "{"
		if t.kind == text && !key && len(out) < maxFollowing {
			for _, v := range c.one(t) {
				if hubName.MatchString(v) {
					out = append(out, v)
				}
			}
		}
	}
	return out
}

// closes is where the bracket that an expression begins with is closed.
func closes(e []token) int {
	depth := 0
	for i, t := range e {
		if t.kind == sign && opens(t) {
			depth++
		} else if t.kind == sign && closing(t) {
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func textsIn(e []token) (n int) {
	for _, t := range e {
		if t.kind == text {
			n++
		}
	}
	return n
}

func lastText(e []token) *token {
	for i := len(e) - 1; i >= 0; i-- {
		if e[i].kind == text {
			return &e[i]
		}
	}
	return nil
}

func opens(t token) bool {
	return t.kind == sign && (t.value == "(" || t.value == "[" || t.value == "{")
}

func closing(t token) bool {
	return t.kind == sign && (t.value == ")" || t.value == "]" || t.value == "}")
}
