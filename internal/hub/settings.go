package hub

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Settings are what the environment says of the Hub, by the names and rules of
// Hugging Face's own libraries.
type Settings struct {
	Endpoint *url.URL // without a slash at its end
	Token    Secret
	Cache    string // the folder of models--owner--name folders
	// Forbidden names what forbids the network; "" allows it.
	Forbidden string
}

// Secret is text that no printer shows.
type Secret string

// String hides the text, also from %v and from logs.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(hidden)"
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the text from JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// offlineVariables forbid the network when they are on.
var offlineVariables = []string{"ASSAY_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}

// FromEnvironment reads the settings. It opens nothing but the token's file.
func FromEnvironment(getenv func(string) string) (Settings, error) {
	var s Settings
	home := first(getenv, "HOME", "USERPROFILE")
	path := func(fallback string, names ...string) string {
		if v := first(getenv, names...); v != "" {
			return expand(v, home)
		}
		return fallback
	}
	base := path(filepath.Join(home, ".cache"), "XDG_CACHE_HOME")
	hf := path(filepath.Join(base, "huggingface"), "HF_HOME")
	s.Cache = path(filepath.Join(hf, "hub"), "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")
	if !filepath.IsAbs(s.Cache) {
		return s, &Error{Kind: BadSetting, Problem: "the Hugging Face cache " + quoted(s.Cache) + " is not an absolute path", Hint: "set HF_HOME or HF_HUB_CACHE to one"}
	}
	for _, name := range offlineVariables {
		if s.Forbidden == "" && on(getenv(name)) {
			s.Forbidden = name
		}
	}
	var err error
	if s.Endpoint, err = endpoint(getenv("HF_ENDPOINT")); err != nil {
		return s, err
	}
	if !on(getenv("HF_HUB_DISABLE_IMPLICIT_TOKEN")) {
		s.Token, err = token(first(getenv, "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"), path(filepath.Join(hf, "token"), "HF_TOKEN_PATH"))
	}
	return s, err
}

func first(getenv func(string) string, names ...string) string {
	for _, n := range names {
		if v := strings.TrimSpace(getenv(n)); v != "" {
			return v
		}
	}
	return ""
}

func expand(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		return home + rest
	}
	return path
}

// on reads a switch in a variable.
func on(v string) bool {
	return !slices.Contains([]string{"", "0", "false", "no", "off"}, strings.ToLower(strings.TrimSpace(v)))
}

func endpoint(text string) (*url.URL, error) {
	if text = strings.TrimRight(strings.TrimSpace(text), "/"); text == "" {
		text = "https://huggingface.co"
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		// The text itself is not shown: it may hold a password.
		return nil, &Error{Kind: BadSetting, Problem: "HF_ENDPOINT is not the address of a server", Hint: "write it like https://huggingface.co"}
	}
	return u, nil
}

// token is the one in the variable, else the one that logging in has left in
// the file.
func token(variable, path string) (Secret, error) {
	text := variable
	if text == "" {
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", &Error{Kind: BadSetting, Problem: "cannot read the token's file: " + err.Error(), Hint: "make it readable, or set HF_TOKEN", Err: err}
		}
		text = strings.TrimSpace(string(b))
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) || len(text) > 4096 {
		return "", &Error{Kind: BadSetting, Problem: "the Hub's token contains characters that no token has", Hint: "set HF_TOKEN to the token alone"}
	}
	return Secret(text), nil
}
