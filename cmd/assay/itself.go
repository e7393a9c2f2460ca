package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// ownFlags are the global flags that are a caller's own and no other program's: how
// this one prints. Every other one is passed on when Assay calls itself.
var ownFlags = map[string]bool{"json": true}

// fileFlags are the global flags whose value is a file's name, as a person gave it:
// a child may run in another folder.
var fileFlags = map[string]bool{"db": true, "python": true}

// itself is this program as another process: it must write into the same database
// and install as little.
type itself struct {
	*env
	globals *pflag.FlagSet // as they were given
}

// itself is this program with the flags that it was given.
func (a *app) itself() itself { return itself{a.env, a.globals} }

// repeatFlags are the global flags as they were given, for a child that is this
// program.
func (s itself) repeatFlags() ([]string, error) {
	var out []string
	var failed error
	// VisitAll, since it is the called command's flags that were parsed: Visit would find none.
	s.globals.VisitAll(func(f *pflag.Flag) {
		if !f.Changed || ownFlags[f.Name] {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok { // as a string it stands in brackets
			for _, value := range list.GetSlice() {
				out = append(out, "--"+f.Name+"="+value)
			}
			return
		}
		value := f.Value.String()
		// A bare name of a Python is looked for in PATH.
		if fileFlags[f.Name] && (f.Name == "db" || strings.ContainsAny(value, `/\`)) {
			abs, err := filepath.Abs(value)
			if err != nil {
				failed = err
			}
			value = abs
		}
		out = append(out, "--"+f.Name+"="+value)
	})
	return out, failed
}

// command is this program as a process of its own, with the global flags that it
// was given itself.
func (s itself) command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	globals, err := s.repeatFlags()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, append(globals, args...)...)
	cmd.Stderr, cmd.Env = s.stderr, s.environ()
	return cmd, nil
}

// shell is this program as a command of a shell, with the global flags that it
// was given: what generated files call.
func (s itself) shell() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	globals, err := s.repeatFlags()
	words := append([]string{self}, globals...)
	for i, w := range words {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'"'"'`) + "'"
	}
	return strings.Join(words, " "), err
}
