package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"assay/internal/input"
)

// maxConfig bounds a config.json; the largest published ones have some MB of
// labels.
const maxConfig = 8 << 20

// Config is what a config.json says before any library has read it.
type Config struct {
	Type string // model_type
	// Code maps the classes that the model brings itself to where they stand:
	// AutoModel → modeling_own.OwnModel.
	Code map[string]string
}

// ReadConfig reads the config.json at path. shown is how it is called in
// sentences.
func ReadConfig(path, shown string) (Config, error) {
	bad := func(format string, args ...any) (Config, error) {
		return Config{}, &Error{Kind: BadConfig, Problem: fmt.Sprintf(format, args...)}
	}
	f, err := input.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return bad("there is no %s", shown)
	}
	if err != nil {
		return bad("cannot read %s: %v", shown, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return bad("cannot read %s: %v", shown, err)
	}
	if len(b) > maxConfig {
		return bad("%s is larger than %d MB: it is not a model's configuration", shown, maxConfig>>20)
	}
	c, err := parseConfig(b)
	if err != nil {
		return bad("%s %v", shown, err)
	}
	return c, nil
}

// parseConfig reads the few values that matter here. Its error goes on a
// sentence that begins with the file.
func parseConfig(b []byte) (Config, error) {
	var head struct {
		ModelType string                     `json:"model_type"`
		AutoMap   map[string]json.RawMessage `json:"auto_map"`
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(finite(b), &head); errors.As(err, &syntax) {
		return Config{}, fmt.Errorf("is not JSON: %w", input.InWords(err))
	} else if err != nil {
		return Config{}, errors.New("is not a model's configuration: it holds no object with the model_type as text")
	}
	if head.ModelType == "" {
		return Config{}, errors.New("names no model_type: without it there is no telling what to build")
	}
	c := Config{Type: head.ModelType}
	for name, place := range head.AutoMap {
		var text string
		if json.Unmarshal(place, &text) != nil || name != "AutoConfig" && !strings.HasPrefix(name, "AutoModel") {
			continue // tokenizers and processors are not run here
		}
		if c.Code == nil {
			c.Code = map[string]string{}
		}
		c.Code[name] = text
	}
	return c, nil
}

// notJSON are numbers that Python writes and JSON does not have; some published
// configurations hold them.
var notJSON = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

// finite puts null where such a number stands, outside of text.
func finite(b []byte) []byte {
	return notJSON.ReplaceAllFunc(b, func(token []byte) []byte {
		if token[0] == '"' {
			return token
		}
		return []byte("null")
	})
}

// RefuseCode is the error for a model whose type nobody here knows and that
// brings its own code, or for code that lies in another model.
func (c Config) RefuseCode(shown string, trusted bool) error {
	for _, name := range slices.Sorted(maps.Keys(c.Code)) {
		place := c.Code[name]
		if !trusted {
			return &Error{Kind: OwnCode, Problem: fmt.Sprintf("%s is for model_type %s, which transformers does not have, and wants to run code of its own (%s)", shown, quoted(c.Type), quoted(place)),
				Hint: "read that code, then give --trust-remote-code"}
		}
		if strings.Contains(place, "--") {
			return &Error{Kind: OwnCode, Problem: fmt.Sprintf("%s wants to run code of another model (%s)", shown, quoted(place)),
				Hint: "only code beside config.json is run"}
		}
	}
	return nil
}
