package environment

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// pipSettings are the user's pip settings by option name ("index-url"), as
// `pip config list` knows them.
type pipSettings map[string]string

// parsePipConfig reads the output of `pip config list`: lines such as
//
//	global.index-url='…'
//	:env:.cert='…'
//
// with values as Python literals. Later levels override earlier ones, as in
// pip: global, then install, then the environment.
func parsePipConfig(out string) pipSettings {
	levels := []string{"global", "install", ":env:"}
	found := make([]pipSettings, len(levels))
	for line := range strings.Lines(out) {
		key, literal, ok := strings.Cut(strings.TrimSpace(line), "=")
		dot := strings.LastIndexByte(key, '.')
		if !ok || dot < 0 {
			continue
		}
		level := slices.Index(levels, key[:dot])
		value, err := pythonString(literal)
		if level < 0 || err != nil {
			continue
		}
		if found[level] == nil {
			found[level] = pipSettings{}
		}
		found[level][strings.ReplaceAll(strings.ToLower(key[dot+1:]), "_", "-")] = value
	}
	all := pipSettings{}
	for _, settings := range found {
		maps.Copy(all, settings)
	}
	return all
}

// pythonString reads a Python string literal as repr writes it.
func pythonString(s string) (string, error) {
	if len(s) < 2 || s[0] != '\'' && s[0] != '"' || s[len(s)-1] != s[0] {
		return "", fmt.Errorf("%.40q is not a Python string", s)
	}
	quote, rest := s[0], s[1:len(s)-1]
	var b strings.Builder
	for rest != "" {
		if rest[0] == '\\' && len(rest) > 1 && (rest[1] == '\'' || rest[1] == '"') {
			b.WriteByte(rest[1])
			rest = rest[2:]
			continue
		}
		if rest[0] == '\'' || rest[0] == '"' { // the other quote stands for itself
			if rest[0] == quote {
				return "", fmt.Errorf("%.40q has a quote in its middle", s)
			}
			b.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		r, _, after, err := strconv.UnquoteChar(rest, 0)
		if err != nil {
			return "", fmt.Errorf("%.40q is not a Python string: %w", s, err)
		}
		b.WriteRune(r) // \xe9 is a character in Python
		rest = after
	}
	return b.String(), nil
}

// toUV are the settings of pip that uv has too, under another name. A value
// that converts to "" is left out. What the user has set for uv stays.
var toUV = []struct {
	option    string
	variables []string // the first is set, unless one of them already is
	convert   func(string) string
}{
	{"index-url", []string{"UV_DEFAULT_INDEX", "UV_INDEX_URL"}, strings.TrimSpace},
	{"extra-index-url", []string{"UV_INDEX", "UV_EXTRA_INDEX_URL"}, spaced},
	// pip takes the best file of all indexes. The hashes make that safe.
	{"extra-index-url", []string{"UV_INDEX_STRATEGY"}, func(string) string { return "unsafe-best-match" }},
	{"no-index", []string{"UV_NO_INDEX"}, yes},
	{"cert", []string{"SSL_CERT_FILE"}, existing},
	{"client-cert", []string{"SSL_CLIENT_CERT"}, existing},
	{"trusted-host", []string{"UV_INSECURE_HOST"}, spaced},
	{"proxy", []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"}, strings.TrimSpace},
	{"proxy", []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}, strings.TrimSpace},
	{"timeout", []string{"UV_HTTP_TIMEOUT", "UV_REQUEST_TIMEOUT"}, atLeast30},
	{"default-timeout", []string{"UV_HTTP_TIMEOUT", "UV_REQUEST_TIMEOUT"}, atLeast30},
	{"keyring-provider", []string{"UV_KEYRING_PROVIDER"}, onlySubprocess},
}

// variables returns the settings as variables for uv.
func (s pipSettings) variables(getenv func(string) string) map[string]string {
	set := map[string]string{}
	for _, row := range toUV {
		value, there := s[row.option]
		taken := slices.ContainsFunc(row.variables, func(name string) bool { return getenv(name) != "" || set[name] != "" })
		if v := row.convert(value); there && !taken && v != "" {
			set[row.variables[0]] = v
		}
	}
	return set
}

// findLinks returns pip's folders and pages of packages as arguments for uv.
// pip passes over a folder that is not there; uv would stop.
func (s pipSettings) findLinks() []string {
	var args []string
	for _, place := range strings.Fields(s["find-links"]) {
		u, err := url.Parse(place)
		if remote := err == nil && len(u.Scheme) > 1; remote || existing(place) != "" {
			args = append(args, "--find-links", place)
		}
	}
	return args
}

func spaced(v string) string { return strings.Join(strings.Fields(v), " ") }

func yes(v string) string {
	if On(strings.TrimSpace(v)) {
		return "1"
	}
	return ""
}

func existing(path string) string {
	path = strings.TrimSpace(path)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// atLeast30 keeps uv's own limit where pip's, which counts otherwise, is lower.
func atLeast30(v string) string {
	seconds, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || seconds <= 30 || seconds > 1e6 {
		return ""
	}
	return strconv.Itoa(int(seconds))
}

func onlySubprocess(v string) string {
	if strings.TrimSpace(v) == "subprocess" {
		return "subprocess"
	}
	return ""
}
